import NotibotProtocol
import Testing

@testable import NotibotHost

/// The output of a crashing device is one record, and a device that does not get past its start is
/// reported.
struct CrashDetectorTests {
  private static let panic = """
    Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.\r
    \r
    Core  0 register dump:\r
    MEPC    : 0x42007a1e  RA      : 0x42007a0a\r
    Rebooting...\r\n
    """
  private static func boot(_ cause: String) -> String {
    "ESP-ROM:esp32c3-api1-20210207\r\nrst:\(cause),boot:0xc (SPI_FAST_FLASH_BOOT)\r\nentry 0x403cc710\r\n"
  }

  /// Records other than text.
  private func events(_ line: inout MonitoredLine) -> [MonitorRecord.Content] {
    line.take().filter { if case .text = $0 { false } else { true } }
  }

  @Test(arguments: [1, 3, 50, 1000])
  func `a panic is one record with its reason and all its lines`(pieceBytes: Int) throws {
    var line = MonitoredLine()
    let text = Array(("I (9) before\r\n" + Self.panic + Self.boot("0x3 (RTC_SW_SYS_RST)")).utf8)
    for start in stride(from: 0, to: text.count, by: pieceBytes) {
      line.receive(Array(text[start..<min(text.count, start + pieceBytes)]))
    }
    let contents = line.take()
    #expect(
      contents.names == [
        "I (9) before",
        "Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.", "",
        "Core  0 register dump:", "MEPC    : 0x42007a1e  RA      : 0x42007a0a", "Rebooting...", "crash panic",
        "ESP-ROM:esp32c3-api1-20210207", "rst:0x3 (RTC_SW_SYS_RST),boot:0xc (SPI_FAST_FLASH_BOOT)",
        "boot RTC_SW_SYS_RST", "entry 0x403cc710",
      ])
    guard case .crash(let crash) = contents[6] else { return }
    #expect(crash.reason == "Load access fault" && crash.lines.count == 5 && !crash.isCut)
    let inCrash = contents.compactMap { content in
      if case .text(let line) = content { line.isInCrash } else { nil }
    }
    #expect(inCrash == [false, true, true, true, true, true, false, false, false])
  }

  @Test(arguments: [
    ("abort() was called at PC 0x42001234 on core 0", Crash.Kind.abort),
    ("assert failed: app_main main.c:12 (x > 0)", .assertion),
    ("***ERROR*** A stack overflow in task main has been detected.", .stackOverflow),
    ("Stack smashing protect failure!", .stackOverflow),
    ("CORRUPT HEAP: Bad head at 0x3ffb0000", .heapCorruption),
    ("Brownout detector was triggered", .brownout),
    ("E (9812) task_wdt: Task watchdog got triggered. The following tasks", .watchdog),
    ("Guru Meditation Error: Core  0 panic'ed (Interrupt wdt timeout on CPU0).", .watchdog),
    ("I (12) half a liGuru Meditation Error: Core  1 panic'ed (LoadProhibited).", .panic),
  ])
  func `each kind of crash is detected, and ends with silence`(text: String, kind: Crash.Kind) {
    var line = MonitoredLine()
    line.receive("\(text)\r\nBacktrace: 0x40081234:0x3ffb0000\r\n")
    line.pass(.milliseconds(1999))
    #expect(events(&line).isEmpty)
    line.pass(.milliseconds(2))
    let contents = events(&line)
    #expect(contents.names == ["crash \(kind.rawValue)"])
    guard case .crash(let crash)? = contents.first else { return }
    #expect(crash.lines.count == 2 && !crash.reason.isEmpty)
  }

  @Test func `similar words are text`() {
    var line = MonitoredLine()
    line.receive("Rebooting...\nI (1) rst: done\nassertion passed\nGuru\nabort()\nESP-ROM\n")
    line.pass(.seconds(5))
    #expect(events(&line).isEmpty)
  }

  @Test func `a reset by a watchdog or a brownout is one crash, with or without crash text`() {
    var line = MonitoredLine()
    line.receive(Self.boot("0x1 (POWERON)"))
    #expect(events(&line).names == ["boot POWERON"])
    line.receive(Self.boot("0x8 (TG1WDT_SYS_RST)"))
    #expect(events(&line).names == ["crash watchdog", "boot TG1WDT_SYS_RST"])
    line.pass(.seconds(20))
    line.receive("Brownout detector was triggered\r\n\r\n" + Self.boot("0xf (RTCWDT_BROWN_OUT_RESET)"))
    #expect(events(&line).names == ["crash brownout", "boot RTCWDT_BROWN_OUT_RESET"])
    line.pass(.seconds(20))
    line.receive(Self.boot("0xf (BROWNOUT_RST)"))
    #expect(events(&line).names == ["crash brownout", "boot BROWNOUT_RST"])
    line.pass(.seconds(20))
    line.receive(Self.boot("0x1a (CPU_LOCKUP)"))
    #expect(events(&line).names == ["crash panic", "boot CPU_LOCKUP"])
  }

  @Test(arguments: [
    ("0x1", "boot rst:0x1"), ("0x1 ()", "boot rst:0x1 ()"),
    ("0x1 (\(String(repeating: "A", count: 41)))", "boot rst:0x1 (AAAAAAA"),
    ("0x1 (A\u{1B}[2JB)", "boot A\\x1B[2JB"),
  ])
  func `a boot without a word as its cause is reported by its line`(cause: String, record: String) {
    var line = MonitoredLine()
    line.receive(Self.boot(cause))
    #expect(events(&line).names == [record])
  }

  @Test func `a HELLO reports a crash and a boot without text`() {
    var line = MonitoredLine()
    func hello(_ id: UInt32, _ reason: ResetReason) -> [UInt8] {
      Frame(
        FrameHeader(type: .hello, direction: .fromDevice),
        payload: Hello(bootID: id, resetReason: reason).encoded()
      ).encoded()
    }
    line.receive(hello(1, .panic) + hello(1, .panic))
    #expect(events(&line).names == ["HELLO", "crash panic", "boot panic", "HELLO"])
    line.receive(Self.boot("0x1 (POWERON)"))
    line.receive(hello(2, .powerOn))
    #expect(events(&line).names == ["boot POWERON", "HELLO"])
  }

  @Test func `three boots in ten seconds are a loop, reported once until it stops`() {
    var line = MonitoredLine()
    for _ in 0..<5 {
      line.receive(Self.boot("0x1 (POWERON)"))
      line.pass(.seconds(4))
    }
    #expect(
      events(&line).names == [
        "boot POWERON", "boot POWERON", "boot POWERON", "loop 3", "boot POWERON", "boot POWERON",
      ])
    line.pass(.seconds(11))
    for _ in 0..<3 { line.receive(Self.boot("0x1 (POWERON)")) }
    #expect(events(&line).names == ["boot POWERON", "boot POWERON", "boot POWERON", "loop 3"])
  }

  @Test func `an endless crash output is cut`() {
    var line = MonitoredLine()
    line.receive("abort() was called\n" + String(repeating: "0x40081234\n", count: 1000))
    let contents = events(&line)
    #expect(contents.names == ["crash abort"])
    guard case .crash(let crash)? = contents.first else { return }
    #expect(crash.isCut && crash.lines.count == CrashDetector.linesLimit)
  }
}
