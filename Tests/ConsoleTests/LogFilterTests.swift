import Foundation
import SerialLink
import Testing

@testable import Console

/// Lines of ESP-IDF's log, and its core dumps.
struct LogFilterTests {
  @Test(arguments: [
    ("I (312) wifi: connected", LogLine.Level.info, "wifi"),
    ("E (12:33:44.123) nvs: full: 12", .error, "nvs"),
    ("W (2026-11-22 10:00:00.000) a b: x", .warning, "a b"), ("V (1) t: ", .verbose, "t"),
    ("E BOD: Brownout", .error, "BOD"), ("\u{1B}[0;32mI (5) wifi: x\u{1B}[0m", .info, "wifi"),
    ("I think that: yes", .info, "think that"), ("I (a: b) ", .info, "(a"),
    ("I () wifi: x", .info, "() wifi"),
  ])
  func `a line of the log has a level and a tag`(text: String, level: LogLine.Level, tag: String) {
    let line = LogLine(Array(text.utf8))
    #expect(line?.level == level)
    #expect(line?.tag == tag)
  }

  @Test(arguments: [
    "", "I", "I (", "I (312", "I (312) wifi", "I (312) wifi:x", "I (312) wifi:", "N (1) t: x",
    "Hello (1) t: x",
    "i (1) t: x", " I (1) t: x", "\u{1B}[32mI (1) t: x", "12:00 I (1) t: x", "I: x", "\u{1B}[", "\u{1B}[0;",
  ])
  func `any other line is none of the log`(text: String) {
    #expect(LogLine(Array(text.utf8)) == nil)
  }

  @Test(arguments: [
    ("*:W wifi:I", "IWE", "WE"), ("wifi:N", "", ""), ("*:E wifi", "IWEDV", "E"), ("wifi", "IWEDV", ""),
    ("wifi:", "IWEDV", ""), ("wifi:* *:*", "IWEDV", "IWEDV"), ("wifi:e *:", "E", "IWEDV"),
    ("  wifi:d\t*:n ", "IWED", ""), ("", "IWEDV", "IWEDV"),
  ])
  func `a filter shows the levels of a tag, and of all others`(
    text: String, wifi: String, others: String
  ) throws {
    let filter = try LogFilter(text)
    for (tag, shown) in [("wifi", wifi), ("main", others)] {
      let letters = "IWEDV".filter { filter.shows(Array("\($0) (1) \(tag): x".utf8)) }
      #expect(letters.sorted() == shown.sorted(), "\(tag) in '\(text)'")
    }
    for line in ["rst:0x3 (RTC_SW_SYS_RST)", "", "I (1) wifi:x"] {
      #expect(filter.shows(Array(line.utf8)) == !others.isEmpty, "'\(line)' with '\(text)'")
    }
  }

  @Test(arguments: [":W", "wifi:X", "*:WW", "a:W b:7", "wifi:W:", "a::"])
  func `a wrong filter is refused with its word`(text: String) {
    let error = #expect(throws: Failure.self) { try LogFilter(text) }
    #expect(error?.message == "'\(text.split(separator: " ").last ?? "")' is not TAG:LEVEL")
  }

  private static func endings(_ lines: [String]) -> [CoreDump.Ending] {
    var dump = CoreDump()
    return lines.compactMap { line in
      dump.receive(line) { text in Data(base64Encoded: text).map { [UInt8]($0) } }
    }
  }

  @Test func `a core dump is decoded line by line`() {
    let parts = [[UInt8](0...99), [UInt8](100...150), [7]]
    let note = "I (5) esp_core_dump_common: Backing up stack @ 0x3ffb"
    let lines = parts.map { Data($0).base64EncodedString() } + ["", note]
    let other = Data([1, 2]).base64EncodedString()
    #expect(
      Self.endings([other, CoreDump.start] + lines + [CoreDump.end, other])
        == [.complete(parts.flatMap(\.self))])
  }

  @Test func `a damaged, an empty and an endless core dump are given up, and the next one is taken`() {
    let whole = [CoreDump.start, "AQI=", CoreDump.end]
    #expect(Self.endings([CoreDump.start, "AQI=", "not Base64!"] + whole).count == 2)
    #expect(Self.endings([CoreDump.start, CoreDump.end] + whole).last == .complete([1, 2]))
    let long = Array(repeating: Data(count: 3000).base64EncodedString(), count: 100)
    let endings = Self.endings([CoreDump.start] + long + whole)
    #expect(endings.count == 2 && endings.last == .complete([1, 2]))
  }
}
