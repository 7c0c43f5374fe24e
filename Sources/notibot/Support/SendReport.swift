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
    /// Lines are told in order but for those that are out, so what was told is this and all before it.
    var toldUpTo = 0
    var toldBeyond: Set<Int> = []

    /// Notes that a line is told; false when it was before.
    mutating func tell(_ line: Int) -> Bool {
      guard line > toldUpTo, toldBeyond.insert(line).inserted else { return false }
      while toldBeyond.remove(toldUpTo + 1) != nil { toldUpTo += 1 }
      return true
    }
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

  /// Tells the result of a line that was given to the device.
  func add(_ line: Int, _ result: Result<Void, NotibotError>) {
    switch result {
    case .success: tell(Document(line: line, result: "accepted"), counting: \.accepted)
    case .failure(let error):
      let document = Document(line: line, error: error)
      switch document.result {
      case "refused": tell(document, counting: \.refused)
      case "unknown": tell(document, counting: \.unknown)
      case _: tell(document, counting: \.unsent)
      }
    }
  }

  /// Tells that a line was never sent, unless its result is told already.
  func addUnsent(_ line: Int) {
    tell(Document(line: line, result: "unsent"), counting: \.unsent)
  }

  private func tell(_ document: Document, counting counter: WritableKeyPath<State, Int>) {
    let (isNew, isShown) = state.withLock { state in
      guard state.tell(document.line) else { return (false, false) }
      state[keyPath: counter] += 1
      guard document.reason != nil else { return (true, false) }
      state.shown += 1
      return (true, state.shown <= Self.shownLimit)
    }
    guard isNew else { return }
    // The reason of a single one is the command's last line.
    if isShown, !isSingle { Output.note("line \(document.line): \(document.text)") }
    if json { try? Output.json(document) }
  }

  /// The last lines for a person.
  func printSummary() {
    let state = state.withLock { $0 }
    if state.shown > Self.shownLimit { Output.note("and \(state.shown - Self.shownLimit) lines more") }
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
