/// A notification that a writer knows, or believes, to be on the device.
package struct Holding: Equatable, Sendable {
  package var id: UInt32
  /// The JSON as it was written.
  package var json: [UInt8]

  package init(_ id: UInt32, _ json: [UInt8]) {
    self.id = id
    self.json = json
  }

  /// The contribution of this notification to a digest. Source: PROTOCOL.md NTF-32.
  private var mixed: UInt64 {
    // Everything is modulo 2⁶⁴.
    var z = (UInt64(id) << 32 + UInt64(Wire.crc(json))) &+ 0x9E37_79B9_7F4A_7C15
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }

  /// The digest of a set. Source: PROTOCOL.md NTF-32.
  package static func digest(of held: [Holding]) -> UInt64 {
    held.reduce(0) { $0 &+ $1.mixed }
  }
}

/// A SYNC as a case writes it. Source: PROTOCOL.md NTF-30.
package struct Sync: Equatable, Sendable {
  package var source: UInt32
  package var known: UInt32 = 0
  package var held: [Holding] = []

  package init(_ source: UInt32, known: UInt32 = 0, held: [Holding] = []) {
    self.source = source
    self.known = known
    self.held = held
  }

  package var bytes: [UInt8] {
    [1] + Wire.u32(source) + Wire.u32(known) + Wire.u16(UInt16(truncatingIfNeeded: held.count))
      + Wire.u64(Holding.digest(of: held))
  }
}

/// A SYNCED as a case parses it. Source: PROTOCOL.md NTF-30.
package struct Synced: Equatable, Sendable, CustomStringConvertible {
  package var source: UInt32
  package var count: UInt16
  package var digest: UInt64
  package var highest: UInt32
  package var capacity: UInt16
  package var bootID: UInt32

  /// Nil unless the message is a SYNCED of at least 25 bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count >= 25, bytes[0] == 2 else { return nil }
    source = UInt32(Wire.number(Array(bytes[1..<5])))
    count = Wire.word(bytes, at: 5)
    digest = Wire.number(Array(bytes[7..<15]))
    highest = UInt32(Wire.number(Array(bytes[15..<19])))
    capacity = Wire.word(bytes, at: 19)
    bootID = UInt32(Wire.number(Array(bytes[21..<25])))
  }

  package var description: String {
    "src \(source), n \(count), digest 0x\(String(digest, radix: 16)), hwm \(highest), capacity \(capacity)"
  }
}
