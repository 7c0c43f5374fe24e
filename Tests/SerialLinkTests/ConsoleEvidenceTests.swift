import Testing

@testable import SerialLink

@Suite struct ConsoleEvidenceTests {
  private func finding(_ text: String, echoes: UInt64 = 0) -> ConsoleEvidence.Finding {
    finding(Array(text.utf8), echoes: echoes)
  }

  private func finding(_ bytes: [UInt8], echoes: UInt64 = 0) -> ConsoleEvidence.Finding {
    var evidence = ConsoleEvidence()
    for byte in bytes { evidence.receive([byte]) }
    return evidence.finding(echoes: echoes)
  }

  @Test func `silence is no answer`() {
    #expect(finding("").isSilence && finding("").kind == .noAnswer)
  }

  @Test func `frames that are no answer can be late, with console text too`() {
    var evidence = ConsoleEvidence()
    for _ in 0..<2 {
      let found = evidence.finding(echoes: 0, frames: 2)
      #expect(found.reason.contains("2 other frames") && found.hint.contains("longer --timeout"))
      evidence.receive(Array("I (10000) notibot: 0 shown, host connected\r\n".utf8))
    }
  }

  @Test func `console text is quoted by its last line, printable and cut`() {
    let found = finding("I (31) boot: a\r\nI (32) app: \u{1B}[2Jready\u{9B}\r\n\r\n")
    #expect(found.kind == .noAnswer && !found.isSilence)
    #expect(found.reason.contains(#"its last line: 'I (32) app: \u{1b}[2Jready\u{9b}'"#), "\(found.reason)")
    #expect(finding(String(repeating: "x", count: 20_000)).reason.count < 200)
  }

  @Test(arguments: [
    (
      "rst:0x8 (TG1WDT_SYS_RST),boot:0xc (SPI_FAST_FLASH_BOOT)\r\nI (31) boot: text\r\n",
      "the device restarted (TG1WDT_SYS_RST)"
    ),
    (
      "rst:0x10 (RTCWDT_RTC_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\ninvalid header: 0xffffffff\r\n",
      "there is no bootloader in its flash"
    ),
    ("E (63) boot: No bootable app partitions in the partition table\r\n", "there is no application"),
    (
      "E (58) boot: load partition table error!\r\nrst:0x1 (POWERON),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n",
      "no valid partition table"
    ),
    (
      "Guru Meditation Error: Core  0 panic'ed\r\n\r\nRebooting...\r\n",
      "crashed and restarted (after a crash)"
    ),
    (
      "Guru\r\nRebooting...\r\nrst:0xc (SW_CPU_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\nI (20) app: hello\r\n",
      "crashed and restarted (SW_CPU_RESET)"
    ),
    ("abort() was called\r\nCPU halted.\r\n", "the device crashed and stopped"),
    ("Entering gdb stub now.\r\n$T0b#e6", "waits for a debugger"),
    (
      String(
        repeating: "rst:0xc (SW_CPU_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\nI (3) boot: x\r\n", count: 3),
      "restarts again and again (SW_CPU_RESET)"
    ),
    (
      String(repeating: "rst:0x1 (POWERON_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n", count: 5),
      "the power of the device comes again and again"
    ),
    ("rst:0xf (RTCWDT_BROWN_OUT_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n", "restarted (RTCWDT_BROWN_OUT"),
  ])
  func `a device that does not get past its start has crashed`(text: String, reason: String) {
    let found = finding(text)
    #expect(found.kind == .deviceRestarted)
    #expect(found.reason.contains(reason), "\(found.reason)")
  }

  @Test(arguments: [
    "rst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)\r\nI (31) boot: text\r\n",
    "I (31) wifi: first:0x3 burst:0x4\r\n",
    String(repeating: "I (400) hosted: rst:0x7 (TG0_WDT),boot:0xc (SPI_FAST_FLASH_BOOT)\r\n", count: 4),
    "\u{1B}[0;32mI (4) a: rst:0x7 (TG0_WDT),boot:0xc (SPI_FAST_FLASH_BOOT)\u{1B}[0m\r\n",
    #"{"reset":"rst:0x10 (RTCWDT_RTC_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)"}"# + "\r\n",
  ])
  func `a start that was asked for, and a chip that wakes up, are no crash`(text: String) {
    #expect(finding(text).kind == .noAnswer)
    #expect(finding(text).reason.contains("only console text"))
  }

  @Test func `a chip that sleeps, and a task that hangs, have not crashed`() {
    let wake = "rst:0x5 (DEEPSLEEP_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\n"
    #expect(finding(wake).reason.contains("only console text"))
    #expect(finding(wake + wake).kind == .noAnswer && finding(wake + wake).reason.contains("sleeps"))
    let hangs = finding("E (9) task_wdt: Task watchdog got triggered. The following tasks did not reset:\r\n")
    #expect(hangs.kind == .noAnswer && hangs.reason.contains("hangs"))
  }

  @Test(arguments: [
    "ESP-ROM:esp32c3-api1-20210207\r\nrst:0x1 (POWERON),boot:0x4 (DOWNLOAD(USB/UART0/1))\r\nwaiting for download\r\n",
    "waiting for download\r\n",
  ])
  func `a board in the loader of its ROM has the hint to reset it`(text: String) {
    #expect(finding(text).reason.contains("waits for a download"))
    #expect(finding(text).hint.contains("reset"))
  }

  @Test func `damaged frames of a device prove that the rate is right`() {
    let found = finding(
      [0x0F, 0x30, 0x11, 0x81, 4] + Array("NBOT".utf8) + [0x82, 8, 0xFF, 0xFF, 0x93, 0x80, 0xF1])
    #expect(found.reason.contains("damaged frames") && !found.hint.contains("try another"))
  }

  @Test func `bytes at a wrong rate are not text`() {
    let noise = (0..<300).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 128) }
    #expect(finding(noise).reason.contains("300 bytes that are not text"))
    #expect(finding(noise).hint.contains("rate"))
    #expect(finding("Grüße, 今日は, \u{1B}[0;32mgreen\u{1B}[0m\r\n").reason.contains("only console text"))
  }

  @Test func `an echo is distinguished from an answer`() {
    #expect(finding("", echoes: 3).reason.contains("frames of this host"))
    #expect(!finding("", echoes: 3).isSilence)
  }
}
