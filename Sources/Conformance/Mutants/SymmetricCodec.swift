/// Another protocol, as two changes of candidates that undo each other: what a broken peer says where a sound one says
/// something, and what a sound one would have to hear. Both are made of the suite's own codec.
package struct SymmetricCodec: Sendable {
  /// What the broken peer sends for a candidate of a sound one.
  package let onSend: @Sendable ([UInt8]) -> [UInt8]
  /// What a sound peer takes as the broken one takes a candidate.
  package let onReceive: @Sendable ([UInt8]) -> [UInt8]

  /// Another way from header and payload to a candidate.
  ///
  /// - Parameters:
  ///   - encode: header and payload to a candidate.
  ///   - decode: its inverse; nil when that candidate is no frame of the broken protocol.
  init(
    encode: @escaping @Sendable ([UInt8]) -> [UInt8], decode: @escaping @Sendable ([UInt8]) -> [UInt8]?
  ) {
    onSend = { candidate in Self.soundBody(candidate).map(encode) ?? candidate }
    onReceive = { candidate in
      if let body = decode(candidate) { return Self.soundCandidate(body) }
      // A sound frame is none of this protocol: the peer must not take it.
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

  /// Another meaning of frames; what is no frame passes as it is.
  init(
    onSend: @escaping @Sendable (inout WireFrame) -> Void,
    onReceive: @escaping @Sendable (inout WireFrame) -> Void
  ) {
    self.init(
      onSend: { Self.changed($0, onSend) }, onReceive: { Self.changed($0, onReceive) })
  }

  /// The same change in both directions, one that undoes itself.
  init(both: @escaping @Sendable (inout WireFrame) -> Void) {
    self.init(onSend: both, onReceive: both)
  }

  // MARK: Sound candidates

  /// Header and payload of a candidate with the right CRC; its other fields may be as wrong as they like.
  static func soundBody(_ candidate: [UInt8]) -> [UInt8]? {
    guard let decoded = Wire.unstuffed(candidate), decoded.count >= 12 else { return nil }
    let body = Array(decoded.dropLast(4))
    return Wire.u32(Wire.crc(body)) == Array(decoded.suffix(4)) ? body : nil
  }

  static func soundCandidate(_ body: [UInt8]) -> [UInt8] { Wire.stuffed(body + Wire.u32(Wire.crc(body))) }

  /// A candidate with another body; what does not change stays as it was encoded.
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
