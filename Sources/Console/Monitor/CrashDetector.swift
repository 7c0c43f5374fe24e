import NotibotProtocol
import SerialLink

/// Observes the lines of a console: which of them report a fault, and where the device starts
/// again. It withholds no line.
///
/// States: *running* → a line that begins a report (`CrashFormat`) → *collecting* → the end of its
/// format, a start, silence or the limit → *reported* after a crash, *running* after a warning.
/// *reported* → another report → *collecting*. Any → a start → *running*. A start that is caused by
/// a watchdog or the power supply is a crash of its own, unless it ends a report or follows one.
struct CrashDetector: Equatable, Sendable {
  enum Event: Equatable, Sendable {
    case crash(Crash)
    /// The program goes on.
    case warning(Crash)
    /// The cause is printable.
    case boot(cause: String, isIntended: Bool)
  }

  /// A classified line, and the events that it causes.
  struct Reading: Equatable, Sendable {
    /// The events that end before this line.
    var before: [Event] = []
    var isInCrash = false
    /// The events of this line.
    var after: [Event] = []
  }

  /// Limits for one report, in lines and bytes; a register dump with a backtrace has 40 lines.
  static let linesLimit = 128
  static let textLimitBytes = 16_384
  /// The longest reason, in characters.
  static let reasonLimit = 160
  /// A report ends when the device is silent for this long.
  static let silenceNs: Int64 = 2_000_000_000
  /// The same while ESP-IDF writes a core dump into the flash, or waits for a key to print it.
  static let dumpSilenceNs: Int64 = 30_000_000_000
  /// How long after a crash a restart by the watchdog belongs to it: ESP-IDF arms it with 10 s.
  static let restartNs: Int64 = 15_000_000_000
  /// Lines between a text that can be a quotation and the dump that shows it is a report.
  static let doubtfulLinesLimit = 8

  /// What a report is, as far as its lines show.
  fileprivate enum Weight: Equatable {
    /// Its text stands behind other text.
    case doubtful(CrashFormat.Severity)
    case known(CrashFormat.Severity)
  }

  fileprivate struct Report: Equatable {
    var crash: Crash
    var weight: Weight
    var continuation: Pattern?
    var reason: CrashFormat.Reason
    /// Whether the lines of a core dump follow, which are no part of the report.
    var isInDump = false
    var deadline: Instant
  }

  private enum State: Equatable {
    case running
    case collecting(Report)
    case reported(at: Instant)
  }

  /// A boot that was reported by text and not yet by HELLO.
  private enum Boot: Equatable {
    case awaitsHello
    case known(bootID: UInt32?)
  }

  private var state = State.running
  private var boot = Boot.known(bootID: nil)

  // MARK: Inputs

  /// Takes a line of text.
  mutating func receive(_ line: [UInt8], now: Instant) -> Reading {
    var reading = Reading()
    if let start = ESPBootLine(in: line) {
      receive(start.cause, line, now: now, into: &reading)
      return reading
    }
    let found = CrashFormat.first(in: line)
    if case .collecting(let report) = state, continues(report, with: found, line) {
      add(line, found, to: report, now: now, into: &reading)
      return reading
    }
    endCollecting(now: now, into: &reading.before)
    switch found?.format.role {
    case .begins(let kind, let severity, _)?: begin(kind, severity, line, found, now: now)
    case .turnsFatal(let kind)?: begin(kind, .fatal, line, found, now: now)
    case .becomes?, .ends?, .restarts?, nil: break
    }
    if case .collecting = state { reading.isInCrash = found?.isCertain == true }
    return reading
  }

