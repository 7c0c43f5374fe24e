/// A frame of the link: header and payload. Source: PROTOCOL.md FRM-1 to FRM-5.
package struct Frame: Hashable, Sendable {
  package var header: FrameHeader
  /// 0–528 bytes.
  package var payload: [UInt8]

  package init(_ header: FrameHeader, payload: [UInt8] = []) {
    self.header = header
    self.payload = payload
  }

  /// Bytes of header, payload and CRC before stuffing, which is what byte limits count. Source:
  /// PROTOCOL.md LNK-8.
  package var decodedLengthBytes: Int {
    payload.count + WireLimits.overheadLengthBytes
  }

  /// Appends this frame encoded for the wire, with the zero before it and the zero after it.
  package func encode(into wire: inout [UInt8]) {
    Frame.encode(header, payload: payload, into: &wire)
  }

  /// This frame encoded for the wire, with both its zeros.
  package func encoded() -> [UInt8] {
    var wire: [UInt8] = []
    encode(into: &wire)
    return wire
  }

  /// Appends a frame encoded for the wire, with the zero before it and the zero after it.
  ///
  /// Traps if the payload is longer than 528 bytes: the sender must cut it.
  package static func encode(_ header: FrameHeader, payload: [UInt8], into wire: inout [UInt8]) {
    precondition(payload.count <= WireLimits.payloadLimitBytes, "A payload has at most 528 bytes (FRM-4)")
    let code = wire.count + 1
    wire.append(0)
    wire.append(0)
    wire.appendLittleEndian(header.word(payloadLengthBytes: payload.count))
    wire.append(contentsOf: payload)
    wire.appendLittleEndian(CRC32.checksum(wire.span.bytes.extracting((code + 1)...)))
    COBS.encodeInPlace(&wire, from: code)
    wire.append(0)
  }
}

extension Frame: CustomStringConvertible {
  package var description: String {
    "\(header), \(payload.count) bytes"
  }
}
