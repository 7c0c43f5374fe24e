package import DeviceEmulator
package import NotibotProtocol

/// A notification on a display.
package struct DisplayedNotification: Equatable, Sendable {
  /// The writer, and its number for it; nil without an identity.
  package var key: NotificationKey?
  /// The JSON as it was written.
  package var json: [UInt8]

  package init(key: NotificationKey?, json: [UInt8]) {
    self.key = key
    self.json = json
  }
}

/// Watches the display: it must show the submitted notifications, once each, and none that had
/// gone.
package struct DisplayChecker: Equatable, Sendable {
  /// The device's time of day is the host's of the last session's beginning, in whole seconds, and
  /// late by the time that its frames took.
  static let clockToleranceSeconds: Int64 = 5

  private let scenario: Scenario
  private var known: [[UInt8]: Int] = [:]
  /// Submissions announced since the device's last restart.
  private var announced: Set<Int> = []
  /// The submission that was shown last under a key.
  private var shown: [NotificationKey: Int] = [:]

  package init(scenario: Scenario) {
    self.scenario = scenario
  }

  /// Takes one change of our board's display.
  package mutating func see(
    _ change: DisplayChange, ledger: inout Ledger, at now: Instant
  ) throws(Violation) {
    switch change {
    case .restarted: announced = []
    case .replaced(let subject, _): _ = try appear(subject, ledger: &ledger, at: now)
    case .removed(let subject, let reason):
      let index = try submission(of: subject, ledger: ledger, at: now)
      switch reason {
      case .dismissed, .evicted, .expired: ledger.mark(index) { $0.hasLeft = true }
      case .removed, .writerForgotten: break
      }
    case .shown(let subject, let isAnnounced):
      let index = try appear(subject, ledger: &ledger, at: now)
      guard isAnnounced else { return }
      let isFirst = announced.insert(index).inserted
      guard guaranteesOnce(index, ledger) else { return }
      guard isFirst else {
        throw Violation(.announcedOnce, "\(name(index)) is announced twice in one boot", at: now)
      }
      // A notification that got newer content while it waited for room in a full store is shown as
      // a new one.
      let submission = ledger.submissions[index]
      let isChanged = !scenario.hasRoom && submission.deliveredCount < submission.versions.count
      guard submission.deliveredCount == 0 || isChanged else {
        throw Violation(.announcedOnce, "\(name(index)) is announced and was delivered before", at: now)
      }
    }
  }

  /// Checks everything on our board's display.
  package mutating func look(
    at items: [DisplayedNotification], ledger: Ledger, now: Instant
  ) throws(Violation) {
    var seen: Set<Int> = []
    for item in items {
      let content = try content(of: item, at: now)
      guard let index = ledger.submissionOfContent[content] else { continue }
      guard seen.insert(index).inserted || !guaranteesOnce(index, ledger) else {
        throw Violation(.storedOnce, "\(name(index)) is stored twice", at: now)
      }
    }
  }

  /// The number of the content that a notification shows.
  package mutating func content(of item: DisplayedNotification, at now: Instant) throws(Violation) -> Int {
    if let content = known[item.json] { return content }
    let text = String(decoding: item.json, as: UTF8.self)
    let keys: WrittenNotification.Keys = scenario.hasIdentity ? .all : .four
    guard let written = try? WrittenNotification(parsing: item.json, keys: keys),
      let content = scenario.content(ofTimestamp: written.notification.timestamp)
    else { throw Violation(.shownBytes, "\(text) was never submitted", at: now) }
    // The submitted notification, cut according to NTF-7, with the identity that the device uses.
    let submitted = scenario.contents[content]
    let expected =
      scenario.hasIdentity
      ? WrittenNotification(notification: submitted, identity: written.identity).encoded()
      : submitted.encoded()
    guard expected == item.json else {
      throw Violation(
        .shownBytes, "shown \(text), submitted \(String(decoding: expected, as: UTF8.self))", at: now)
    }
    known[item.json] = content
    return content
  }

  private mutating func appear(
    _ subject: DisplayChange.Subject, ledger: inout Ledger, at now: Instant
  ) throws(Violation) -> Int {
    let content = try content(of: DisplayedNotification(key: subject.key, json: subject.json), at: now)
    let index = try self.submission(of: subject, ledger: ledger, at: now)
    // Copies of a journal use the same keys.
    if let key = subject.key, let replaced = shown.updateValue(index, forKey: key), replaced != index {
      ledger.mark(replaced) { $0.hasLeft = true }
    }
    ledger.mark(index) {
      $0.shown.insert(content)
      $0.hasLeft = false
    }
    let submission = ledger.submissions[index]
    guard submission.versions.first(where: { $0.content == content })?.fate != .rejected else {
      throw Violation(.rejectedStaysAway, "\(name(index)) was rejected", at: now)
    }
    switch submission.ending {
    case nil, .outcomeUnknown: break
    case .gone, .removed, .refused, .expired:
      guard !guaranteesOnce(index, ledger) else {
        throw Violation(.staysAway, "\(name(index)) was reported \(submission.ending!)", at: now)
      }
    }
    return index
  }

  private mutating func submission(
    of subject: DisplayChange.Subject, ledger: Ledger, at now: Instant
  ) throws(Violation) -> Int {
    let content = try content(of: DisplayedNotification(key: subject.key, json: subject.json), at: now)
    guard let index = ledger.submissionOfContent[content] else {
      throw Violation(.shownBytes, "content \(content) is shown before it was submitted", at: now)
    }
    return index
  }

  /// Whether exactly one delivery is guaranteed for a submission.
  private func guaranteesOnce(_ index: Int, _ ledger: Ledger) -> Bool {
    scenario.hasIdentity && scenario.variant != .copiedJournal && !ledger.submissions[index].isOfOldJournal
  }

  private func name(_ index: Int) -> String { "submission \(index)" }
}
