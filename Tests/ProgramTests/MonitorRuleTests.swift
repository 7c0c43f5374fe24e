import Console
import NotibotProtocol
import SerialLink
import Testing
@testable import Commands
@testable import NotibotHost

/// Every byte of a console is printed, in order and in time, however it is cut and paused, and
/// whatever it reports; as text and as NDJSON. Source: docs/CLI.md, "Watching a console".
struct MonitorRuleTests {
  /// Consoles as boards, boot loaders and frameworks print them, as short as possible.
  static let inputs: [String] = [
    "I (10) boot: hello\r\nesp> ",
    "a\r\r\nW (11) app: warm\r\r\n\r\r\ndone\r\r\n",
    "sensor 1\rsensor 2\rready\r",
    "\rProgress: 0 %\rProgress: 50 %\r\nFinished\r\n",
    "Connecting.......... done\n\n\nnext\n",
    "\u{1B}[0;32mI (5) app: grün 日本\u{1B}[0m\r\n\u{1B}[0;31mE (6) app: x\u{1B}[0m\r\n",
    "I (1) heap: first:0x3ffb0000 last:0x3ffc0000\nI (2) dma: burst:0x40\n",
    "ets Jul 29 2019 12:21:46\r\n\r\nrst:0x5 (DEEPSLEEP_RESET),boot:0x13 (SPI_FAST_FLASH_BOOT)\r\nwake\r\n",
    "I (1) app: x\r\nGuru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.\r\n\r\nCore  0 register dump:\r\nMEPC    : 0x42008a3c  RA      : 0x42008a30\r\n\r\nRebooting...\r\nESP-ROM:esp32c3\r\nrst:0xc (SW),boot:0xc (SPI)\r\n",
    "half a liGuru Meditation Error: Core  1 panic'ed (X).\r\n\r\nBacktrace:0x400d35da:0x3ffbe9d0\r\n",
    "E (9) task_wdt: Task watchdog got triggered. The following tasks\r\nE (9) task_wdt:  - IDLE\r\n\r\nBacktrace: 0x400D5E6C:0x3FFB1060\r\nI (10) app: on\r\nI (11) app: on\r\n",
    "W (9) ota: was 'abort() was called at PC 0x4 on core 0'\r\nI (10) app: on\r\n",
    "CORRUPT HEAP: Bad head\r\nassert failed: f heap.c:1 (x)\r\n\r\nRebooting...\r\n",
    "E BOD: Brownout detector was triggered\r\r\n\r\n\r\nrst:0xf (BROWNOUT_RST),boot:0xc (SPI)\r\n",
    "invalid header: 0xffffffff\r\ninvalid header: 0xffffffff\r\nets Jun  8 2016 00:22:57\r\n\r\nrst:0x10 (RTCWDT_RTC_RESET),boot:0x13 (SPI)\r\n",
    "====================== PANIC ======================\r\npanicked at src/main.rs:4:5:\r\nno\r\n\r\nBacktrace:\r\n\r\n0x42001e42\r\n",
    "<err> os: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0\r\n<err> os: Halting system\r\n",
    "================= CORE DUMP START =================\r\nAQI=\r\n================= CORE DUMP END =================\r\n",
    "Entering gdb stub now.\r\n$T0b#e6+",
  ]

  private static let pauses: [Duration] = [.zero, .milliseconds(50), .milliseconds(300), .milliseconds(2500)]