  /// Takes a HELLO: for a boot that printed nothing it is the only sign.
  mutating func receive(_ hello: Hello, now: Instant) -> [Event] {
    var events: [Event] = []
    switch boot {
    case .known(bootID: hello.bootID): return []
    case .awaitsHello: boot = .known(bootID: hello.bootID)
    case .known:
      boot = .known(bootID: hello.bootID)
      let reason = hello.resetReason ?? .unknown
      endCollecting(restarted: reason.crashKind != nil, now: now, into: &events)
      if let kind = reason.crashKind, state == .running {
        events.append(.crash(Crash(kind, reason: reason.words)))
      }
      events.append(.boot(cause: reason.words, isIntended: state == .running && reason.crashKind == nil))
      state = .running
    }
    return events
  }

  /// Ends a report after silence.
  mutating func handleTimeout(now: Instant) -> [Event] {
    guard case .collecting(let report) = state, now >= report.deadline else { return [] }
    return finish(now: now)
  }

  /// Ends a report that the device did not end.
  mutating func finish(now: Instant) -> [Event] {
    var events: [Event] = []
    endCollecting(now: now, into: &events)
    return events
  }

  var nextDeadline: Instant? {
    switch state {
    case .running, .reported: nil
    case .collecting(let report): report.deadline
    }
  }

  // MARK: Steps

  private mutating func begin(
    _ kind: Crash.Kind, _ severity: CrashFormat.Severity, _ line: [UInt8], _ found: CrashFormat.Found?,
    now: Instant
  ) {
    guard let found else { return }
    let text = VisibleText(Array(line[found.offset...])).exact
    state = .collecting(
      Report(
        crash: Crash(kind, reason: text, lines: [line]),
        weight: found.isCertain ? .known(severity) : .doubtful(severity),
        continuation: found.format.continuation, reason: found.format.reason,
        deadline: now.after(ns: Self.silenceNs)))
  }

  /// Whether a line is a part of the report.
  private func continues(_ report: Report, with found: CrashFormat.Found?, _ line: [UInt8]) -> Bool {
    if report.isInDump { return true }
    let text = VisibleText(line).plain
    switch (found?.format.role, report.weight) {
    // A restart ends a crash at once; whether it makes one of the others, its cause shows.
    case (.restarts?, let weight): return weight != .known(.fatal)
    // A certain report replaces a doubtful one.
    case (.begins?, .doubtful): return found?.isCertain == false
    case (.begins(let kind, let severity, _)?, .known(.warning)):
      // A damaged heap and a panic of a thread lead to it; other warnings are a matter of their
      // own.
      return severity == .warning
        ? kind == report.crash.kind : report.crash.kind == .heapCorruption || kind == .abort
    case (.begins?, .known(.fatal)), (.becomes?, _), (.turnsFatal?, _), (.ends?, _): return true
    case (nil, .doubtful):
      return Self.isDump(text) || LogLine(line) == nil && report.crash.lines.count < Self.doubtfulLinesLimit
    case (nil, .known(let severity)):
      return severity == .fatal && report.continuation == nil || Self.isDump(text)
        || report.reason == .andNextLine && report.crash.lines.count == 1
        || report.continuation?.matches(text) == true || Self.isOfDump(line)
    }
  }

  private mutating func add(
    _ line: [UInt8], _ found: CrashFormat.Found?, to report: Report, now: Instant, into reading: inout Reading
  ) {
    var report = report
    let text = VisibleText(line).plain
    let isOfDump = Self.isOfDump(line)
    report.deadline = now.after(ns: isOfDump || report.isInDump ? Self.dumpSilenceNs : Self.silenceNs)
    if text.hasSuffix(CoreDump.start) { report.isInDump = true }
    switch (found?.format.role, report.weight) {
    case (.begins(let kind, .fatal, _)?, _), (.turnsFatal(let kind)?, _), (.becomes(let kind)?, _):
      if report.crash.kind == .panic { report.crash.kind = kind }
      report.weight = .known(.fatal)
    case (.ends?, _): report.weight = .known(.fatal)
    case (nil, .doubtful(let severity)) where Self.isDump(text) && !text.allSatisfy(\.isWhitespace):
      report.weight = .known(severity)
    case _: break
    }
    if case .doubtful = report.weight {} else { reading.isInCrash = true }
    let isKept = !report.isInDump && found?.format.role != .restarts
    if text.hasSuffix(CoreDump.end) { report.isInDump = false }
    if isKept {
      let size = report.crash.lines.reduce(line.count) { $0 + $1.count }
      if report.crash.lines.count < Self.linesLimit, size <= Self.textLimitBytes {
        report.crash.lines.append(line)
      } else {
        report.crash.isCut = true
      }
    }
    state = .collecting(report)
    if report.crash.isCut || found?.format.role == .ends { endCollecting(now: now, into: &reading.after) }
  }

