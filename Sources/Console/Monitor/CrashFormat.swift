import NotibotProtocol
import SerialLink

/// A text by which a chip, a boot loader or a framework reports a fault, a step of such a report,
/// or its end. `all` is the only list of them.
struct CrashFormat: Sendable {
  /// Where the text stands in a line.
  enum Place: Equatable, Sendable {
    /// At its start, behind colours and blanks at most.
    case start
    /// As `start`; or behind other text, because a panic handler interrupts it. There it is a
    /// report only if a dump, a backtrace or a restart follows: a log message can quote it.
    case handler
    /// Anywhere: no other program prints it.
    case anywhere
    /// At the start of the message of a log line with this tag.
    case tag(String)
  }

  enum Role: Equatable, Sendable {
    case begins(Crash.Kind, Severity, until: End)
    /// Inside a report, from which the kind is known now.
    case becomes(Crash.Kind)
    /// Turns a warning into a crash; outside of a report it is one.
    case turnsFatal(Crash.Kind)
    /// The last line of a report.
    case ends
    /// The first lines of a start, before its cause.
    case restarts
  }

  enum Severity: Equatable, Sendable {
    /// The program goes on unless a restart follows.
    case warning
    case fatal
  }

  enum End: Equatable, Sendable {
    /// A line with the role `ends`, a start, or silence.
    case handler
    /// In addition, the first line that neither this expression nor a dump matches.
    case otherLine(than: String)
  }

  /// The reason in a report, as a user reads it.
  enum Reason: Equatable, Sendable {
    /// The line from the text on.
    case line
    /// The first parentheses: `Core  0 panic'ed (LoadProhibited)`.
    case parentheses
    /// The next line belongs to the report, and to the reason unless it is a note.
    case andNextLine
    /// The next lines, up to an empty one.
    case nextLines
    /// A later line, behind this label.
    case label(String)
  }

  let text: [UInt8]
  let place: Place
  /// Matches the line from `text` on.
  let shape: Pattern?
  let role: Role
  let reason: Reason
  /// Matches the lines that continue the report.
  let continuation: Pattern?

  init(_ text: String, _ place: Place, _ role: Role, shape: String? = nil, reason: Reason = .line) {
    self.text = Array(text.utf8)
    self.place = place
    self.shape = shape.map(Self.pattern)
    self.role = role
    self.reason = reason
    continuation =
      if case .begins(_, _, .otherLine(let lines)) = role { Self.pattern(lines) } else { nil }
  }

  /// An expression of the program itself.
  static func pattern(_ text: String) -> Pattern {
    do throws(Failure) {
      return try Pattern(text)
    } catch {
      preconditionFailure("a format of this table is not an expression: '\(text)': \(error)")
    }
  }

