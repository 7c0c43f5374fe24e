/// How a flash is divided. Source: ESP-IDF, `partition_table.h`.
package struct PartitionTable: Equatable, Sendable {
  /// One row.
  package struct Entry: Equatable, Sendable {
    package var name: String
    package var type: UInt8
    package var subtype: UInt8
    /// Bytes from the start of the flash.
    package var offset: UInt32
    package var lengthBytes: UInt32
    package var isEncrypted: Bool

    package var kind: Kind { Kind(type: type, subtype: subtype) }
  }

  /// What a partition is for, as far as booting is concerned.
  package enum Kind: Equatable, Sendable {
    case factory
    case ota(Int)
    case otaData
    case other

    init(type: UInt8, subtype: UInt8) {
      switch (type, subtype) {
      case (0, 0): self = .factory
      case (0, 0x10...0x1F): self = .ota(Int(subtype - 0x10))
      case (1, 0): self = .otaData
      case _: self = .other
      }
    }
  }

  /// Where ESP-IDF puts it, in bytes from the start of the flash.
  package static let usualOffset: UInt32 = 0x8000
  package static let limitBytes = 0xC00
  private static let rowBytes = 32

  package var entries: [Entry]
  /// Whether it has an MD5. A wrong one is an `ImageError`.
  package var hasMD5 = false

  /// Reads a table at the start of `bytes`. Throws `ImageError`.
  package init(parsing bytes: some Collection<UInt8>) throws(ImageError) {
    let bytes = Array(bytes.prefix(Self.limitBytes))
    guard !bytes.allSatisfy({ $0 == 0xFF }) else { throw .badTable("there is none") }
    entries = []
    var position = 0
    rows: while position + Self.rowBytes <= bytes.count {
      let row = Array(bytes[position..<position + Self.rowBytes])
      switch (row[0], row[1]) {
      case (0xAA, 0x50):
        guard let offset: UInt32 = row.number(at: 4), let length: UInt32 = row.number(at: 8),
          let flags: UInt32 = row.number(at: 28)
        else { throw .badTable("row \(entries.count) is cut off") }
        entries.append(
          Entry(
            name: row.text(at: 12, limit: 16), type: row[2], subtype: row[3], offset: offset,
            lengthBytes: length, isEncrypted: flags & 1 == 1))
      case (0xEB, 0xEB):
        guard MD5.digest(of: bytes, in: 0..<position) == Array(row[16...]) else {
          throw .badTable("its MD5 is wrong")
        }
        hasMD5 = true
      case (0xFF, 0xFF): break rows
      case _: throw .badTable("row \(entries.count) begins with 0x\(hex(UInt32(row[0]), digits: 2))")
      }
      position += Self.rowBytes
    }
    guard !entries.isEmpty else { throw .badTable("it has no rows") }
    try check()
  }

  private func check() throws(ImageError) {
    for entry in entries where UInt64(entry.offset) + UInt64(entry.lengthBytes) > 1 << 32 {
      throw .badTable("\(entry.name) ends behind the address space")
    }
    let sorted = entries.sorted { $0.offset < $1.offset }
    for (first, second) in zip(sorted, sorted.dropFirst())
    where first.offset + (first.lengthBytes - min(1, first.lengthBytes)) >= second.offset {
      throw .badTable("\(first.name) and \(second.name) overlap")
    }
  }

  /// Partitions that hold an application, in the order in which a bootloader tries them: the OTA
  /// slot that `otaData` names, then the factory's, then the other slots.
  package func apps(otaData: OTAData?) -> [Entry] {
    let slots = entries.filter { if case .ota = $0.kind { true } else { false } }
    let factory = entries.filter { $0.kind == .factory }
    guard let slot = otaData?.slot(of: slots.count) else { return factory + slots }
    let chosen = slots.filter { $0.kind == .ota(slot) }
    return chosen + factory + slots.filter { $0.kind != .ota(slot) }
  }
}

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
    for byte in number.littleEndianBytes {
      register ^= UInt32(byte)
      for _ in 0..<8 { register = register >> 1 ^ (register & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    return ~register
  }
}
