import NotibotProtocol

/// Cuts the text of one source, which comes in pieces, into lines.
///
/// States: *empty* → bytes → *open* (a line has begun) → newline or limit → *empty*. *open* →
/// silence → *reported* (its beginning was emitted) → bytes → *open*. Any → `breakOff` → *empty*.
struct ConsoleText: Equatable, Sendable {
  /// A longer line is split, so that a device that never ends a line cannot exhaust memory.
  static let lineLimitBytes = 4096
  /// How long an unfinished line waits for its rest before it is shown.
  static let silenceNs: Int64 = 200_000_000

  private enum State: Equatable {
    case empty
    case open(startedAt: Instant, deadline: Instant)
    case reported(startedAt: Instant)
  }

  private let source: ConsoleLine.Source
  private var state = State.empty
  private var pending: [UInt8] = []
  private var reportedBytes = 0

  init(_ source: ConsoleLine.Source) {
    self.source = source
  }

  /// Takes text, split anywhere; appends the lines that it completes.
  mutating func receive(_ bytes: [UInt8], now: Instant, into lines: inout [MonitorRecord]) {
    var start = 0
    while start < bytes.count {
      let room = min(bytes.count, start + Self.lineLimitBytes - pending.count)
      let newline = bytes[start..<room].firstIndex(of: UInt8(ascii: "\n"))
      pending += bytes[start..<(newline ?? room)]
      note(now)
      if let newline {
        if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
        take(.newline, into: &lines)
        start = newline + 1
      } else {
        start = room
        if pending.count >= Self.lineLimitBytes { take(.limit, into: &lines) }
      }
    }
  }

  /// Ends an unfinished line, whose rest is lost.
  mutating func breakOff(into lines: inout [MonitorRecord]) {
    switch state {
    case .empty: break
    case .open, .reported: take(.broken, into: &lines)
    }
  }

  /// Emits the beginning of an unfinished line.
  mutating func handleTimeout(now: Instant, into lines: inout [MonitorRecord]) {
    guard case .open(let startedAt, let deadline) = state, now >= deadline else { return }
    let line = ConsoleLine(source, pending, end: .silence, reportedBytes: reportedBytes)
    lines.append(MonitorRecord(at: startedAt, .text(line)))
    reportedBytes = pending.count
    state = .reported(startedAt: startedAt)
  }

  var nextDeadline: Instant? {
    switch state {
    case .empty, .reported: nil
    case .open(_, let deadline): deadline
    }
  }

  private mutating func note(_ now: Instant) {
    let deadline = now.after(ns: Self.silenceNs)
    switch state {
    case .empty: state = .open(startedAt: now, deadline: deadline)
    case .open(let startedAt, _), .reported(let startedAt):
      state = .open(startedAt: startedAt, deadline: deadline)
    }
  }

  private mutating func take(_ end: ConsoleLine.End, into lines: inout [MonitorRecord]) {
    let startedAt: Instant
    switch state {
    case .empty: return
    case .open(let at, _), .reported(let at): startedAt = at
    }
    let reported = min(reportedBytes, pending.count)
    lines.append(
      MonitorRecord(at: startedAt, .text(ConsoleLine(source, pending, end: end, reportedBytes: reported))))
    pending = []
    reportedBytes = 0
    state = .empty
  }
}
