/// Splits a stream of bytes into ATT PDUs. A record is a length, u16 little-endian, and that many
/// bytes: exactly one PDU.
///
/// States: *cutting* → *broken* at a length of 0 or above `lengthLimitBytes`, permanently: the
/// start of the next record is unknown. Inputs: `receive`; outputs: `nextPDU`; queries: `isBroken`,
/// `hasPDU`, `bufferedBytes`.
package struct RecordDecoder: Equatable, Sendable {
  private enum State: Equatable, Sendable {
    case cutting
    case broken
  }

  /// The longest PDU, in bytes: the payload of a frame of the link. Source: PROTOCOL.md LNK-8.
  package static let lengthLimitBytes = WireLimits.payloadLimitBytes
  /// Bytes of the length before each PDU.
  package static let prefixBytes = 2

  private var state = State.cutting
  private var bytes: [UInt8] = []
  /// The offset of the next record in `bytes`.
  private var start = 0

  package init() {}

  /// Takes bytes of the stream; none after a broken record.
  package mutating func receive(_ received: [UInt8]) {
    switch state {
    case .broken: return
    case .cutting: break
    }
    bytes.removeFirst(start)
    start = 0
    bytes += received
    checkLength()
  }

  /// The next PDU; nil if none is complete.
  package mutating func nextPDU() -> [UInt8]? {
    guard let length, hasPDU else { return nil }
    let first = start + Self.prefixBytes
    defer {
      start = first + length
      checkLength()
    }
    return Array(bytes[first..<first + length])
  }

  /// Whether a complete PDU is there.
  package var hasPDU: Bool {
    switch state {
    case .broken: false
    case .cutting: length.map { bufferedBytes >= Self.prefixBytes + $0 } ?? false
    }
  }

  /// Whether a record with an impossible length was received; the PDUs before it have been taken by
  /// then.
  package var isBroken: Bool { state == .broken }

  /// Bytes received and not taken.
  package var bufferedBytes: Int { bytes.count - start }

  /// The length that the next record announces, in bytes; nil until both of its bytes are there.
  private var length: Int? {
    guard bufferedBytes >= Self.prefixBytes else { return nil }
    return Int(bytes[start]) | Int(bytes[start + 1]) << 8
  }

  private mutating func checkLength() {
    guard let length, !(1...Self.lengthLimitBytes).contains(length) else { return }
    state = .broken
    bytes = []
    start = 0
  }
}

/// A PDU on a stream.
package enum ATTRecord {
  /// A PDU as one record.
  /// - Parameter pdu: 1 to `RecordDecoder.lengthLimitBytes` bytes.
  package static func bytes(of pdu: [UInt8]) -> [UInt8] {
    var record: [UInt8] = []
    record.reserveCapacity(RecordDecoder.prefixBytes + pdu.count)
    record.appendLittleEndian(UInt16(pdu.count))
    return record + pdu
  }
}
