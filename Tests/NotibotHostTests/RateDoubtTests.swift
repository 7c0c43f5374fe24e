import Testing

@testable import NotibotHost

/// What is said of a rate, from what comes.
@Suite struct RateDoubtTests {
  /// Of 921600 baud heard at 115200, as the generator of a wrong rate makes it: hardly a character of text.
  private static let garbage = (0..<256).map { index in UInt8(truncatingIfNeeded: index * 37 + 128) | 0x80 }

  private func says(_ bytes: [UInt8], frames: UInt64 = 0, pieceBytes: Int = 64) -> [Bool] {
    var doubt = RateDoubt()
    return stride(from: 0, to: bytes.count, by: pieceBytes).map { start in
      doubt.receive(Array(bytes[start..<min(bytes.count, start + pieceBytes)]), frames: frames)
    }
  }

  @Test(arguments: [1, 7, 64, 256])
  func `what is mostly no text is doubted once, when enough has come`(pieceBytes: Int) {
    let said = says(Self.garbage + Self.garbage, pieceBytes: pieceBytes)
    #expect(said.count(where: \.self) == 1)
    #expect(said.firstIndex(of: true) == (256 + pieceBytes - 1) / pieceBytes - 1)
  }

  @Test func `less than a sample says nothing`() {
    #expect(!says(Array(Self.garbage.prefix(255))).contains(true))
  }

  @Test func `a frame settles that the rate is right`() {
    #expect(!says(Self.garbage, frames: 1).contains(true))
  }

  @Test(arguments: ["I (31) boot: ESP-IDF v5.1 \u{1B}[0;32mok\u{1B}[0m\r\n", "日本語のログ、温度は二十一度です。\n"])
  func `text is not doubted, whatever its language and colours`(line: String) {
    let text = Array(String(repeating: line, count: 20).utf8)
    #expect(!says(text).contains(true))
  }
}