  /// The lines of a text: each ends with LF, CR, or CRs and LF, and CRs at its edges are no text.
  private static func lines(_ text: some Collection<UInt8>) -> [[UInt8]] {
    var lines: [[UInt8]] = []
    for part in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
      let pieces = part.split(separator: UInt8(ascii: "\r"))
      lines += pieces.isEmpty ? [[]] : pieces.map { Array($0) }
    }
    // Behind the last LF nothing has begun.
    if lines.last == [] { lines.removeLast() }
    return lines
  }

  @Test(arguments: inputs)
  func `an input that is cut anywhere is printed whole`(input: String) {
    let bytes = Array(input.utf8)
    for cut in 0...bytes.count {
      var line = PrintedLine()
      line.receive(bytes[..<cut])
      line.pass(Self.pauses[cut % Self.pauses.count])
      line.receive(bytes[cut...])
      line.finish()
      line.expect(Self.lines(bytes), "cut at \(cut)")
    }
  }

  @Test(arguments: inputs)
  func `each byte is printed in time, whatever the pauses`(input: String) {
    let bytes = Array(input.utf8)
    for seed: UInt64 in 0..<8 {
      var state = seed
      var line = PrintedLine()
      var rest = bytes[...]
      while !rest.isEmpty {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        let piece = rest.prefix(1 + Int(state >> 33) % 40)
        rest = rest.dropFirst(piece.count)
        line.receive(piece)
        line.pass(Self.pauses[Int(state >> 50) % Self.pauses.count])
        line.pass(.milliseconds(seed == 0 ? 200 : 0))
        if seed == 0 {
          var lines = Self.lines(bytes.dropLast(rest.count))
          // A cut character or colour waits for its rest.
          let last = lines.popLast().map { Array($0.prefix(VisibleText.wholeLengthBytes($0))) }
          if let last, !last.isEmpty || lines.isEmpty && rest.isEmpty { lines.append(last) }
          line.expectShown(lines)
        }
      }
      line.finish()
      line.expect(Self.lines(bytes), "seed \(seed)")
    }
  }
}

/// A monitored line, in virtual time, and what its printers print.
private struct PrintedLine {
  private var machine = MonitorMachine()
  private var now = Instant.zero
  private var asText = MonitorPrinter(Self.options(isJSON: false))
  private var asJSON = MonitorPrinter(Self.options(isJSON: true))
  private var text = ""
  /// The texts of finished lines, and that of an unfinished one.
  private var finished: [String] = []
  private var open: String?

  private static func options(isJSON: Bool) -> MonitorOptions {
    var options = MonitorOptions(
      port: .standIn(.emulator(profile: nil)), serial: SerialOptions(bitsPerSecond: 115_200))
    options.isJSON = isJSON
    return options
  }

  init() {
    machine.portOpened("/dev/ttyX", now: now)
    drain()
  }

  mutating func receive(_ bytes: ArraySlice<UInt8>) {
    machine.receive(Array(bytes), now: now)
    drain()
  }

  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while let deadline = machine.nextDeadline, deadline <= end {
      now = max(now, deadline)
      machine.handleTimeout(now: now)
      drain()
    }
    now = end
  }

  mutating func finish() {
    machine.finish(now: now)
    drain()
  }

  private mutating func drain() {
    while let record = machine.nextRecord() {
      text += asText.output(for: record)
      let document = asJSON.output(for: record)
      guard case .text(let line) = record.content else { continue }
      let shown = VisibleText(line.bytes).plain
      #expect(
        document.contains("\"event\":\"text\"") && document.contains("\"text\":\(JSONRecord.quoted(shown))"))
      if line.end == .silence { open = shown } else { (finished, open) = (finished + [shown], nil) }
    }
  }

  /// All lines are printed, once as text, where an event can interrupt one that is printed again.
  func expect(_ lines: [[UInt8]], _ about: String) {
    let lines = lines.map { VisibleText($0).plain }
    #expect(finished == lines, "\(about)")
    let printed = printedLines
    var whole: [String] = []
    for (index, line) in printed.enumerated() {
      let isAgain = index + 1 < printed.count && whole.count < lines.count && line != lines[whole.count]
      if !(isAgain && printed[index + 1].hasPrefix(line)) { whole.append(line) }
    }
    #expect(whole == lines, "\(about)")
  }

  /// So far.
  func expectShown(_ lines: [[UInt8]]) {
    let lines = lines.map { VisibleText($0).plain }
    #expect(finished + (open.map { [$0] } ?? []) == lines)
    #expect(printedLines.last == lines.last)
  }

  /// Without the monitor's own.
  private var printedLines: [String] {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    if lines.last == "" { lines.removeLast() }
    return lines.filter { !$0.hasPrefix("--- ") }
  }
}
