import NotibotHost
import NotibotProtocol
import Synchronization

/// The results of all notifications: added by the device's thread, read by the command's. Each line
/// is reported once.
final class SendReport: Sendable {
  private struct State {
    var accepted = 0
    var refused = 0
    var unknown = 0
    var unsent = 0
    var shown = 0
    var altered = 0
    /// Line numbers of this batch that are already reported, so that a late result is not reported
    /// twice.
    var reported: Set<Int> = []
  }

  /// Further reasons are only counted.
  private static let shownLimit = 20

  private let json: Bool
  private let isSingle: Bool
  private let state = Mutex(State())

  init(json: Bool, isSingle: Bool) {
    self.json = json
    self.isSingle = isSingle
  }

  var refusedCount: Int { state.withLock(\.refused) }

  var totalCount: Int { state.withLock { $0.accepted + $0.refused + $0.unknown + $0.unsent } }

  /// Adds the result of a line that was submitted to the device, with its alteration.
  func add(_ line: Int, _ result: Result<Void, NotibotError>, _ alteration: Alteration = Alteration()) {
    switch result {
    case .success:
      if !alteration.isNone { warn(line, alteration) }
      var document = Document(line: line, result: "accepted")
      document.cut = alteration.isCut ? true : nil
      document.cutMembers = alteration.cutMembers
      document.replaced = alteration.isReplaced ? true : nil
      report(document, counting: \.accepted)
    case .failure(let error):
      let document = Document(line: line, error: error)
      switch document.result {
      case "refused": report(document, counting: \.refused)
      case "unknown": report(document, counting: \.unknown)
      case _: report(document, counting: \.unsent)
      }
    }
  }

  /// Reports lines as unsent, except those that are already reported.
  func addUnsent(_ lines: [Int]) {
    guard let first = lines.first else { return }
    begin(at: first)
    for line in lines { report(Document(line: line, result: "unsent"), counting: \.unsent) }
  }

  /// Begins a batch with lines of this number and above: all lines below it are reported.
  func begin(at line: Int) {
    state.withLock { state in state.reported = state.reported.filter { $0 >= line } }
  }

  private func warn(_ line: Int, _ alteration: Alteration) {
    let count = state.withLock { state in
      state.altered += 1
      return state.altered
    }
    guard count <= Self.shownLimit else { return }
    Output.note("warning: \(isSingle ? "" : "line \(line): ")\(alteration.consequence)")
  }

  private func report(_ document: Document, counting counter: WritableKeyPath<State, Int>) {
    let (isNew, isShown) = state.withLock { state in
      guard state.reported.insert(document.line).inserted else { return (false, false) }
      state[keyPath: counter] += 1
      guard document.reason != nil else { return (true, false) }
      state.shown += 1
      return (true, state.shown <= Self.shownLimit)
    }
    guard isNew else { return }
    // The reason of a single notification is the command's last line.
    if isShown, !isSingle { Output.note("line \(document.line): \(document.text)") }
    if json { Output.data(Output.record(document)) }
  }

  /// The last lines of the text output.
  func printSummary() {
    let state = state.withLock { $0 }
    if state.shown > Self.shownLimit { Output.note("and \(state.shown - Self.shownLimit) more lines") }
    if state.altered > Self.shownLimit {
      Output.note("warning: and \(state.altered - Self.shownLimit) more lines were truncated")
    }
    guard !json, totalCount > 0 else { return }
    guard !isSingle else {
      if state.accepted == 1 { Output.data("accepted") }
      return
    }
    var parts = ["\(state.accepted) accepted", "\(state.refused) refused"]
    if state.unknown > 0 { parts.append("\(state.unknown) with unknown outcome") }
    if state.unsent > 0 { parts.append("\(state.unsent) not sent") }
    Output.data(parts.joined(separator: ", "))
  }

  private struct Document: Encodable {
    var line: Int
    /// `accepted`, `refused`, `unknown` (sent, no answer: it is possibly on the device) or
    /// `unsent`.
    var result: String
    var attError: UInt8?
    var reason: String?
    /// Whether the notification was truncated, or characters replaced.
    var cut: Bool?
    var cutMembers: [String]?
    var replaced: Bool?

    init(line: Int, result: String) {
      self.line = line
      self.result = result
    }

    init(line: Int, error: NotibotError) {
      self.line = line
      reason = error.reason
      if case .refused(let refusal) = error.code {
        result = "refused"
        attError = refusal.rawValue
      } else {
        result = error.isOutcomeUnknown ? "unknown" : "unsent"
      }
    }

    /// As text: the result and its reason.
    var text: String {
      switch result {
      case "unknown": "outcome unknown: \(reason ?? "")"
      case "unsent": "not sent: \(reason ?? "")"
      case _: reason ?? ""
      }
    }
  }
}
