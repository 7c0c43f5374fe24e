import Console
import NotibotHost
import NotibotProtocol
import SerialLink

/// Formats the records of a monitor as text or NDJSON. The results include line ends.
struct MonitorPrinter {
  private enum Column {
    case start
    /// Behind the unfinished line of a source.
    case after(ConsoleLine.Source)
  }

  private let options: MonitorOptions
  private var time = MonitorTime()
  private var column = Column.start
  /// The decoded frames of the crash that is printed next.
  var crashFrames: [CrashDecoder.Frame] = []
  private var timestamps: MonitorOptions.Timestamps
  private var filter: LogFilter?
  private var isPaused = false
  private var hiddenCount = 0
  /// Whole lines that --filter, --no-text or Ctrl-T y did not print.
  private(set) var hiddenLines: UInt64 = 0
  /// The sources whose unfinished line is printed in part.
  private var begun: [ConsoleLine.Source] = []

  init(_ options: MonitorOptions) {
    self.options = options
    (timestamps, filter) = (options.timestamps, options.filter)
  }

  // MARK: Changes by the user

  /// Stops printing, or goes on. Returns how many records were not printed, when it goes on.
  mutating func togglePause() -> Int? {
    isPaused.toggle()
    guard !isPaused else { return nil }
    defer { hiddenCount = 0 }
    return hiddenCount
  }

  /// Returns whether lines have timestamps now.
  mutating func toggleTimestamps() -> Bool {
    let given = options.timestamps == .none ? .clock : options.timestamps
    timestamps = timestamps == .none ? given : .none
    return timestamps != .none
  }

  /// Switches between all lines and those of --filter, or warnings and errors. Returns whether only
  /// some are printed now.
  mutating func toggleFilter() -> Bool {
    filter = filter == nil ? options.filter ?? .warnings : nil
    return filter != nil
  }

  /// Whether a record is printed.
  private func isWanted(_ content: MonitorRecord.Content) -> Bool {
    switch content {
    case .text(let line): options.showsText && shows(line)
    case .frame, .damage: options.frames != .none
    case .opened, .lost, .boot, .crash, .warning, .rebootLoop, .binaryLog: true
    }
  }

  /// The rest of a line whose beginning is printed is shown, and so is a crash.
  private func shows(_ line: ConsoleLine) -> Bool {
    guard let filter else { return true }
    return begun.contains(line.source) || line.isInCrash || filter.shows(line.bytes)
  }

  /// The text for stdout; empty if the record is not printed.
  mutating func output(for record: MonitorRecord) -> String {
    let isWanted = isWanted(record.content)
    defer {
      if case .text(let line) = record.content {
        begun.removeAll { $0 == line.source }
        if line.end == .silence, isWanted, !isPaused { begun.append(line.source) }
      }
    }
    if !isWanted || isPaused {
      hiddenCount += isWanted ? 1 : 0
      if case .text(let line) = record.content, line.end != .silence { hiddenLines += 1 }
      return ""
    }
    guard options.isJSON else { return text(record) }
    guard Output.isInWorkflow else { return json(record) }
    var filter = WorkflowText(.json)
    return filter.filter(json(record))
  }

  /// The first line.
  func opening(at moment: Instant) -> String {
    guard options.isJSON else { return "" }
    var line = JSONRecord()
    line.add("event", "start")
    line.add("schema", "notibot.monitor")
    line.add("version", 2)
    line.add("port", options.port.description)
    line.add("time", json: time.epoch(at: moment))
    return line.document() + "\n"
  }

  /// The last line, or the end of an unfinished one.
  /// - Parameter ignoredBytes: bytes that were received after the end was decided.
  mutating func closing(
    _ reason: String, match: String?, counts: MonitorCounts, ignoredBytes: Int, at moment: Instant
  ) -> String {
    guard options.isJSON else { return lineBreak() }
    var line = JSONRecord()
    line.add("event", "end")
    line.add("reason", reason)
    line.add("match", match)
    line.add("bytes", counts.bytes)
    if ignoredBytes > 0 { line.add("ignoredBytes", ignoredBytes) }
    line.add("lines", counts.lines)
    if hiddenLines > 0 { line.add("hiddenLines", hiddenLines) }
    line.add("frames", counts.frames)
    line.add("damagedFrames", counts.damagedFrames)
    line.add("boots", counts.boots)
    line.add("warnings", counts.warnings)
    line.add("crashes", counts.crashes)
    line.add("time", json: time.epoch(at: moment))
    return line.document() + "\n"
  }

  /// A new line, if one is unfinished.
  mutating func lineBreak() -> String {
    defer { column = .start }
    return switch column {
    case .start: ""
    case .after: "\n"
    }
  }

  // MARK: Text

  private mutating func text(_ record: MonitorRecord) -> String {
    switch record.content {
    case .text(let line): return text(line, at: record.at)
    case .frame(let frame): return event(Self.words(frame, options.frames), at: record.at)
    case .damage(let damage):
      let bytes = damage.bytes.isEmpty ? "" : ": " + VisibleText(damage.bytes).plain
      return event("corrupt frame (\(damage.kind.rawValue))\(bytes)", at: record.at)
    case .boot(let cause): return event("the device starts: \(cause)", at: record.at)
    case .crash(let crash): return event(words("crash", crash), at: record.at)
    case .warning(let warning): return event(words("warning", warning), at: record.at)
    case .rebootLoop(let boots):
      return event("the device restarts again and again: \(boots) times in 10 s", at: record.at)
    case .binaryLog:
      return event(
        "this is ESP-IDF's binary log, whose texts are in the ELF file: use idf.py monitor, or build with "
          + "CONFIG_LOG_MODE_TEXT", at: record.at)
    // These are notes, not data.
    case .opened, .lost: return ""
    }
  }

