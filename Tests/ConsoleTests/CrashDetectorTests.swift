import NotibotProtocol
import Testing

@testable import Console

/// The report of a crashing device is one record behind its lines, and a device that does not get
/// past its start is reported.
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
    line.drain().filter { if case .text = $0 { false } else { true } }
  }

  @Test(arguments: [1, 3, 50, 1000])
  func `a panic is one record with its reason and all its lines`(pieceBytes: Int) throws {
    var line = MonitoredLine()
    let text = Array(("I (9) before\r\n" + Self.panic + Self.boot("0x3 (RTC_SW_SYS_RST)")).utf8)
    for start in stride(from: 0, to: text.count, by: pieceBytes) {
      line.receive(Array(text[start..<min(text.count, start + pieceBytes)]))
    }
    let contents = line.drain()
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
    ("Brownout detector was triggered", .brownout),
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

  @Test(arguments: [
    "Rebooting...", "I (1) rst: done", "assertion passed", "Guru", "abort()", "ESP-ROM",
    "I (100) ota: last reset reason: Brownout detector was triggered",
    "E (100) app: Task watchdog got triggered. The following tasks did not reset it",
    "I (110) help: commands: reboot -> prints 'Rebooting...'",
    "I (120) cli: assert failed: 0 tests, 0 asserts failed",
    "W (9) ota: was: Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.",
    "I (130) app: abort() was called at PC 0x4008 on core 0, three boots ago",
    "I (1) heap: first:0x3ffb0000 last:0x3ffc0000", "I (2) dma: burst:0x1 (A),boot:0x1 (B)",
    "rst:0x1", "rst:0x1 (POWERON)", "rst:0x1 (),boot:0xc (SPI)", "rst:0x1 (A\u{1B}[2JB),boot:0xc (SPI)",
  ])
  func `text that quotes or resembles a report is none`(text: String) {
    var line = MonitoredLine()
    for _ in 0..<4 { line.receive("\(text)\nI (1) app: next\n") }
    line.pass(.seconds(5))
    #expect(events(&line).isEmpty)
  }

  @Test func `the warning of the task watchdog ends at the first other line, however many follow`() {
    let warning = """
      E (10303) task_wdt: Task watchdog got triggered. The following tasks/users did not reset the watchdog in time:
      E (10303) task_wdt:  - IDLE0 (CPU 0)
      E (10303) task_wdt: Tasks currently running:
      E (10303) task_wdt: Print CPU 0 (current core) backtrace


      Backtrace: 0x400D5E6C:0x3FFB1060 0x400D5F2B:0x3FFB1080


      """
    for count in [0, 1, 60, 200] {
      var line = MonitoredLine()
      line.receive(warning + String(repeating: "I (10400) app: still running\n", count: count))
      line.pass(.seconds(3))
      #expect(events(&line).names == ["warning watchdog"], "\(count) lines")
    }
    var restarted = MonitoredLine()
    restarted.receive(warning + Self.boot("0xc (RTC_SW_CPU_RST)"))
    #expect(events(&restarted).names == ["crash watchdog", "boot RTC_SW_CPU_RST"])
    var fatal = MonitoredLine()
    fatal.receive(
      warning.replacing("Print CPU", with: "Aborting.\nE (1) task_wdt: Print CPU") + "Rebooting...\n")
    #expect(events(&fatal).names == ["crash watchdog"])
    var button = MonitoredLine()
    button.receive(warning + Self.boot("0x1 (POWERON)"))
    #expect(events(&button).names == ["warning watchdog", "boot POWERON"])
  }

  @Test func `a panic of a Rust thread and the abort behind it are one crash`() {
    let panic = """
      thread 'main' panicked at src/main.rs:2:5:
      oh no
      note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace

      """
    var line = MonitoredLine()
    line.receive(panic + "\nabort() was called at PC 0x42000010 on core 0\n\nRebooting...\n")
    let crashes = events(&line).map { if case .crash(let crash) = $0 { crash.reason } else { "other" } }
    #expect(crashes == ["thread 'main' panicked at src/main.rs:2:5: oh no"])
    var caught = MonitoredLine()
    caught.receive(panic + "I (5) app: goes on\n")
    #expect(events(&caught).names == ["warning panic"])
  }

  @Test func `a damaged heap is a warning until an assertion fails`() {
    var line = MonitoredLine()
    line.receive("CORRUPT HEAP: Bad head at 0x3ffb0000. Expected 0xabba1234 got 0x0\nI (1) app: next\n")
    #expect(events(&line).names == ["warning heapCorruption"])
    line.receive(
      "CORRUPT HEAP: Bad head at 0x3ffb0000\nassert failed: multi_heap_free multi_heap.c:1 (head)\n")
    line.receive("Rebooting...\n")
    #expect(events(&line).names == ["crash heapCorruption"])
  }

  @Test(arguments: [
    (
      "assertion \"Invalid mbox\" failed: file \"/lwip/tcpip.c\", line 416, function: f\r\nabort() was called at PC 0x4010835f on core 1\r\n",
      "assertion \"Invalid mbox\" failed: file \"/lwip/tcpip.c\", line 416, function: f", Crash.Kind.assertion
    ),
    (
      "====================== PANIC ======================\r\npanicked at src/main.rs:45:5:\r\ncalled `unwrap()`\r\n\r\nBacktrace:\r\n\r\n0x42001e42\r\n",
      "panicked at src/main.rs:45:5: called `unwrap()`", .panic
    ),
    (
      "[00:00:01] <err> os: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0\r\n[00:00:01] <err> os: Halting system\r\n",
      ">>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0", .panic
    ),
    (
      "Guru Meditation Error: Core  0 panic'ed (Unhandled debug exception). \r\nDebug exception reason: Stack canary watchpoint triggered (main) \r\n",
      "Unhandled debug exception", .stackOverflow
    ),
  ])
  func `a report has its own kind and reason`(text: String, reason: String, kind: Crash.Kind) {
    var line = MonitoredLine()
    line.receive(text)
    line.pass(.seconds(3))
    guard case .crash(let crash)? = events(&line).first else {
      Issue.record("no crash")
      return
    }
    #expect(crash.reason == reason && crash.kind == kind)
  }

  @Test func `a crash in the middle of a line is one if a restart follows`() {
    var line = MonitoredLine()
    line.receive("I (12) app: half aassert failed: f main.c:12 (x)\r\n" + Self.boot("0xc (RTC_SW_CPU_RST)"))
    #expect(events(&line).names == ["crash assertion", "boot RTC_SW_CPU_RST"])
  }

  @Test func `a core dump does not end the report, nor is it part of it`() {
    var line = MonitoredLine()
    let bar = String(repeating: "=", count: 17)
    line.receive("abort() was called at PC 0x42001234 on core 0\r\nELF file SHA256: 0123456789abcdef\r\n")
    line.receive("E (5) esp_core_dump_uart: Print core dump to uart...\r\n")
    line.pass(.seconds(5))
    line.receive("\(bar) CORE DUMP START \(bar)\r\n" + String(repeating: "AAAA\r\n", count: 500))
    line.receive("\(bar) CORE DUMP END \(bar)\r\nRebooting...\r\n")
    guard case .crash(let crash)? = events(&line).first else {
      Issue.record("no crash")
      return
    }
    #expect(crash.lines.count == 4 && !crash.isCut)
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

  @Test func `three starts that nobody intended in ten seconds are a loop, reported once until it stops`() {
    var line = MonitoredLine()
    for _ in 0..<5 {
      line.receive(Self.boot("0xf (BROWNOUT_RST)"))
      line.pass(.seconds(4))
    }
    let boot = "boot BROWNOUT_RST"
    let names = events(&line).names.filter { $0 != "crash brownout" }
    #expect(names == [boot, boot, boot, "loop 3", boot, boot])
    line.pass(.seconds(11))
    for _ in 0..<3 { line.receive(Self.boot("0xf (BROWNOUT_RST)")) }
    #expect(events(&line).names.filter { $0 != "crash brownout" } == [boot, boot, boot, "loop 3"])
  }

  @Test(arguments: [
    "0x1 (POWERON_RESET)", "0x2 (EXT_SYS_RESET)", "0x3 (SW_RESET)", "0x5 (DEEPSLEEP_RESET)", "0x5 (DSLEEP)",
    "0x6 (SDIO_RESET)", "0xc (SW_CPU_RESET)", "0x15 (USB_UART_CHIP_RESET)", "0x17 (CHIP_USB_UART_RESET)",
    "0x18 (JTAG_CPU)", "0x0 (N/A)",
  ])
  func `an intended or unknown start is no loop and no crash`(cause: String) {
    var line = MonitoredLine()
    for _ in 0..<8 { line.receive(Self.boot(cause)) }
    #expect(events(&line).names.allSatisfy { $0.hasPrefix("boot ") })
  }

  @Test func `software restarts behind crashes or failures of the boot loader are a loop`() {
    for text in [
      "abort() was called at PC 0x42001234 on core 0\r\nRebooting...\r\n",
      "E (55) flash_parts: partition 3 invalid - offset 0x1 size 0x2 exceeds flash chip size 0x3\r\n"
        + "E (64) boot: Failed to verify partition table\r\nE (69) boot: load partition table error!\r\n",
    ] {
      var line = MonitoredLine()
      for _ in 0..<3 { line.receive(text + Self.boot("0x3 (SW_RESET)")) }
      #expect(events(&line).names.last == "loop 3", "\(text)")
    }
  }

  @Test func `an endless crash output is cut`() {
    var line = MonitoredLine()
    line.receive("abort() was called at PC 0x4 on core 0\n" + String(repeating: "0x40081234\n", count: 1000))
    let contents = events(&line)
    #expect(contents.names == ["crash abort"])
    guard case .crash(let crash)? = contents.first else { return }
    #expect(crash.isCut && crash.lines.count == CrashDetector.linesLimit)
  }
}
