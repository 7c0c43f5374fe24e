import Testing

@testable import Console

/// Detection of a wrong rate, and the search for the right one.
@Suite struct RateSearchTests {
  /// 921600 baud received at 115200, as simulated for a wrong rate: hardly a character of text.
  private static let garbage = (0..<256).map { index in UInt8(truncatingIfNeeded: index * 37 + 128) | 0x80 }
  private static let text = Array(String(repeating: "I (31) boot: ESP-IDF v5.1\r\n", count: 20).utf8)

  private func steps(
    _ bytes: [UInt8], isUnderstood: Bool = false, pieceBytes: Int = 64, maySearch: Bool = false
  ) -> [RateSearch.Step?] {
    var search = RateSearch(rate: 921_600, maySearch: maySearch)
    return stride(from: 0, to: bytes.count, by: pieceBytes).map { start in
      search.receive(Array(bytes[start..<min(bytes.count, start + pieceBytes)]), isUnderstood: isUnderstood)
    }
  }

  @Test(arguments: [1, 7, 64, 256])
  func `a rate is doubted once, when a full sample is mostly not text`(pieceBytes: Int) {
    let found = steps(Self.garbage + Self.garbage, pieceBytes: pieceBytes)
    #expect(found.compactMap(\.self) == [.doubt])
    #expect(found.firstIndex(of: .doubt) == (256 + pieceBytes - 1) / pieceBytes - 1)
  }

  @Test func `less than a sample gives no verdict`() {
    #expect(steps(Array(Self.garbage.prefix(255))).allSatisfy { $0 == nil })
  }

  @Test func `a frame proves that the rate is right`() {
    #expect(steps(Self.garbage, isUnderstood: true, maySearch: true).allSatisfy { $0 == nil })
  }

  @Test(arguments: ["I (31) boot: ESP-IDF v5.1 \u{1B}[0;32mok\u{1B}[0m\r\n", "日本語のログ、温度は二十一度です。\n"])
  func `text is not doubted, whatever its language and colours`(line: String) {
    let text = Array(String(repeating: line, count: 20).utf8)
    #expect(steps(text, maySearch: true).allSatisfy { $0 == nil })
  }

  @Test func `text in another encoding is no reason for another rate`() {
    // "температура" in Windows-1251.
    let line: [UInt8] = [
      0xF2, 0xE5, 0xEC, 0xEF, 0xE5, 0xF0, 0xE0, 0xF2, 0xF3, 0xF0, 0xE0, 0x20, 0x32, 0x31, 0x0D, 0x0A,
    ]
    #expect(steps((0..<40).flatMap { _ in line }, maySearch: true).compactMap(\.self) == [.otherEncoding])
  }

  @Test func `the next rate is tried until there is text, and bytes of the rate before are skipped`() {
    var search = RateSearch(rate: 921_600, maySearch: true)
    #expect(search.receive(Self.garbage, isUnderstood: false) == .attempt(115_200))
    // 64 bytes of the rate before, then 64 of this one.
    #expect(search.receive(Self.garbage, isUnderstood: false) == .attempt(74_880))
    #expect(search.receive(Array(Self.garbage.prefix(64)), isUnderstood: false) == nil)
    #expect(search.receive(Array(Self.text.prefix(63)), isUnderstood: false) == nil)
    #expect(search.receive(Array(Self.text.prefix(1)), isUnderstood: false) == .found(74_880))
    #expect(search.receive(Self.garbage + Self.garbage, isUnderstood: false) == nil)
  }

  @Test func `zeros of a line that is too slow are not text`() {
    var search = RateSearch(rate: 921_600, maySearch: true)
    _ = search.receive(Self.garbage, isUnderstood: false)
    #expect(search.receive([UInt8](repeating: 0, count: 128), isUnderstood: false) == .attempt(74_880))
  }

  @Test func `a frame ends the search, and without one it ends at the first rate`() {
    var heard = RateSearch(rate: 115_200, maySearch: true)
    #expect(heard.receive(Self.garbage, isUnderstood: false) == .attempt(921_600))
    #expect(heard.receive([0], isUnderstood: true) == .found(921_600))

    var deaf = RateSearch(rate: 921_600, maySearch: true)
    var steps: [RateSearch.Step] = []
    for _ in 0..<20 { if let step = deaf.receive(Self.garbage, isUnderstood: false) { steps.append(step) } }
    #expect(steps.last == .giveUp(921_600))
    #expect(steps.count == RateSearch.candidates.count)
    #expect(Set(steps.map { "\($0)" }).count == steps.count)
  }
}
