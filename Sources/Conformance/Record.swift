package import NotibotProtocol

/// The log of a bench: the findings of the case and the last bytes of the line. Bytes are kept as
/// they passed and decoded only for a reader.
package final class Record {
  /// Entries kept; older ones are dropped and counted.
  package static let entriesLimit = 40
  /// Bytes kept of one entry; more are counted only.
  package static let entryLimitBytes = 2048
  /// The maximum number of different findings: a loop over a thousand inputs need not report each.
  package static let findingsLimit = 8

  /// Bytes that passed at once.
  struct Passed {
    var bytes: [UInt8]
    var isSent: Bool
    var time: Instant
  }

  /// Bytes kept for a trace, at most.
  static let passedLimitBytes = 64 << 20
  /// All bytes that passed, from the first on, if they are kept for a trace.
  private(set) var passed: [Passed] = []
  private var passedBytes = 0
  var isTraced = false

  /// Answers kept of a case, at most.
  static let answersLimit = 4096
  /// How the device answered its requests, in order.
  private(set) var answers: [Answer] = []

  private enum Content {
    case bytes([UInt8], isSent: Bool, omitted: Int)
    case step(String)
  }

  /// The findings, each once, with how often it was recorded.
  package var findings: [Finding] {
    recorded.map { finding, times in
      let more = times == 1 ? "" : " (\(times) times)"
      return Finding(
        finding.message + more, file: finding.file, line: finding.line, isOfServer: finding.isOfServer)
    }
  }

  private var recorded: [(finding: Finding, times: Int)] = []
  /// Whether bytes are records of a connection instead of frames between zeros.
  package var hasRecords = false
  private var entries: [(time: Instant, content: Content)] = []
  private var droppedEntries = 0

  package init() {}

  /// Adds a finding; the case continues.
  package func add(_ finding: Finding) {
    if let index = recorded.firstIndex(where: { $0.finding == finding }) {
      recorded[index].times += 1
    } else if recorded.count < Self.findingsLimit {
      recorded.append((finding, 1))
    }
  }

  /// Adds bytes that passed.
  package func add(_ bytes: [UInt8], isSent: Bool, at time: Instant) {
    if isTraced, passedBytes < Self.passedLimitBytes {
      passed.append(Passed(bytes: bytes, isSent: isSent, time: time))
      passedBytes += bytes.count
    }
    let kept = Array(bytes.prefix(Self.entryLimitBytes))
    add(.bytes(kept, isSent: isSent, omitted: bytes.count - kept.count), at: time)
  }

  /// Adds a PDU of the device, if it is an answer.
  func addAnswer(_ pdu: [UInt8]) {
    if let answer = Answer(pdu), answers.count < Self.answersLimit { answers.append(answer) }
  }

  /// Adds anything else that is worth reading in addition to the bytes.
  package func add(_ step: String, at time: Instant) { add(.step(step), at: time) }

  private func add(_ content: Content, at time: Instant) {
    entries.append((time, content))
    if entries.count > Self.entriesLimit {
      entries.removeFirst()
      droppedEntries += 1
    }
  }

  /// The bytes of the last entries that the case's peer sent.
  package var received: [UInt8] {
    entries.flatMap { entry -> [UInt8] in
      if case .bytes(let bytes, isSent: false, _) = entry.content { bytes } else { [] }
    }
  }

  /// The last entries, decoded, one step per line: the time in seconds since the clock's origin,
  /// `>` for what the case sent, `<` for what its peer sent or `!` for a remark, and the step.
  package var transcript: [String] {
    var lines = droppedEntries == 0 ? [] : ["(\(droppedEntries) earlier steps not shown)"]
    var directions = [true: Transcriber(hasRecords: hasRecords), false: Transcriber(hasRecords: hasRecords)]
    for (time, content) in entries {
      switch content {
      case .step(let text): lines.append("\(Self.format(time)) \(text.hasPrefix("!") ? text : "! \(text)")")
      case .bytes(let bytes, let isSent, let omitted):
        let mark = isSent ? ">" : "<"
        var words = directions[isSent]?.receive(bytes) ?? []
        if omitted > 0 { words.append("(\(omitted) further bytes not shown)") }
        lines += words.map { "\(Self.format(time)) \(mark) \($0)" }
      }
    }
    guard let last = entries.last?.time else { return lines }
    for isSent in [true, false] {
      let words = directions[isSent]?.finish() ?? []
      lines += words.map { "\(Self.format(last)) \(isSent ? ">" : "<") \($0)" }
    }
    return lines
  }

  private static func format(_ time: Instant) -> String {
    let microseconds = time.nanoseconds / 1000
    let fraction = String(1_000_000 + microseconds % 1_000_000).dropFirst()
    return "\(microseconds / 1_000_000).\(fraction)"
  }
}
