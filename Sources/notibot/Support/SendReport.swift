import NotibotHost
import Synchronization

/// What became of each notification: told by the device's thread, read by the command's. Each line is told once.
final class SendReport: Sendable {
  private struct State {
    var accepted = 0
    var refused = 0
    var unknown = 0
    var unsent = 0
    var shown = 0
    var altered = 0
    /// Numbers of the present batch that are told, so that what is told late is not told twice.
    var told: Set<Int> = []
  }

  /// Reasons beyond these are counted only.
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

  /// Reports the result of a line that was given to the device; `alteration`: what of it was changed before.
  func add(_ line: Int, _ result: Result<Void, NotibotError>, _ alteration: Alteration = Alteration()) {
    switch result {
    case .success:
      if !alteration.isNone { warn(line, alteration) }
      var document = Document(line: line, result: "accepted")
      document.cut = alteration.isCut ? true : nil
      document.replaced = alteration.isReplaced ? true : nil
      tell(document, counting: \.accepted)
    case .failure(let error):
      let document = Document(line: line, error: error)
      switch document.result {
      case "refused": tell(document, counting: \.refused)
      case "unknown": tell(document, counting: \.unknown)
      case _: tell(document, counting: \.unsent)
      }
    }
  }

  /// Tells that lines were never sent, but for those whose result is told already.
  func addUnsent(_ lines: [Int]) {
    guard let first = lines.first else { return }
    begin(at: first)
    for line in lines { tell(Document(line: line, result: "unsent"), counting: \.unsent) }
  }

  /// Begins with lines of this number and above: all below it are told.
  func begin(at line: Int) {
    state.withLock { state in state.told = state.told.filter { $0 >= line } }
  }

  private func warn(_ line: Int, _ alteration: Alteration) {
    let count = state.withLock { state in
      state.altered += 1
      return state.altered
    }
    guard count <= Self.shownLimit else { return }
    Output.note("warning: \(isSingle ? "" : "line \(line): ")\(alteration.consequence)")
  }

  private func tell(_ document: Document, counting counter: WritableKeyPath<State, Int>) {
    let (isNew, isShown) = state.withLock { state in
      guard state.told.insert(document.line).inserted else { return (false, false) }
      state[keyPath: counter] += 1
      guard document.reason != nil else { return (true, false) }
      state.shown += 1
      return (true, state.shown <= Self.shownLimit)
    }
    guard isNew else { return }
    // The reason of a single one is the command's last line.
    if isShown, !isSingle { Output.note("line \(document.line): \(document.text)") }
    if json { Output.data(Output.record(document)) }
  }

  /// The last lines for a person.
  func printSummary() {
    let state = state.withLock { $0 }
    if state.shown > Self.shownLimit { Output.note("and \(state.shown - Self.shownLimit) lines more") }
    if state.altered > Self.shownLimit {
      Output.note("warning: and \(state.altered - Self.shownLimit) more lines were cut")
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
    /// `accepted`, `refused`, `unknown` (sent, no answer: it may be on the device) or `unsent`.
    var result: String
    var attError: UInt8?
    var reason: String?
    /// Whether the display has less of it than was given, or other characters.
    var cut: Bool?
    var replaced: Bool?

    init(line: Int, result: String) {
      self.line = line
      self.result = result
    }

    init(line: Int, error: NotibotError) {
      self.line = line
      reason = error.reason
      if case .refused(let code) = error.code {
        result = "refused"
        attError = code
      } else {
        result = error.isOutcomeUnknown ? "unknown" : "unsent"
      }
    }

    /// For a person: what happened, and why.
    var text: String {
      switch result {
      case "unknown": "outcome unknown: \(reason ?? "")"
      case "unsent": "not sent: \(reason ?? "")"
      case _: reason ?? ""
      }
    }
  }
}
