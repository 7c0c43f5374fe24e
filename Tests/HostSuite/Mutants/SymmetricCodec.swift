import Conformance
import SuiteWire

/// Another protocol, as two inverse changes of candidates: what a broken peer sends instead of a
/// correct one, and what a correct one would have to receive. Both are made with the suite's own
/// codec.
package struct SymmetricCodec: Sendable {
  /// The broken peer's form of a candidate that a correct one sends.
  package let onSend: @Sendable ([UInt8]) -> [UInt8]
  /// The candidate that a correct peer interprets as the broken one interprets the given one.
  package let onReceive: @Sendable ([UInt8]) -> [UInt8]

  /// Another encoding of header and payload in a candidate.
  ///
  /// - Parameters:
  ///   - encode: header and payload to a candidate.
  ///   - decode: its inverse; nil if that candidate is not a frame of the broken protocol.
  init(
    encode: @escaping @Sendable ([UInt8]) -> [UInt8], decode: @escaping @Sendable ([UInt8]) -> [UInt8]?
  ) {
    onSend = { candidate in Self.soundBody(candidate).map(encode) ?? candidate }
    onReceive = { candidate in
      if let body = decode(candidate) { return Self.soundCandidate(body) }
      // A correct frame is not one of this protocol: the peer must not accept it.
      return Self.soundBody(candidate) == nil ? candidate : Self.corrupted(candidate)
    }
  }

  /// Another meaning of header and payload in the same candidates.
  init(
    onSend: @escaping @Sendable (_ body: [UInt8]) -> [UInt8],
    onReceive: @escaping @Sendable (_ body: [UInt8]) -> [UInt8]
  ) {
    self.onSend = { Self.altered($0, onSend) }
    self.onReceive = { Self.altered($0, onReceive) }
  }

  /// Another meaning of frames; other bytes are not changed.
  init(
    onSend: @escaping @Sendable (inout WireFrame) -> Void,
    onReceive: @escaping @Sendable (inout WireFrame) -> Void
  ) {
    self.init(
      onSend: { Self.changed($0, onSend) }, onReceive: { Self.changed($0, onReceive) })
  }

  /// The same self-inverse change in both directions.
  init(both: @escaping @Sendable (inout WireFrame) -> Void) {
    self.init(onSend: both, onReceive: both)
  }

  // MARK: Correct candidates

  /// Header and payload of a candidate with the right CRC; its other fields can be invalid.
  static func soundBody(_ candidate: [UInt8]) -> [UInt8]? {
    guard let decoded = Wire.unstuffed(candidate), decoded.count >= 12 else { return nil }
    let body = Array(decoded.dropLast(4))
    return Wire.u32(Wire.crc(body)) == Array(decoded.suffix(4)) ? body : nil
  }

  static func soundCandidate(_ body: [UInt8]) -> [UInt8] { Wire.stuffed(body + Wire.u32(Wire.crc(body))) }

  /// A candidate with another body; unchanged parts keep their encoding.
  private static func altered(_ candidate: [UInt8], _ change: ([UInt8]) -> [UInt8]) -> [UInt8] {
    guard let body = soundBody(candidate) else { return candidate }
    let changed = change(body)
    return changed == body ? candidate : soundCandidate(changed)
  }

  /// The same with a wrong last byte.
  private static func corrupted(_ candidate: [UInt8]) -> [UInt8] {
    var corrupted = candidate
    let last = corrupted.removeLast()
    return corrupted + [last == 1 ? 3 : last ^ 1]
  }

  private static func changed(_ body: [UInt8], _ change: (inout WireFrame) -> Void) -> [UInt8] {
    guard var frame = WireFrame(candidate: soundCandidate(body)) else { return body }
    change(&frame)
    return frame.decoded
  }
}
