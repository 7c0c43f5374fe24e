import NotibotProtocol
import Testing

struct FrameTests {
  struct Vector: Decodable, CustomTestStringConvertible {
    var name: String
    var wire: String
    var frame: FrameFields

    var testDescription: String { name }
  }

  static let vectors: [Vector] = Vectors.load("frames")

  @Test(arguments: vectors)
  func `is encoded byte for byte, with both zeros`(vector: Vector) {
    var wire: [UInt8] = [0xAA]
    vector.frame.frame.encode(into: &wire)
    #expect(wire == [0xAA] + [UInt8](hex: vector.wire))
  }

  @Test(arguments: vectors)
  func `is decoded in pieces of any size`(vector: Vector) {
    let frame = vector.frame.frame
    for size in chunkSizes {
      var decoder = FrameDecoder(receiving: frame.header.direction)
      for chunk in [UInt8](hex: vector.wire).chunks(of: size) { decoder.receive(chunk) }
      #expect(decoder.nextEvent() == .frame(frame), "pieces of \(size)")
      #expect(decoder.nextEvent() == nil)
    }
  }

  @Test func `the vectors hold every frame type`() {
    #expect(Set(FrameTests.vectors.map(\.frame.type)) == Set(FrameType.allCases.map(\.name)))
  }

  @Test func `the longest frame takes 545 bytes of wire`() {
    let header = FrameHeader(type: .data, direction: .fromHost, channel: .att)
    let frame = Frame(header, payload: [UInt8](repeating: 0x55, count: WireLimits.payloadLimitBytes))
    #expect(frame.encoded().count <= WireLimits.wireLimitBytes)
    #expect(WireLimits.wireLimitBytes == 545)
    #expect(frame.decodedLengthBytes == 540)
  }

  @Test func `a frame describes itself`() {
    let header = FrameHeader(
      type: .data, direction: .fromDevice, channel: .att, session: 0x3A7C, sequence: 1, ack: 2, credit: 16)
    #expect(
      Frame(header, payload: [0x13]).description
        == "DATA device>host channel 4 session 3A7C seq 1 ack 2 credit 16, 1 bytes")
  }
}
