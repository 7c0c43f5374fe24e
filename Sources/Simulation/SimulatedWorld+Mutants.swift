import DeviceEmulator
import NotibotHost
import NotibotProtocol

/// The changes that a mutant makes to the events of the world. Without a mutant, nothing is
/// changed.
extension SimulatedWorld {
  /// The journal that a host finds.
  func mutated(_ contents: JournalContents) -> JournalContents {
    var contents = contents
    if mutant == .forgottenKeys { contents.keys = [] }
    guard mutant == .forgottenResend else { return contents }
    for index in contents.entries.indices {
      guard case .written(let write) = contents.entries[index].state else { continue }
      contents.entries[index].state = .held(write)
    }
    return contents
  }

  /// The clock of a host; nil: it has none.
  var clock: HostClock? {
    guard scenario.hasClock else { return nil }
    let seconds =
      switch mutant {
      case .fastClock: scenario.seconds(at: now) + 3600
      case .stoppedClock: Scenario.firstSecond
      case _: scenario.seconds(at: now)
      }
    return HostClock(seconds: seconds, zoneOffsetMinutes: 0)
  }

  /// Gives a host the time of day, as a driver does before each input.
  func setClock(of index: Int) {
    guard let clock else { return }
    hosts[index].life?.machine.setClock(clock, now: now)
  }

  func mutated(_ change: DisplayChange) -> DisplayChange {
    guard mutant == .changedLetter, case .shown(var subject, let isAnnounced) = change,
      let place = subject.json.firstIndex(of: UInt8(ascii: "x"))
    else { return change }
    subject.json[place] = UInt8(ascii: "y")
    return .shown(subject, isAnnounced: isAnnounced)
  }

  func remember(_ change: DisplayChange) {
    guard case .shown(let subject, _) = change,
      let content = try? display.content(
        of: DisplayedNotification(key: subject.key, json: subject.json), at: now),
      let index = ledger.submissionOfContent[content]
    else { return }
    shownAt[index] = shownAt[index] ?? now
    lastShown[index] = subject
  }

  func mutated(_ items: [DisplayedNotification]) -> [DisplayedNotification] {
    switch mutant {
    case .doublingDevice: items + items.suffix(1)
    case .silentlyEmptiedDisplay: isCalm ? [] : items
    case _: items
    }
  }

  /// The reaction to a report.
  func mutate(after report: OutboxReport, host: Int) throws(Violation) {
    switch (mutant, report) {
    case (.repeatedReports, .gone), (.repeatedReports, .delivered), (.repeatedReports, .removed):
      try reports.receive(report, host: host, ledger: &ledger, at: now)
    case (.prematureDelivery, .queued(let number, _)):
      try reports.receive(.delivered(number), host: host, ledger: &ledger, at: now)
    case (.deviceWithoutMemory, .gone(let number, .dismissed)):
      guard case .submission(let index) = try ledger.subject(of: number, host: host, at: now),
        let subject = lastShown[index]
      else { return }
      try see(.shown(subject, isAnnounced: false))
    case _: break
    }
  }
}