  /// Sources: ESP-IDF 3.3 to 6.0, components esp_system, esp_rom, bootloader_support, heap, newlib,
  /// freertos; esp-backtrace and esp-hal; Zephyr's kernel/fatal.c and arch; ESPHome's esp32 crash
  /// handler; ESP8266 Arduino's core_esp8266_postmortem. docs/CLI.md lists what they mean.
  static let all: [CrashFormat] = [
    // The panic handler of ESP-IDF, on which Arduino, MicroPython and PlatformIO run.
    CrashFormat(
      "Guru Meditation Error: Core", .handler, .begins(.watchdog, .fatal, until: .handler),
      shape: #"Core +\d panic'ed \(Interrupt wdt timeout"#, reason: .parentheses),
    CrashFormat(
      "Guru Meditation Error: Core", .handler, .begins(.stackOverflow, .fatal, until: .handler),
      shape: #"Core +\d panic'ed \(Stack (canary|protection)"#, reason: .parentheses),
    CrashFormat(
      "Guru Meditation Error: Core", .handler, .begins(.panic, .fatal, until: .handler),
      shape: #"Core +\d panic'ed \(.+\)"#, reason: .parentheses),
    CrashFormat("Debug exception reason: Stack canary", .start, .becomes(.stackOverflow)),
    CrashFormat(
      "abort() was called at PC 0x", .handler, .begins(.abort, .fatal, until: .handler)),
    CrashFormat(
      "assert failed: ", .handler, .begins(.assertion, .fatal, until: .handler),
      shape: #"^assert failed: (.+:\d+ \(.+|0x[0-9a-f]+|<cached disabled>.*)$"#),
    CrashFormat(
      "assertion \"", .handler, .begins(.assertion, .fatal, until: .handler),
      shape: #"" failed: file ".*", line \d+"#),
    CrashFormat(
      "Assert failed in ", .handler, .begins(.assertion, .fatal, until: .handler), shape: #":\d+ \("#),
    CrashFormat(
      "ESP_ERROR_CHECK failed: esp_err_t 0x", .handler, .begins(.abort, .fatal, until: .handler)),
    CrashFormat(
      "ESP_ERROR_CHECK_WITHOUT_ABORT failed: esp_err_t 0x", .start,
      .begins(.abort, .warning, until: .otherLine(than: "^(file|func|expression): "))),
    CrashFormat(
      "***ERROR*** A stack overflow in task", .handler, .begins(.stackOverflow, .fatal, until: .handler)),
    CrashFormat(
      "Stack smashing protect failure!", .handler, .begins(.stackOverflow, .fatal, until: .handler)),
    CrashFormat("Undefined behavior of type ", .start, .begins(.abort, .fatal, until: .handler)),
    CrashFormat("Mem alloc fail. size 0x", .start, .begins(.abort, .fatal, until: .handler)),
    CrashFormat(
      "CORRUPT HEAP: ", .handler,
      .begins(.heapCorruption, .warning, until: .otherLine(than: "^CORRUPT HEAP: "))),
    CrashFormat(
      "Task watchdog got triggered. ", .tag("task_wdt"),
      .begins(.watchdog, .warning, until: .otherLine(than: #"\) task_wdt: |^Print CPU "#))),
    CrashFormat("Aborting.", .tag("task_wdt"), .turnsFatal(.watchdog)),
    CrashFormat(
      "Brownout detector was triggered", .start, .begins(.brownout, .fatal, until: .handler),
      shape: #"triggered\s*$"#),
    CrashFormat(
      "Brownout detector was triggered", .tag("BOD"), .begins(.brownout, .fatal, until: .handler)),
    CrashFormat("Panic handler entered multiple times", .start, .begins(.panic, .fatal, until: .handler)),
    CrashFormat("Re-entered core dump! Exception", .start, .begins(.panic, .fatal, until: .handler)),
    CrashFormat(
      "A fatal error occurred. The crash dump printed below", .start,
      .begins(.panic, .fatal, until: .handler), reason: .nextLines),

    // Boot loaders: the chip restarts without a program.
    CrashFormat("invalid header: 0x", .start, rom, shape: #"0x[0-9a-f]{8}\s*$"#),
    CrashFormat("flash read err, ", .start, rom),
    CrashFormat("csum err:0x", .start, rom, shape: "!=0x"),
    CrashFormat("Image requires ", .tag("boot_comm"), boot),
    CrashFormat("Detected size(", .tag("spi_flash"), boot, shape: "smaller than the size in the binary"),
    CrashFormat("partition ", .tag("flash_parts"), boot, shape: #"^partition \d+ invalid"#),
    CrashFormat("load partition table error!", .tag("boot"), boot),
    CrashFormat("Factory app partition is not bootable", .tag("boot"), boot),
    CrashFormat("No bootable app partitions in the", .tag("boot"), boot),
    CrashFormat("No bootable test partition", .tag("boot"), boot),
    CrashFormat(
      "This chip is revision ", .anywhere, mcuboot, shape: "^This chip is revision .* but the application"),
    CrashFormat("Image in the primary slot is not valid!", .anywhere, mcuboot),
    CrashFormat("Unable to find bootable image", .anywhere, mcuboot),
    CrashFormat("Load header magic verification failed.", .anywhere, mcuboot),

    // Rust.
    CrashFormat(
      "====================== PANIC ======================", .anywhere,
      .begins(.panic, .fatal, until: .handler), shape: #"=\s*$"#, reason: .nextLines),
    CrashFormat("!! A panic occured in ", .anywhere, .begins(.panic, .fatal, until: .handler)),
    CrashFormat(
      "Exception occurred on ", .anywhere, .begins(.panic, .fatal, until: .handler),
      shape: #"on (Pro|App)Cpu '"#),
    CrashFormat("Exception '", .anywhere, .begins(.panic, .fatal, until: .handler), shape: #"' .*mepc=0x"#),
    CrashFormat(
      "thread '", .start, .begins(.panic, .warning, until: .otherLine(than: "^(note: run with|called `|  )")),
      shape: "' panicked at ", reason: .andNextLine),

    // Zephyr.
    CrashFormat(">>> ZEPHYR FATAL ERROR 2: ", .anywhere, .begins(.stackOverflow, .fatal, until: zephyr)),
    CrashFormat(
      ">>> ZEPHYR FATAL ERROR ", .anywhere, .begins(.panic, .fatal, until: zephyr), shape: #"\d: "#),
    CrashFormat("mcause: ", .anywhere, .begins(.panic, .fatal, until: zephyr), shape: #"^mcause: \d+, "#),
    CrashFormat("** FATAL EXCEPTION", .anywhere, .begins(.panic, .fatal, until: zephyr)),
    CrashFormat(
      "***** ", .anywhere, .begins(.panic, .fatal, until: zephyr), shape: #"^\*{5} [A-Z ]+FAULT \*{5}"#),
    CrashFormat(
      "ASSERTION FAIL [", .anywhere, .begins(.assertion, .fatal, until: zephyr), shape: #"\] @ .+:\d+"#),
    CrashFormat("Halting system", .anywhere, .ends, shape: #"m\s*$"#),

    // ESPHome, about the run before.
    CrashFormat(
      "*** CRASH DETECTED ON PREVIOUS BOOT ***", .anywhere,
      .begins(.panic, .warning, until: .otherLine(than: #"\.crash:\d+\]"#)), reason: .label("Reason: ")),

    // ESP8266 Arduino.
    CrashFormat(
      "Fatal exception ", .start, .begins(.panic, .fatal, until: .handler),
      shape: #"^Fatal exception (\(\d+\)|\d+\()"#),
    CrashFormat(
      "Exception (", .start, .begins(.panic, .fatal, until: .handler), shape: #"^Exception \(\d+\):"#),
    CrashFormat("Soft WDT reset", .start, .begins(.watchdog, .fatal, until: .handler), shape: #"reset\s*$"#),
    CrashFormat("wdt reset", .start, .begins(.watchdog, .fatal, until: .handler), shape: #"^wdt reset\s*$"#),
    CrashFormat("<<<stack<<<", .start, .ends),

    // The ends.
    CrashFormat("Rebooting...", .start, .ends, shape: #"\.\s*$"#),
    CrashFormat("CPU halted.", .start, .ends),
    CrashFormat("Entering gdb stub now.", .start, .ends),
    CrashFormat("Setting breakpoint at 0x", .start, .ends, shape: "and returning"),
    CrashFormat("ESP-ROM:", .start, .restarts),
    CrashFormat("Build:", .start, .restarts, shape: #"^Build:\w{3} [ \d]\d \d{4}"#),
    CrashFormat("ets ", .start, .restarts, shape: #"^ets \w{3} [ \d]\d \d{4}"#),
  ]

  private static let rom = Role.begins(
    .bootFailure, .warning,
    until: .otherLine(than: "^(invalid header: |flash read err|csum err|ets_main|user code done)"))
  private static let boot = Role.begins(
    .bootFailure, .warning, until: .otherLine(than: #"^\S+ \(\d+\) (boot|flash_parts|esp_image): "#))
  private static let mcuboot = Role.begins(
    .bootFailure, .fatal, until: .otherLine(than: #"ERR|E: |<err>"#))
  private static let zephyr = End.otherLine(than: #"> os: |^(E|FATAL): |^ *\*"#)

  // MARK: Finding

  /// The first text of the table in a line, at its place.
  struct Found: Sendable {
    let format: CrashFormat
    /// The index of the text in the line.
    let offset: Int
    /// Whether it is at a place where only a report can be.
    let isCertain: Bool
  }

  /// By the first byte of the text, because most lines have none of these bytes where they count.
  private static let inLine = table { $0 == .handler || $0 == .anywhere }
  private static let atStart = table { $0 == .start || $0 == .handler }
  private static let inTag = all.filter { if case .tag = $0.place { true } else { false } }

  private static func table(_ isWanted: (Place) -> Bool) -> [[CrashFormat]] {
    var table = [[CrashFormat]](repeating: [], count: 256)
    for format in all where isWanted(format.place) { table[Int(format.text[0])].append(format) }
    return table
  }

  static func first(in line: [UInt8]) -> Found? {
    let start = textStart(line)
    if start < line.count,
      let format = atStart[Int(line[start])].first(where: { $0.matches(line, at: start) })
    {
      return Found(format: format, offset: start, isCertain: true)
    }
    if let log = LogLine(line) {
      let format = inTag.first { $0.place == .tag(log.tag) && $0.matches(line, at: log.messageStart) }
      if let format { return Found(format: format, offset: log.messageStart, isCertain: true) }
    }
    for offset in line.indices where !inLine[Int(line[offset])].isEmpty {
      if let format = inLine[Int(line[offset])].first(where: { $0.matches(line, at: offset) }) {
        return Found(format: format, offset: offset, isCertain: format.place == .anywhere)
      }
    }
    return nil
  }

  /// The index of the first byte behind colours and blanks.
  static func textStart(_ line: [UInt8]) -> Int {
    var start = 0
    while start < line.count {
      if line[start] == UInt8(ascii: " ") {
        start += 1
      } else if let end = VisibleText.sequenceEnd(in: line, at: start) {
        start = end
      } else {
        break
      }
    }
    return start
  }

  private func matches(_ line: [UInt8], at offset: Int) -> Bool {
    guard line.count - offset >= text.count else { return false }
    for index in text.indices where line[offset + index] != text[index] { return false }
    return shape?.matches(VisibleText(Array(line[offset...])).plain) ?? true
  }
}
