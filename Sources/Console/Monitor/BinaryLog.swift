/// Detects ESP-IDF's binary log, from version 5.5 on: frames whose texts are in the ELF file only.
///
/// States: *searching* → two frames with a right checksum, one after the other → *detected*.
/// Source: ESP-IDF, components/log, "Binary logging": a byte 1 (boot loader) or 2 (app), 16 bits
/// big-endian with length (10), level (3), time size (1) and version (2), and at the end a CRC-8.
struct BinaryLog: Equatable, Sendable {
  /// The longest frame.
  private static let frameLimitBytes = 1023
  private static let frameLeastBytes = 15

  private(set) var isDetected = false
  private var pending: [UInt8] = []

  /// Takes bytes as received. Returns whether they complete the detection.
  mutating func receive(_ bytes: [UInt8]) -> Bool {
    guard !isDetected else { return false }
    pending += bytes
    var start = 0
    while let next = pending[start...].firstIndex(where: { $0 == 1 || $0 == 2 }) {
      start = next
      guard let first = frameEnd(from: start) else { break }
      guard first > start, let second = frameEnd(from: first) else {
        // No frame begins here; or the second one is incomplete.
        if first > start { break }
        start += 1
        continue
      }
      if second > first {
        (isDetected, pending) = (true, [])
        return true
      }
      start += 1
    }
    let kept = pending[start...].contains { $0 == 1 || $0 == 2 } ? pending.count - start : 0
    pending.removeFirst(pending.count - kept)
    return false
  }

  /// The end of the frame at `start`; `start` if none is there, `nil` if its rest is missing.
  private func frameEnd(from start: Int) -> Int? {
    guard start < pending.count else { return nil }
    guard pending[start] == 1 || pending[start] == 2 else { return start }
    guard start + 3 <= pending.count else { return nil }
    let word = Int(pending[start + 1]) << 8 | Int(pending[start + 2])
    let (length, level, version) = (word & 0x3FF, word >> 10 & 7, word >> 14)
    guard length >= Self.frameLeastBytes, (1...5).contains(level), version == 0 else { return start }
    guard start + length <= pending.count else { return nil }
    return Self.checksum(pending[start..<start + length]) == 0 ? start + length : start
  }

  /// CRC-8 with the polynomial 7.
  private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt8 {
    bytes.reduce(0) { sum, byte in
      (0..<8).reduce(sum ^ byte) { crc, _ in crc & 0x80 == 0 ? crc << 1 : crc << 1 ^ 7 }
    }
  }
}
