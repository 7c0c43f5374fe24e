import NotibotHost
import NotibotProtocol

/// The presses at the display and their reports. Source: PROTOCOL.md NTF-42.
package struct PressLedger: Equatable, Sendable {
  /// The presses of one submission that no report has accounted for, by the content that was shown.
  private var open: [Int: [Int: Int]] = [:]

  package init() {}

  /// The person chose an action of a submission while it showed this content.
  package mutating func press(_ submission: Int, content: Int) {
    open[submission, default: [:]][content, default: 0] += 1
  }

  /// Takes the report of an action.
  ///
  /// - Parameter newest: the contents that can be the newest one that the host has accepted; none
  ///   if the submission was withdrawn.
  mutating func report(
    _ submission: Int, isStale: Bool, newest: [Int], at now: Instant
  ) throws(Violation) {
    let presses = open[submission] ?? [:]
    // Which one a stale press is, is not known: one for an older text, if there is one.
    let candidates = presses.keys.filter { presses[$0] ?? 0 > 0 && (isStale || newest.contains($0)) }
    guard let content = candidates.sorted(by: { !newest.contains($0) && newest.contains($1) }).first else {
      throw Violation(
        .pressedOnce,
        "submission \(submission): \(isStale ? "a stale" : "an") action, and no such press is left of \(presses), newest \(newest)",
        at: now)
    }
    open[submission]?[content, default: 1] -= 1
  }
}

extension Ledger.Submission {
  /// The contents of which each can be the newest one that the host has accepted; none if it was
  /// withdrawn.
  var newestContents: [Int] {
    guard !removals.contains(where: { $0 == .confirmed || $0 == .pending }) else { return [] }
    let last = versions.lastIndex { $0.fate == .confirmed || $0.fate == .pending } ?? 0
    return versions[last...].filter { $0.fate != .rejected }.map(\.content)
  }
}