  /// Ends a report. A restart that nobody intended makes a crash of a warning.
  private mutating func endCollecting(restarted: Bool = false, now: Instant, into events: inout [Event]) {
    guard case .collecting(let report) = state else { return }
    let crash = report.finished
    switch (report.weight, restarted) {
    case (.known(.fatal), _), (.known(.warning), true), (.doubtful(.fatal), true),
      (.doubtful(.warning), true):
      events.append(.crash(crash))
      state = .reported(at: now)
    case (.known(.warning), false):
      events.append(.warning(crash))
      state = .running
    case (.doubtful, false): state = .running
    }
  }

  private mutating func receive(
    _ cause: ESPResetCause, _ line: [UInt8], now: Instant, into reading: inout Reading
  ) {
    endCollecting(restarted: cause.meaning != .intended, now: now, into: &reading.before)
    let name = VisibleText(Array(cause.name.utf8)).plain
    var isIntended = cause.trouble == nil
    switch state {
    case .reported(let at) where now <= at.after(ns: Self.restartNs): isIntended = cause.meaning == .intended
    case .running, .reported:
      if let kind = cause.trouble?.crashKind {
        reading.after.append(.crash(Crash(kind, reason: name, lines: [line])))
      }
    case .collecting: break
    }
    state = .running
    boot = .awaitsHello
    reading.after.append(.boot(cause: name, isIntended: isIntended))
  }

  // MARK: Lines

  private static let dump = CrashFormat.pattern(
    #"^\s*$|^Core +\d register dump|^Backtrace|^ELF file SHA256:|^Stack memory:|^[0-9a-f]{8}: 0x"#
      + #"|^[A-Z][A-Z0-9/]+ *: 0x|^Please enable CONFIG_|^0x[0-9a-f]{8}"#)

  /// Whether a line is a part of a register dump, a stack or a backtrace, or empty.
  private static func isDump(_ text: String) -> Bool { dump.matches(text) }

  /// Whether ESP-IDF reports with a line how it saves a core dump.
  private static func isOfDump(_ line: [UInt8]) -> Bool {
    LogLine(line)?.tag.hasPrefix("esp_core_dump") == true
  }
}

extension CrashDetector.Report {
  /// The report with its reason.
  fileprivate var finished: Crash {
    var crash = crash
    let texts = crash.lines.map { VisibleText($0).exact }
    var found: String?
    switch reason {
    case .line: break
    case .andNextLine:
      let next = texts.dropFirst().prefix(1).filter { !$0.hasPrefix("note: ") && !$0.isEmpty }
      found = ([crash.reason] + next).joined(separator: " ")
    case .parentheses:
      // "Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled."
      found = String(crash.reason.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" })
    case .nextLines:
      let next = texts.dropFirst().drop(while: \.isEmpty).prefix { !$0.isEmpty && !$0.hasPrefix("Backtrace") }
      found = next.joined(separator: " ")
    case .label(let label):
      let line = texts.first { $0.contains(label) }
      found = line.flatMap { $0.firstRange(of: label).map { range in String(line![range.upperBound...]) } }
    }
    if let found, !found.isEmpty { crash.reason = found }
    crash.reason = String(crash.reason.prefix(CrashDetector.reasonLimit))
    return crash
  }
}
