import Testing

@testable import NotibotHost

/// Detection of a wrong rate.
@Suite struct RateDoubtTests {
  /// 921600 baud received at 115200, as simulated for a wrong rate: hardly a character of text.
  private static let garbage = (0..<256).map { index in UInt8(truncatingIfNeeded: index * 37 + 128) | 0x80 }

  private func doubts(_ bytes: [UInt8], frames: UInt64 = 0, pieceBytes: Int = 64) -> [Bool] {
    var doubt = RateDoubt()
    return stride(from: 0, to: bytes.count, by: pieceBytes).map { start in
      doubt.receive(Array(bytes[start..<min(bytes.count, start + pieceBytes)]), frames: frames)
    }
  }

  @Test(arguments: [1, 7, 64, 256])
  func `a rate is doubted once, when a full sample is mostly not text`(pieceBytes: Int) {
    let found = doubts(Self.garbage + Self.garbage, pieceBytes: pieceBytes)
    #expect(found.count(where: \.self) == 1)
    #expect(found.firstIndex(of: true) == (256 + pieceBytes - 1) / pieceBytes - 1)
  }

  @Test func `less than a sample gives no verdict`() {
    #expect(!doubts(Array(Self.garbage.prefix(255))).contains(true))
  }

  @Test func `a frame proves that the rate is right`() {
    #expect(!doubts(Self.garbage, frames: 1).contains(true))
  }

  @Test(arguments: ["I (31) boot: ESP-IDF v5.1 \u{1B}[0;32mok\u{1B}[0m\r\n", "日本語のログ、温度は二十一度です。\n"])
  func `text is not doubted, whatever its language and colours`(line: String) {
    let text = Array(String(repeating: line, count: 20).utf8)
    #expect(!doubts(text).contains(true))
  }
}
