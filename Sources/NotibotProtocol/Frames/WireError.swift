/// Why bytes from the wire are invalid. Each case carries the observed values.
package enum WireError: Error, Hashable, Sendable {
  /// A payload or PDU has fewer bytes than its format. Source: PROTOCOL.md LNK-3, ATT-16.
  case tooShort(expectedBytes: Int, actualBytes: Int)
  /// A PDU of fixed format has more bytes than it. Source: PROTOCOL.md ATT-16.
  case tooLong(expectedBytes: Int, actualBytes: Int)
  /// A field of a PDU holds a value that the format does not allow.
  case badField(name: String, value: Int)
  /// The TLV at `offset` runs past the end of the payload. Source: PROTOCOL.md LNK-7.
  case truncatedTLV(offset: Int)
  /// A known TLV is shorter than its value. Source: PROTOCOL.md LNK-7.
  case shortTLV(TLVType, expectedBytes: Int, actualBytes: Int)
  /// A known TLV is repeated. Source: PROTOCOL.md LNK-7.
  case repeatedTLV(TLVType)
  /// A TLV that the frame type requires is missing. Source: PROTOCOL.md LNK-6.
  case missingTLV(TLVType)
  /// The first TLV is not `NBOT`. Source: PROTOCOL.md LNK-7.
  case badMagic
  /// A TLV that must not be ignored has an unknown type. Source: PROTOCOL.md LNK-7, LNK-19.
  case unknownCriticalTLV(type: UInt8)
}

extension WireError: CustomStringConvertible {
  package var description: String {
    switch self {
    case .tooShort(let expected, let actual): "\(actual) bytes where at least \(expected) are needed"
    case .tooLong(let expected, let actual): "\(actual) bytes where \(expected) are allowed"
    case .badField(let name, let value): "the field '\(name)' holds \(value)"
    case .truncatedTLV(let offset): "the TLV at byte \(offset) runs past the end"
    case .shortTLV(let type, let expected, let actual): "TLV \(type) has \(actual) bytes, not \(expected)"
    case .repeatedTLV(let type): "TLV \(type) stands twice"
    case .missingTLV(let type): "TLV \(type) is missing"
    case .badMagic: "the first TLV is not MAGIC 'NBOT'"
    case .unknownCriticalTLV(let type): "critical TLV 0x\(hex(type)) is unknown"
    }
  }
}
