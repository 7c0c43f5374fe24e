import NotibotProtocol
import Testing

@testable import DeviceEmulator

@Suite struct InflateTests {
  /// Made with Python's zlib.
  static let streams: [(name: String, stream: [UInt8], content: [UInt8])] = [
    (
      "stored",
      [
        0x78, 0x01, 0x01, 0x07, 0x00, 0xF8, 0xFF, 0x4E, 0x6F, 0x74, 0x69, 0x62, 0x6F, 0x74, 0x0B, 0x23,
        0x02, 0xE0,
      ], Array("Notibot".utf8)
    ),
    (
      "fixed code, overlapping copy",
      [
        0x78, 0x01, 0x4B, 0x4C, 0x4A, 0x4E, 0x84, 0x21, 0x00, 0x1D, 0xE0, 0x04, 0x99,
      ], Array("abcabcabcabc".utf8)
    ),
    (
      "dynamic code",
      [
        0x78, 0x01, 0x05, 0xC1, 0x01, 0x01, 0x00, 0x30, 0x0C, 0xC3, 0x20, 0xAD, 0xA4, 0xBB, 0x7F, 0x0B,
        0x07, 0x00, 0x61, 0x10, 0x38, 0x04, 0x0C, 0x01, 0x62, 0xC0, 0x43, 0xC0, 0x07, 0x7B, 0xAD, 0x19,
        0xD8,
      ], Array("aaaaaaaaabaaacaaaabaaaaadaaabaaaaaacaaabaaaaaaabaacaaaaaaeaaabaaaaaa".utf8)
    ),
    (
      "the longest copy", [0x78, 0xDA, 0x63, 0x60, 0x18, 0x05, 0xC4, 0x02, 0x00, 0x01, 0x2C, 0x00, 0x01],
      [UInt8](repeating: 0, count: 300)
    ),
    (
      "three blocks",
      [
        0x78, 0xDA, 0x4A, 0xCB, 0x2C, 0x2A, 0x2E, 0x51, 0x00, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0x2B, 0x4E,
        0x4D, 0xCE, 0xCF, 0x4B, 0x01, 0x00, 0x1F, 0x1A, 0x04, 0xC5,
      ], Array("first second".utf8)
    ),
    ("empty", [0x78, 0xDA, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01], []),
  ]

  @Test(arguments: streams.indices, [1, 2, 3, 64])
  func `a stream is decompressed however it is cut`(index: Int, pieceBytes: Int) throws {
    let (name, stream, content) = Self.streams[index]
    var inflate = Inflate(outputLimitBytes: content.count)
    var output: [UInt8] = []
    for start in stride(from: 0, to: stream.count, by: pieceBytes) {
      #expect(!inflate.hasEnded, "\(name)")
      output += try inflate.receive(stream[start..<min(stream.count, start + pieceBytes)])
    }
    #expect(output == content, "\(name)")
    #expect(inflate.hasEnded, "\(name)")
  }

  @Test(arguments: streams.indices)
  func `more output than announced is refused`(index: Int) {
    let (name, stream, content) = Self.streams[index]
    guard !content.isEmpty else { return }
    var inflate = Inflate(outputLimitBytes: content.count - 1)
    #expect(throws: LoaderFailure.tooMuchData, "\(name)") { try inflate.receive(stream) }
  }

  @Test func `a wrong checksum is found at the end`() {
    var stream = Self.streams[1].stream
    stream[stream.count - 1] ^= 1
    var inflate = Inflate(outputLimitBytes: 100)
    #expect(throws: LoaderFailure.inflate) { try inflate.receive(stream) }
  }

  @Test(
    arguments: [
      [0x79, 0x01, 0x00],  // the check bits of the header
      [0x78, 0x01, 0x07],  // block type 3
      [0x78, 0x01, 0x01, 0x07, 0x00, 0xF7, 0xFF],  // the length of a stored block
      [0x78, 0x01, 0x03, 0x02, 0x00, 0x00, 0x00],  // a copy from before the start
      [0x78, 0x01, 0xFD, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],  // codes that cannot be
    ] as [[UInt8]])
  func `a malformed stream is refused`(stream: [UInt8]) {
    var inflate = Inflate(outputLimitBytes: 100)
    #expect(throws: LoaderFailure.inflate) { try inflate.receive(stream) }
  }

  @Test func `no stream of random bytes traps or grows`() {
    var generator = SeededGenerator(seed: 14)
    for _ in 0..<2000 {
      var inflate = Inflate(outputLimitBytes: 4096)
      var stream: [UInt8] = [0x78, 0xDA]
      for _ in 0..<60 { stream.append(.random(in: 0...255, using: &generator)) }
      let output = try? inflate.receive(stream)
      #expect((output?.count ?? 0) <= 4096)
    }
  }
}