  private mutating func text(_ line: ConsoleLine, at moment: Instant) -> String {
    var result = ""
    var bytes = line.bytes
    if case .after(let source) = column, source == line.source, line.reportedBytes > 0 {
      bytes = Array(bytes[line.reportedBytes...])
    } else if line.reportedBytes == line.bytes.count, line.reportedBytes > 0, begun.contains(line.source) {
      // An event has ended this line, which was printed as far as it goes.
      return ""
    } else {
      result += lineBreak() + time.prefix(timestamps, at: moment)
    }
    let visible = VisibleText(bytes)
    if options.usesColor, !bytes.contains(0x1B), let color = LogLine.color(of: bytes) {
      result += color + visible.plain + "\u{1B}[0m"
    } else {
      result += options.usesColor ? visible.colored : visible.plain
    }
    if line.end == .silence {
      column = .after(line.source)
      return result
    }
    column = .start
    return result + "\n"
  }

  private mutating func event(_ words: String, at moment: Instant) -> String {
    lineBreak() + time.prefix(timestamps, at: moment) + "--- \(words)\n"
  }

  /// The functions at the addresses of a line.
  mutating func functions(_ frames: [CrashDecoder.Frame], at moment: Instant) -> String {
    guard !frames.isEmpty, !isPaused else { return "" }
    guard options.isJSON else { return frames.map { event($0.text, at: moment) }.joined() }
    var line = JSONRecord()
    line.add("time", json: time.epoch(at: moment))
    line.add("event", "functions")
    line.add("frames", json: "[" + frames.map(Self.json).joined(separator: ",") + "]")
    return line.document() + "\n"
  }

  private func words(_ name: String, _ crash: Crash) -> String {
    var words = "\(name) (\(crash.kind.rawValue)): \(VisibleText(Array(crash.reason.utf8)).plain)"
    var core: Int?
    for frame in crashFrames {
      if let next = frame.core, next != core {
        words += "\n    core \(next):"
        core = next
      }
      words += "\n    \(frame.text)"
    }
    return words
  }

  private static func words(_ frame: Frame, _ detail: MonitorOptions.Frames) -> String {
    switch detail {
    case .none, .summary: return FrameSummary.line(of: frame)
    case .full:
      let payload = frame.payload.isEmpty ? "" : "\n    \(hex(frame.payload, separator: " "))"
      return ([frame.header.description] + FrameSummary(frame).parts).joined(separator: ", ") + payload
    }
  }

  // MARK: NDJSON

  private func json(_ record: MonitorRecord) -> String {
    var line = JSONRecord()
    line.add("time", json: time.epoch(at: record.at))
    switch record.content {
    case .text(let text):
      line.add("event", "text")
      line.add("text", VisibleText(text.bytes).exact)
      if text.source == .framedLog { line.add("framed", true) }
      switch text.end {
      case .newline: break
      case .silence: line.add("end", "silence")
      case .limit: line.add("end", "limit")
      case .broken: line.add("end", "broken")
      }
    case .frame(let frame): add(frame, to: &line)
    case .damage(let damage):
      line.add("event", "damage")
      line.add("kind", damage.kind.rawValue)
      line.add("bytes", damage.bytes.count)
      line.add("text", VisibleText(damage.bytes).exact)
    case .boot(let cause):
      line.add("event", "boot")
      line.add("cause", cause)
    case .crash(let crash): add("crash", crash, to: &line)
    case .warning(let warning): add("warning", warning, to: &line)
    case .binaryLog: line.add("event", "binaryLog")
    case .rebootLoop(let boots):
      line.add("event", "rebootLoop")
      line.add("boots", boots)
    case .opened(let port):
      line.add("event", "opened")
      line.add("port", port)
    case .lost(let reason):
      line.add("event", "lost")
      line.add("reason", reason)
    }
    return line.document() + "\n"
  }

  private func add(_ event: String, _ crash: Crash, to line: inout JSONRecord) {
    line.add("event", event)
    line.add("kind", crash.kind.rawValue)
    line.add("reason", crash.reason)
    line.add("lines", crash.lines.map { VisibleText($0).exact })
    if crash.isCut { line.add("isCut", true) }
    guard options.decoder != nil else { return }
    line.add("frames", json: "[" + crashFrames.map(Self.json).joined(separator: ",") + "]")
  }

  private static func json(_ frame: CrashDecoder.Frame) -> String {
    var line = JSONRecord()
    line.add("address", frame.address)
    if let core = frame.core { line.add("core", core) }
    line.add("function", frame.function)
    if !frame.file.isEmpty { line.add("file", frame.file) }
    if let number = frame.line { line.add("line", number) }
    return line.document()
  }

  private func add(_ frame: Frame, to line: inout JSONRecord) {
    let (header, summary) = (frame.header, FrameSummary(frame))
    line.add("event", "frame")
    line.add("type", header.type.name)
    line.add("from", header.direction == .fromHost ? "host" : "device")
    line.add("session", header.session)
    line.add("seq", header.sequence)
    line.add("ack", header.ack)
    line.add("credit", header.credit)
    line.add("channel", header.channel.rawValue)
    line.add("payloadBytes", frame.payload.count)
    line.add("pdu", summary.pdu)
    if !summary.detail.isEmpty { line.add("detail", summary.detail) }
    if let notification = summary.notification {
      line.add("app", notification.app)
      line.add("title", notification.title)
      line.add("text", notification.text)
    }
    if options.frames == .full { line.add("payload", hex(frame.payload)) }
  }
}
