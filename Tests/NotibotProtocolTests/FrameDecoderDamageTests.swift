import NotibotProtocol
import Testing

/// Corruption of a stream of frames and text: no trap, no wrong payload, no byte unaccounted for.
struct FrameDecoderDamageTests {
  /// Three consecutive frames, with text before and after them.
  static let frames: [Frame] = [
    makeFrame(sequence: 0, payload: Array(#"{"app":"Messages","title":"Jane Doe","text":"See you"}"#.utf8)),
    makeFrame(sequence: 1, payload: [0, 0, 0, 1, 0, 255, 0, 0x13, 0]),
    makeFrame(sequence: 2, payload: Array((0...255).map { UInt8($0) })),
  ]
  static let stream = frames.flatMap { $0.encoded() }
  /// The offsets of each frame with its two zeros.
  static let ranges: [Range<Int>] = {
    var start = 0
    return frames.map { frame in
      defer { start += frame.encoded().count }
      return start..<(start + frame.encoded().count)
    }
  }()

  static func makeFrame(sequence: UInt8, payload: [UInt8]) -> Frame {
    Frame(
      FrameHeader(
        type: .data, direction: .fromDevice, channel: .att, session: 0x3A7C, sequence: sequence, ack: 5,
        credit: 16),
      payload: payload)
  }

  /// Decodes `wire`, ends it with a zero, and expects each byte to be accounted for once.
  private func decode(_ wire: [UInt8], sourceLocation: SourceLocation = #_sourceLocation) -> Decoded {
    var decoder = FrameDecoder(receiving: .fromDevice)
    var decoded = Decoded()
    decoder.receive(wire + [0])
    decoded.drain(&decoder)
    let inFrames = decoded.frames.reduce(0) { sum, frame in sum + frame.encoded().count - 2 }
    let received = wire.count { $0 != 0 }
    #expect(inFrames + decoded.text.count == received, sourceLocation: sourceLocation)
    #expect(decoder.counters.textBytes == UInt64(decoded.text.count), sourceLocation: sourceLocation)
    #expect(decoder.counters.echoes == 0, sourceLocation: sourceLocation)
    return decoded
  }

  /// The frames that must survive damage to `damaged`: all that share no byte with it. A frame with
  /// only its zero damaged can survive as well.
  private func expectOnlyDamagedLost(
    _ decoded: Decoded, damaged: Range<Int>, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let survivors = decoded.frames
    #expect(survivors.allSatisfy(Self.frames.contains), "a wrong frame", sourceLocation: sourceLocation)
    for (frame, range) in zip(Self.frames, Self.ranges) where !range.overlaps(damaged) {
      #expect(survivors.contains(frame), "lost \(frame), damaged \(damaged)", sourceLocation: sourceLocation)
    }
  }

  @Test func `every flipped bit loses at most its frame`() {
    for index in Self.stream.indices {
      for bit in 0..<8 {
        var wire = Self.stream
        wire[index] ^= 1 << bit
        expectOnlyDamagedLost(decode(wire), damaged: index..<(index + 1))
      }
    }
  }

  @Test func `every lost byte loses at most its frame`() {
    for index in Self.stream.indices {
      var wire = Self.stream
      wire.remove(at: index)
      expectOnlyDamagedLost(decode(wire), damaged: index..<(index + 1))
    }
  }

  @Test func `every added byte loses at most its frame`() {
    for index in Self.stream.indices {
      for byte: UInt8 in [0, 1, 0x41, 0xFF] {
        var wire = Self.stream
        wire.insert(byte, at: index)
        let around = max(0, index - 1)..<(index + 1)
        expectOnlyDamagedLost(decode(wire), damaged: around)
      }
    }
  }

  @Test func `a run of 1 to 128 lost bytes loses at most the frames it touches`() {
    for length in 1...128 {
      for start in stride(from: 0, through: Self.stream.count - length, by: 3) {
        var wire = Self.stream
        wire.removeSubrange(start..<(start + length))
        expectOnlyDamagedLost(decode(wire), damaged: start..<(start + length))
      }
    }
  }

  @Test func `a log line inside a frame loses that frame, and no byte of the line`() {
    let line = Array("W (4711) wifi: beacon lost\r\n".utf8)
    for index in 1..<Self.stream.count {
      let wire = Array(Self.stream[..<index]) + line + Array(Self.stream[index...])
      let decoded = decode(wire)
      expectOnlyDamagedLost(decoded, damaged: (index - 1)..<(index + 1))
      #expect(String(decoding: decoded.text, as: UTF8.self).contains("wifi: beacon lost"))
    }
  }

  @Test func `half a frame does not lose the next one`() {
    let first = Self.frames[0].encoded()
    for length in 1..<first.count {
      let decoded = decode(Array(first[..<length]) + Self.frames[1].encoded())
      #expect(decoded.frames.last == Self.frames[1])
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `megabytes of noise are text, in bounded memory`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var decoder = FrameDecoder(receiving: .fromDevice)
    var received = 0
    var text = 0
    for _ in 0..<128 {
      // Zeros are rarer than in even noise, so that candidates grow to the limit too.
      let noise = (0..<16384).map { _ in
        let random = generator.next()
        return (random >> 8) % 500 == 0 ? 0 : UInt8(truncatingIfNeeded: random)
      }
      decoder.receive(noise)
      received += noise.count { $0 != 0 }
      while let event = decoder.nextEvent() {
        guard case .text(let bytes) = event else {
          Issue.record("seed \(seed): noise became \(event)")
          continue
        }
        text += bytes.count
      }
      #expect(received - text <= WireLimits.encodedLimitBytes, "seed \(seed): more is kept than a candidate")
    }
    decoder.flushCandidateAsText()
    while case .text(let bytes) = decoder.nextEvent() { text += bytes.count }
    #expect(text == received, "seed \(seed)")
  }

  @Test(arguments: [11, 12, 13, 14] as [UInt64])
  func `in a random mix of frames, text and damage each byte is accounted for`(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    var wire: [UInt8] = []
    for sequence in 0..<300 {
      let payload = (0..<Int.random(in: 0...528, using: &generator)).map { _ in
        UInt8.random(in: 0...3, using: &generator)
      }
      wire += Self.makeFrame(sequence: UInt8(sequence & 255), payload: payload).encoded()
      if Bool.random(using: &generator) { wire += Array("I (\(sequence)) notibot: tick\n".utf8) }
    }
    for _ in 0..<100 {
      wire[Int.random(in: wire.indices, using: &generator)] = .random(in: 0...255, using: &generator)
    }
    var decoder = FrameDecoder(receiving: .fromDevice)
    var decoded = Decoded()
    var index = 0
    while index < wire.count {
      let end = min(wire.count, index + Int.random(in: 1...700, using: &generator))
      decoder.receive(Array(wire[index..<end]))
      decoded.drain(&decoder)
      index = end
    }
    decoder.flushCandidateAsText()
    decoded.drain(&decoder)
    let whole = decode(wire)
    #expect(decoded.frames == whole.frames, "seed \(seed)")
    #expect(decoded.text == whole.text, "seed \(seed)")
    #expect(decoded.frames.count >= 200, "seed \(seed)")
  }
}
