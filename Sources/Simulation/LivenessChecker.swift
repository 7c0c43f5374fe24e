package import NotibotHost
package import NotibotProtocol

/// Checks whether a host and its device have reached the expected final state, once all faults have
/// stopped.
package struct LivenessChecker: Sendable {
  /// The input of the check.
  package struct Evidence: Sendable {
    package var ledger: Ledger
    /// The notifications of all writers on our board.
    package var items: [(content: Int, item: DisplayedNotification)]
    /// The contents of the journal's file.
    package var journal: JournalContents
    package var host: Int
  }

  private let scenario: Scenario

  package init(scenario: Scenario) {
    self.scenario = scenario
  }

  /// The first deviation; nil if there is none.
  package func findFault(in evidence: Evidence, at now: Instant) -> Violation? {
    for (index, submission) in evidence.ledger.submissions.enumerated() where submission.host == evidence.host
    {
      if let fault = findFault(of: index, in: evidence, at: now) { return fault }
    }
    if !evidence.ledger.open.isEmpty {
      return Violation(.requestEndsOnce, "\(evidence.ledger.open.count) submissions have no answer", at: now)
    }
    return findDifference(in: evidence, at: now) ?? findUndone(in: evidence, at: now)
  }

  private func findFault(of index: Int, in evidence: Evidence, at now: Instant) -> Violation? {
    let submission = evidence.ledger.submissions[index]
    guard !submission.isOfOldJournal else { return nil }
    let shown = evidence.items.filter { evidence.ledger.submissionOfContent[$0.content] == index }.map(
      \.content)
    let expectation = evidence.ledger.expectation(of: index)
    guard scenario.hasIdentity else {
      // Without identities a device keeps nothing over a restart: having shown it once is
      // sufficient.
      guard case .present = expectation, submission.shown.isEmpty else { return nil }
      return Violation(.nothingLost, "submission \(index) was never shown", at: now)
    }
    switch expectation {
    case .absent:
      return shown.isEmpty || scenario.variant == .copiedJournal
        ? nil : Violation(.nothingElse, "submission \(index) is still there", at: now)
    case .present(let contents), .either(let contents):
      let late = DisplayChecker.clockToleranceSeconds
      if shown.contains(where: { scenario.isExpired($0, since: late, at: now) }) {
        return Violation(.expiredStaysAway, "submission \(index) is on the display", at: now)
      }
      // If a host is killed before it reports an expiry, nobody will.
      let canExpire = contents.contains { scenario.isExpired($0, at: now) }
      if shown.isEmpty {
        if case .either = expectation { return nil }
        if canExpire { return nil }
        return Violation(.nothingLost, "submission \(index) is not on the display", at: now)
      }
      guard shown.contains(where: contents.contains) else {
        return Violation(
          .newestContent, "submission \(index) shows \(shown), its newest content is one of \(contents)",
          at: now)
      }
      return nil
    }
  }

  private func findDifference(in evidence: Evidence, at now: Instant) -> Violation? {
    guard scenario.hasIdentity else { return nil }
    var device = Holdings()
    for (_, item) in evidence.items {
      guard let key = item.key, key.source == evidence.journal.header.source else { continue }
      device.insert(id: key.id, crc: CRC32.checksum(item.json))
    }
    var host = Holdings()
    for entry in evidence.journal.entries {
      guard case .held(let write) = entry.state else { continue }
      host.insert(id: write.id, crc: CRC32.checksum(write.json))
    }
    guard host == device else {
      return Violation(
        .digestsEqual, "the journal holds \(host.count), the device \(device.count)", at: now)
    }
    return nil
  }

  private func findUndone(in evidence: Evidence, at now: Instant) -> Violation? {
    for entry in evidence.journal.entries {
      switch entry.state {
      case .held, .refused: break
      case .queued, .written, .updating, .removing:
        return Violation(.outboxIdle, "number \(entry.number.rawValue) is \(entry.state.name)", at: now)
      }
    }
    return nil
  }
}
