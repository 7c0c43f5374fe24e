package import NotibotHost
package import NotibotProtocol

/// Receives the reports of hosts, compares them with the submissions and the display, and records
/// them.
package struct ReportChecker: Equatable, Sendable {
  private let scenario: Scenario

  package init(scenario: Scenario) {
    self.scenario = scenario
  }

  /// Takes one report of a host.
  package func receive(
    _ report: OutboxReport, host: Int, ledger: inout Ledger, at now: Instant
  ) throws(Violation) {
    switch report {
    case .queued(let number, let token):
      try ledger.answered(token: token, number: number, host: host, at: now)
    case .rejected(_, let token):
      try ledger.answered(token: token, number: nil, host: host, at: now)
    case .duplicate(let number, let token, let isConflict):
      try ledger.answered(token: token, number: number, isDuplicate: true, host: host, at: now)
      guard !isConflict else {
        throw Violation(.keyAcceptedOnce, "number \(number.rawValue) is reported with other content", at: now)
      }
    case .expired(let number):
      try checkExpiry(of: number, host: host, ledger: &ledger, at: now)
      try ended(number, .expired, host: host, ledger: &ledger, at: now)
    case .delivered(let number): try delivered(number, host: host, ledger: &ledger, at: now)
    case .refused(let number, let error):
      guard case .submission(let index) = try ledger.subject(of: number, host: host, at: now) else { return }
      throw Violation(.nothingRefused, "submission \(index): \(error)", at: now)
    case .gone(let number, _): try ended(number, .gone, host: host, ledger: &ledger, at: now)
    case .removed(let number): try ended(number, .removed, host: host, ledger: &ledger, at: now)
    case .outcomeUnknown(let number):
      try ended(number, .outcomeUnknown, host: host, ledger: &ledger, at: now)
    case .action(let number, _, _, let isStale):
      guard case .submission(let index) = try ledger.subject(of: number, host: host, at: now) else { return }
      let submission = ledger.submissions[index]
      guard !submission.isOfOldJournal, scenario.variant != .copiedJournal else { return }
      try ledger.presses.report(index, isStale: isStale, newest: submission.newestContents, at: now)
    case .storeFull, .synced, .diverged: break
    case .newSource:
      guard !scenario.variant.keepsJournals else {
        throw Violation(.sourceKept, "host \(host) takes a new source", at: now)
      }
    }
  }

  private func delivered(
    _ number: OutboxNumber, host: Int, ledger: inout Ledger, at now: Instant
  ) throws(Violation) {
    guard case .submission(let index) = try ledger.subject(of: number, host: host, at: now) else { return }
    ledger.mark(index) { $0.deliveredCount += 1 }
    let submission = ledger.submissions[index]
    guard !submission.isOfOldJournal, scenario.variant != .copiedJournal else { return }
    guard submission.deliveredCount <= submission.versions.count else {
      throw Violation(
        .reportedOnce,
        "submission \(index) of \(submission.versions.count) contents is reported delivered \(submission.deliveredCount) times",
        at: now)
    }
    guard submission.deliveredCount <= submission.shown.count else {
      throw Violation(
        .deliveredWasShown,
        "submission \(index): delivered \(submission.deliveredCount), shown \(submission.shown.count)",
        at: now)
    }
    guard submission.ending == nil else {
      throw Violation(
        .reportedOnce, "submission \(index) is reported delivered after \(submission.ending!)", at: now)
    }
  }

  /// Some content of it that a host can have had must have expired.
  private func checkExpiry(
    of number: OutboxNumber, host: Int, ledger: inout Ledger, at now: Instant
  ) throws(Violation) {
    guard case .submission(let index) = try ledger.subject(of: number, host: host, at: now) else { return }
    let contents = ledger.submissions[index].versions.filter { $0.fate != .rejected }.map(\.content)
    guard contents.contains(where: { scenario.isExpired($0, at: now) }) else {
      throw Violation(.notExpiredEarly, "submission \(index)", at: now)
    }
  }

  private func ended(
    _ number: OutboxNumber, _ ending: Ledger.Ending, host: Int, ledger: inout Ledger, at now: Instant
  ) throws(Violation) {
    guard case .submission(let index) = try ledger.subject(of: number, host: host, at: now) else {
      return ledger.record(ending, ofStranger: number, host: host)
    }
    let submission = ledger.submissions[index]
    if let before = submission.ending, !submission.isOfOldJournal {
      throw Violation(.reportedOnce, "submission \(index) is reported \(before), then \(ending)", at: now)
    }
    if ending == .removed, submission.removals.isEmpty, !submission.isOfOldJournal {
      throw Violation(
        .reportedOnce, "submission \(index) is reported removed without a request", at: now)
    }
    ledger.mark(index) { $0.ending = ending }
  }
}
