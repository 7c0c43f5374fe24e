/// An event of a decoder, in the order of the wire.
package enum DecoderEvent: Hashable, Sendable {
  /// A valid frame of the direction that is received.
  case frame(Frame)
  /// Console text: bytes as received, without the zeros. Pieces can be split anywhere, even inside
  /// a character.
  case text([UInt8])
}

/// Counters of a decoder since its creation. Source: PROTOCOL.md FRM-12.
package struct DecoderCounters: Hashable, Sendable {
  /// Frames delivered.
  package var frames: UInt64 = 0
  /// Candidates with a possible header, complete, whose CRC was wrong.
  package var crcErrors: UInt64 = 0
  /// Candidates with a possible header, complete, whose stuffing, size or length was wrong.
  package var malformed: UInt64 = 0
  /// Bytes delivered as text.
  package var textBytes: UInt64 = 0
  /// Valid frames of the receiver's own direction, dropped.
  package var echoes: UInt64 = 0
  /// Candidates that reached 544 bytes.
  package var overruns: UInt64 = 0

  package init(
    frames: UInt64 = 0, crcErrors: UInt64 = 0, malformed: UInt64 = 0, textBytes: UInt64 = 0,
    echoes: UInt64 = 0, overruns: UInt64 = 0
  ) {
    (self.frames, self.crcErrors, self.malformed) = (frames, crcErrors, malformed)
    (self.textBytes, self.echoes, self.overruns) = (textBytes, echoes, overruns)
  }
}

