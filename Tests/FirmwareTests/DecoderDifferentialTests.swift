import NotibotProtocol
import Testing

/// The Swift receive path and the C one on the same streams: the same frames, texts and counts, at
/// the same time.
@Suite struct DecoderDifferentialTests {
  @Test func `both decoders have the same result for every stream`() {
    var stream = RandomStream(seed: Differential.seed)
    var decoder = FrameDecoder(receiving: .fromHost)
    let firmware = FirmwareDecoder(receiving: .fromHost)
    var framesSeen: UInt64 = 0
    for index in 0..<Differential.streams {
      let piece = stream.nextPiece()
      decoder.receive(piece)
      firmware.receive(piece)
      if index % 64 == 63 {
        if decoder.hasCandidate { decoder.flushCandidateAsText() }
        firmware.flush()
      }
      let expected = decoder.drainEvents()
      let seen = firmware.drainEvents()
      guard expected == seen else {
        Issue.record("piece \(index), seed \(Differential.seed): \(piece)\nSwift \(expected)\nC \(seen)")
        return
      }
      framesSeen = decoder.counters.frames
      // Restarted occasionally, so that a difference in the counters is found near its cause.
      if index % 4096 == 4095 {
        #expect(decoder.counters == firmware.counters, "piece \(index), seed \(Differential.seed)")
      }
    }
    #expect(decoder.counters == firmware.counters)
    #expect(framesSeen > UInt64(Differential.streams / 10), "the streams hold too few whole frames")
  }

  @Test func `both encoders write the same bytes`() {
    var stream = RandomStream(seed: Differential.seed &+ 1)
    for index in 0..<(Differential.streams / 20) {
      let frame = stream.randomFrame()
      let expected = frame.encoded()
      let seen = firmwareEncoding(of: frame)
      guard expected == seen else {
        Issue.record("frame \(index), seed \(Differential.seed): \(frame)\nSwift \(expected)\nC \(seen)")
        return
      }
    }
  }
}
