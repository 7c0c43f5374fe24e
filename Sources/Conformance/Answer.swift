/// How a device answered a request, without values: they depend on what is stored.
package struct Answer: Hashable, Sendable, CustomStringConvertible {
  /// The opcode of the request.
  package let request: UInt8
  /// The code of an Error Response; nil for a response.
  package let error: UInt8?

  package init(request: UInt8, error: UInt8? = nil) { (self.request, self.error) = (request, error) }

  /// Nil for a PDU that is not an answer: a notification, or one of a client. Source: PROTOCOL.md
  /// ATT-5.
  init?(_ pdu: [UInt8]) {
    guard let opcode = pdu.first, opcode & 0x41 == 1, opcode != 0x1B, opcode != 0x1D else { return nil }
    if opcode != 0x01 {
      self.init(request: opcode - 1)
    } else if pdu.count >= 5 {
      self.init(request: pdu[1], error: pdu[4])
    } else {
      return nil
    }
  }

  package var description: String {
    let digits = { (byte: UInt8) in (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
    return "\(digits(request)): " + (error.map { "error \(digits($0))" } ?? "ok")
  }
}