/// Separates frames from console text, in one pass, regardless of read boundaries.
///
/// Input `receive(_:)`; output `nextEvent()`, to be drained after each input, so that at most the
/// events of one input are pending; query `hasCandidate`. Keeps at most 543 bytes of a candidate
/// (FRM-13). Time is the owner's: see `flushCandidateAsText()`.
///
/// States: *candidate* (the bytes since the last zero can become a frame), *text* (decided; up to
/// the next zero). The start of a stream counts as a zero. Source: PROTOCOL.md FRM-6 to FRM-13.
package struct FrameDecoder: Hashable, Sendable {
  /// Since the last zero.
  private enum State: Hashable, Sendable {
    /// A frame is still possible; `candidate` holds its bytes.
    case candidate
    /// Decided: text.
    case text
  }

  /// The direction of the frames to deliver; frames of the other one are echoes.
  package let receiving: Direction
  package private(set) var counters = DecoderCounters()
  private var state = State.candidate
  private var candidate: [UInt8] = []
  private var text: [UInt8] = []
  private var events: [DecoderEvent] = []
  private var nextEventIndex = 0

  /// A decoder that delivers frames of direction `receiving`.
  package init(receiving: Direction) {
    self.receiving = receiving
  }

  /// Whether bytes are kept that can become a frame, which silence would make text. Source:
  /// PROTOCOL.md FRM-9.
  package var hasCandidate: Bool {
    !candidate.isEmpty
  }

  /// Takes the bytes of one read. Source: PROTOCOL.md FRM-6 to FRM-8.
  package mutating func receive(_ bytes: RawSpan) {
    var index = 0
    while index < bytes.byteCount {
      switch state {
      case .text:
        let end = bytes.firstZero(in: index..<bytes.byteCount)
        appendText(bytes.extracting(index..<end))
        if end < bytes.byteCount { state = .candidate }
        index = end + 1
      case .candidate:
        index = receiveCandidate(bytes, from: index)
      }
    }
  }

  /// Takes the bytes of one read. Source: PROTOCOL.md FRM-6 to FRM-8.
  package mutating func receive(_ bytes: Span<UInt8>) {
    receive(bytes.bytes)
  }

  /// Takes the bytes of one read. Source: PROTOCOL.md FRM-6 to FRM-8.
  package mutating func receive(_ bytes: [UInt8]) {
    receive(bytes.span.bytes)
  }

  /// Makes the candidate text. The owner calls this after a second of silence that one more read
  /// has confirmed. Source: PROTOCOL.md FRM-9.
  package mutating func flushCandidateAsText() {
    guard hasCandidate else { return }
    giveUpCandidate()
  }

  /// The next frame or piece of text, or nil if all bytes have been delivered.
  package mutating func nextEvent() -> DecoderEvent? {
    if nextEventIndex < events.count {
      nextEventIndex += 1
      return events[nextEventIndex - 1]
    }
    events.removeAll(keepingCapacity: true)
    nextEventIndex = 0
    guard !text.isEmpty else { return nil }
    defer { text = [] }
    return .text(text)
  }

  /// Takes bytes of a candidate up to a zero, to the end of `bytes`, or to the limit; returns where
  /// it stopped.
  private mutating func receiveCandidate(_ bytes: RawSpan, from start: Int) -> Int {
    let room = WireLimits.encodedLimitBytes + 1 - candidate.count
    let limit = min(bytes.byteCount, start + room)
    let end = bytes.firstZero(in: start..<limit)
    let isComplete = end < limit
    if isComplete, candidate.isEmpty {
      if end > start { finishCandidate(bytes.extracting(start..<end)) }
      return end + 1
    }
    candidate.append(copying: bytes.extracting(start..<end))
    if isComplete {
      let complete = candidate
      candidate = []
      finishCandidate(complete.span.bytes)
      return end + 1
    }
    if !FrameDecoder.isHeaderPossible(candidate.span.bytes) {
      giveUpCandidate()
    } else if candidate.count > WireLimits.encodedLimitBytes {
      counters.overruns += 1
      giveUpCandidate()
    }
    return end
  }

  /// Delivers the candidate as text; the bytes up to the next zero are text as well. Source:
  /// PROTOCOL.md FRM-10.
  private mutating func giveUpCandidate() {
    counters.textBytes += UInt64(candidate.count)
    text.append(contentsOf: candidate)
    candidate.removeAll(keepingCapacity: true)
    state = .text
  }

  /// Decides on a candidate between two zeros. Source: PROTOCOL.md FRM-2 to FRM-5, FRM-11.
  private mutating func finishCandidate(_ encoded: RawSpan) {
    guard FrameDecoder.isHeaderPossible(encoded) else { return appendText(encoded) }
    guard var data = COBS.decode(encoded),
      data.count >= WireLimits.overheadLengthBytes, data.count <= WireLimits.frameLimitBytes,
      let (header, payloadLengthBytes) = FrameHeader.parse(data),
      payloadLengthBytes == data.count - WireLimits.overheadLengthBytes
    else {
      counters.malformed += 1
      return appendText(encoded)
    }
    let checked = data.count - WireLimits.checksumLengthBytes
    let checksum = CRC32.checksum(data.span.bytes.extracting(0..<checked))
    guard checksum == data.littleEndian(at: checked, as: UInt32.self) else {
      counters.crcErrors += 1
      return appendText(encoded)
    }
    guard header.direction == receiving else {
      counters.echoes += 1
      return
    }
    data.removeLast(WireLimits.checksumLengthBytes)
    data.removeFirst(WireLimits.headerLengthBytes)
    counters.frames += 1
    append(Frame(header, payload: data))
  }

  /// Whether type, direction and length in `encoded` allow a frame. Source: PROTOCOL.md FRM-7.
  ///
  /// The decoded byte *k* is known with the encoded byte *k* + 1, which is either that byte or, at
  /// the place that the code before it points to, the code that stands for a zero.
  private static func isHeaderPossible(_ encoded: RawSpan) -> Bool {
    guard encoded.byteCount >= 2 else { return true }
    var code = Int(encoded.byte(at: 0))
    let first = code == 1 ? 0 : encoded.byte(at: 1)
    guard let type = FrameType(rawValue: first >> 4),
      type.isPossible(first & 8 == 0 ? .fromHost : .fromDevice)
    else { return false }
    guard encoded.byteCount >= 4 else { return true }
    // Byte 1 is data, because a code there would have made the type 0.
    let low = code == 2 ? 0 : encoded.byte(at: 2)
    if code == 2 { code += Int(encoded.byte(at: 2)) }
    let high = code == 3 ? 0 : encoded.byte(at: 3)
    return Int(low) | Int(high) << 8 <= WireLimits.payloadLimitBytes
  }

  private mutating func appendText(_ bytes: RawSpan) {
    counters.textBytes += UInt64(bytes.byteCount)
    text.append(copying: bytes)
  }

  private mutating func append(_ frame: Frame) {
    if !text.isEmpty {
      events.append(.text(text))
      text = []
    }
    events.append(.frame(frame))
  }
}
