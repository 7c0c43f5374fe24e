import NotibotProtocol

/// Cuts the text of one source, which comes in pieces, into lines.
///
/// A line ends with LF, CR, or any number of CRs and LF. States: *empty* → bytes → *open* (a line
/// has begun) → its end or the limit → *empty*. *open* → `latestNs` after its first byte →
/// *reported* (its beginning was emitted) → bytes → *open*. Any → `breakOff` → *empty*.
struct ConsoleText: Equatable, Sendable {
  /// A longer line is split, so that a device that never ends a line cannot exhaust memory.
  static let lineLimitBytes = 4096
  /// How long a byte of an unfinished line waits for the rest, at most, before it is shown.
  static let latestNs: Int64 = 200_000_000

  private enum State: Equatable {
    case empty
    case open(startedAt: Instant, deadline: Instant)
    case reported(startedAt: Instant)
  }

  private let source: ConsoleLine.Source
  private var state = State.empty
  private var pending: [UInt8] = []
  private var reportedBytes = 0
  /// Whether the last line ended with CR, which an LF can follow.
  private var endedWithReturn = false

  init(_ source: ConsoleLine.Source) {
    self.source = source
  }

  /// Takes text, split anywhere; appends the lines that it completes.
  mutating func receive(_ bytes: [UInt8], now: Instant, into lines: inout [MonitorRecord]) {
    var start = 0
    while start < bytes.count {
      let room = min(bytes.count, start + Self.lineLimitBytes - pending.count)
      let end = bytes[start..<room].firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
      if start < end ?? room {
        pending += bytes[start..<(end ?? room)]
        open(now)
        endedWithReturn = false
      }
      guard let end else {
        start = room
        if pending.count >= Self.lineLimitBytes { close(.limit, into: &lines) }
        continue
      }
      start = end + 1
      if bytes[end] == UInt8(ascii: "\n") {
        // An empty line, unless a CR has already ended this one.
        if !endedWithReturn { open(now) }
        close(.newline, into: &lines)
        endedWithReturn = false
      } else if !pending.isEmpty {
        close(.newline, into: &lines)
        endedWithReturn = true
      }
    }
  }

  /// Ends an unfinished line, whose rest is lost.
  mutating func breakOff(into lines: inout [MonitorRecord]) {
    switch state {
    case .empty: break
    case .open, .reported: close(.broken, into: &lines)
    }
  }

  /// Emits the beginning of an unfinished line. A character or a colour that is cut waits for its
  /// rest.
  mutating func handleTimeout(now: Instant, into lines: inout [MonitorRecord]) {
    guard case .open(let startedAt, let deadline) = state, now >= deadline else { return }
    state = .reported(startedAt: startedAt)
    let shown = VisibleText.wholeLengthBytes(pending)
    guard shown > reportedBytes else { return }
    let line = ConsoleLine(source, Array(pending[..<shown]), end: .silence, reportedBytes: reportedBytes)
    lines.append(MonitorRecord(at: startedAt, .text(line)))
    reportedBytes = shown
  }

  var nextDeadline: Instant? {
    switch state {
    case .empty, .reported: nil
    case .open(_, let deadline): deadline
    }
  }

  private mutating func open(_ now: Instant) {
    let deadline = now.after(ns: Self.latestNs)
    switch state {
    case .empty: state = .open(startedAt: now, deadline: deadline)
    case .open: break
    case .reported(let startedAt): state = .open(startedAt: startedAt, deadline: deadline)
    }
  }

  private mutating func close(_ end: ConsoleLine.End, into lines: inout [MonitorRecord]) {
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
