/// Which OTA slot boots: two copies, of which the valid one with the higher number counts. Source:
/// ESP-IDF, `esp_ota_select_entry_t`.
package struct OTAData: Equatable, Sendable {
  package static let sectorBytes = 0x1000
  private static let invalid: UInt32 = 3
  private static let aborted: UInt32 = 4

  /// The highest valid number, from 1; `nil`: none, and the factory's application boots.
  package var sequence: UInt32?

  /// Reads the two sectors of an otadata partition.
  package init(parsing bytes: some Collection<UInt8>) {
    let bytes = Array(bytes.prefix(2 * Self.sectorBytes))
    for start in [0, Self.sectorBytes] {
      guard let number: UInt32 = bytes.number(at: start), let state: UInt32 = bytes.number(at: start + 24),
        let stored: UInt32 = bytes.number(at: start + 28), number != 0, number != .max,
        state != Self.invalid, state != Self.aborted, stored == Self.checksum(of: number)
      else { continue }
      sequence = max(sequence ?? 0, number)
    }
  }

  /// The slot, from 0, of so many.
  func slot(of count: Int) -> Int? {
    guard count > 0, let sequence else { return nil }
    return Int(sequence - 1) % count
  }

  /// CRC-32 of the number, as the ROM computes it from a start value of all ones.
  static func checksum(of number: UInt32) -> UInt32 {
    var register: UInt32 = 0
    for shift in [0, 8, 16, 24] as [UInt32] {
      register ^= number >> shift & 0xFF
      for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    return ~register
  }
}
