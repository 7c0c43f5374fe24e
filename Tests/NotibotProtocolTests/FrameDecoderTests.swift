import NotibotProtocol
import Testing

/// The events of a decoder, with adjacent text joined: pieces can be split anywhere.
struct Decoded: Equatable {
  var events: [DecoderEvent] = []

  mutating func drain(_ decoder: inout FrameDecoder) {
    while let event = decoder.nextEvent() {
      if case .text(let more) = event, case .text(let text) = events.last {
        events[events.count - 1] = .text(text + more)
      } else {
        events.append(event)
      }
    }
  }

  /// All text, joined.
  var text: [UInt8] {
    events.flatMap { event -> [UInt8] in
      if case .text(let bytes) = event { bytes } else { [] }
    }
  }

  /// All frames, in order.
  var frames: [Frame] {
    events.compactMap { event in
      if case .frame(let frame) = event { frame } else { nil }
    }
  }
}

struct FrameDecoderTests {
  struct Vector: Decodable, CustomTestStringConvertible {
    struct Event: Decodable {
      var frame: FrameFields?
      var text: String?
    }
    struct Counters: Decodable {
      var frames: UInt64
      var crcErrors: UInt64
      var malformed: UInt64
      var textBytes: UInt64
      var echoes: UInt64
      var overruns: UInt64
    }

    var name: String
    var receiving: String
    var input: [String]
    var events: [Event]
    var counters: Counters

    var testDescription: String { name }

    var expectedEvents: [DecoderEvent] {
      events.compactMap { event in
        event.frame.map { .frame($0.frame) } ?? event.text.map { .text([UInt8](hex: $0)) }
      }
    }

    var expectedCounters: DecoderCounters {
      var result = DecoderCounters()
      result.frames = counters.frames
      result.crcErrors = counters.crcErrors
      result.malformed = counters.malformed
      result.textBytes = counters.textBytes
      result.echoes = counters.echoes
      result.overruns = counters.overruns
      return result
    }
  }

  @Test(arguments: Vectors.load("streams", as: Vector.self), chunkSizes)
  func `separates frames from text at any read boundaries`(vector: Vector, size: Int) {
    var decoder = FrameDecoder(receiving: vector.receiving == "fromDevice" ? .fromDevice : .fromHost)
    var decoded = Decoded()
    for piece in vector.input {
      if piece == "flush" {
        decoder.flushCandidateAsText()
      } else {
        for chunk in [UInt8](hex: piece).chunks(of: size) {
          decoder.receive(chunk)
          decoded.drain(&decoder)
        }
      }
      decoded.drain(&decoder)
    }
    #expect(decoded.events == vector.expectedEvents)
    #expect(decoder.counters == vector.expectedCounters)
  }

  @Test func `text is delivered with the byte that rules out a frame, not later`() {
    var decoder = FrameDecoder(receiving: .fromDevice)
    decoder.receive([0] + Array("Gur".utf8))
    #expect(decoder.nextEvent() == nil)
    #expect(decoder.hasCandidate)
    decoder.receive(Array("u".utf8))
    #expect(decoder.nextEvent() == .text(Array("Guru".utf8)))
    #expect(!decoder.hasCandidate)
    decoder.receive(Array(" M".utf8))
    #expect(decoder.nextEvent() == .text(Array(" M".utf8)))
  }

  @Test(
    arguments: [
      ([0x05, 0x00 + 0x08], "type 0"), ([0x05, 0xC8], "type 12"), ([0x05, 0xF8], "type 15"),
      ([0x05, 0x28], "SYN from a device"), ([0x05, 0x10], "HELLO from a host"),
      ([0x05, 0x30], "SYNACK from a host"),
      ([0x01, 0x05], "a zero first, which is type 0"),
      ([0x05, 0x4C, 0x11, 0x02], "length 529"), ([0x02, 0x4C, 0x02, 0x03], "length 0x300 behind a zero"),
    ] as [([UInt8], String)])
  func `an impossible header is text at once`(bytes: [UInt8], why: String) {
    var decoder = FrameDecoder(receiving: .fromDevice)
    decoder.receive([0])
    for byte in bytes.dropLast() { decoder.receive([byte]) }
    #expect(decoder.nextEvent() == nil, "still possible before the last byte")
    decoder.receive([bytes[bytes.count - 1]])
    #expect(decoder.nextEvent() == .text(bytes))
    #expect(decoder.counters.malformed == 0)
  }

  @Test(
    arguments: [
      ([0x05, 0x4C, 0x10, 0x02], "length 528"), ([0x02, 0x4C, 0x01, 0x05], "length 0"),
      ([0x02, 0x4C, 0x20, 0x02], "length 0x200, whose zero is a code of 32"),
      ([0x03, 0x4C, 0xFF, 0x05], "length 255"),
      ([0xFF, 0x4C, 0x10, 0x02], "a first block of 254 bytes"),
    ] as [([UInt8], String)])
  func `a possible header waits`(bytes: [UInt8], what: String) {
    var decoder = FrameDecoder(receiving: .fromDevice)
    decoder.receive([0] + bytes)
    #expect(decoder.nextEvent() == nil)
    #expect(decoder.hasCandidate)
  }

  @Test func `silence makes a candidate text, and the bytes after it too`() {
    var decoder = FrameDecoder(receiving: .fromDevice)
    decoder.flushCandidateAsText()
    #expect(decoder.nextEvent() == nil)
    decoder.receive([0, 0x05, 0x4C, 0x10])
    decoder.flushCandidateAsText()
    #expect(decoder.nextEvent() == .text([0x05, 0x4C, 0x10]))
    decoder.receive([0x01])
    #expect(decoder.nextEvent() == .text([0x01]))
    decoder.receive([0, 0x05])
    #expect(decoder.nextEvent() == nil)
    #expect(decoder.hasCandidate)
  }
}
