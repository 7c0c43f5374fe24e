/// A set of notifications of one writer in ten bytes: how many, and a digest of which. Source:
/// PROTOCOL.md NTF-32.
package struct Holdings: Hashable, Sendable {
  /// n, modulo 65536; no store holds more.
  package private(set) var count: UInt16
  package private(set) var digest: UInt64

  package init(count: UInt16 = 0, digest: UInt64 = 0) {
    self.count = count
    self.digest = digest
  }

  /// Adds a notification whose JSON, as it was written, has this CRC-32.
  package mutating func insert(id: UInt32, crc: UInt32) {
    // Sums modulo a power of two: summands can be subtracted again, in any order.
    count &+= 1
    digest &+= Self.mixed(id: id, crc: crc)
  }

  /// Removes a notification that was inserted.
  package mutating func remove(id: UInt32, crc: UInt32) {
    count &-= 1
    digest &-= Self.mixed(id: id, crc: crc)
  }

  private static func mixed(id: UInt32, crc: UInt32) -> UInt64 {
    splitMix64(UInt64(id) << 32 | UInt64(crc))
  }

  /// A mixture of all bits of `value`.
  /// Source: PROTOCOL.md NTF-32.
  package static func splitMix64(_ value: UInt64) -> UInt64 {
    var generator = SeededGenerator(seed: value)
    return generator.next()
  }
}
