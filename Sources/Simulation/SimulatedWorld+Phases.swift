import DeviceEmulator
import NotibotHost
import NotibotProtocol

/// The two phases of a run.
extension SimulatedWorld {
  /// The limit of the calm phase for each host's turn, until the state is as expected.
  package static let calmLimit = Duration.seconds(180)
  /// How often that is checked.
  static let lookInterval = Duration.milliseconds(500)
  /// How long it must stay so.
  static let restTime = Duration.seconds(6)

  /// Runs the scenario to its end.
  /// - Throws: the first rule that is broken.
  package func run() throws(Violation) {
    do {
      try startHost(0)
      try run(until: .zero + scenario.faultTime)
      try beginCalm()
      let turns = hosts.count == 1 ? [0] : [turn, (turn + 1) % 2, turn]
      for (place, index) in turns.enumerated() {
        if place > 0 { try passTurn(to: index) }
        try settle(index)
      }
      try finish()
    } catch {
      trace.add(now, "rule", "BROKEN: \(error.rule.rawValue): \(error.detail)")
      throw error
    }
    for index in hosts.indices { countResends(of: index) }
    counts.virtualTime = now - .zero
  }

  private func beginCalm() throws(Violation) {
    trace.add(now, "world", "all faults stop")
    isCalm = true
    interruption = nil
    makeRoom()
    boards[0].wired.setFaults(.off)
    _ = boards[0].wired.perform(.resume, now: now)
    while nextStep < scenario.steps.count {
      // Events due at this very moment, or left over.
      nextStep += 1
    }
    after(.milliseconds(400), .calmUser)
  }

  /// The other host takes over.
  private func passTurn(to index: Int) throws(Violation) {
    let previous = turn
    turn = index
    pauseAfterStop = .milliseconds(10)
    guard hosts[previous].life != nil else { return after(pauseAfterStop, .startHost(index)) }
    stopHost(previous)
    try run(until: now + Self.stopLimit, unless: { hosts[previous].life == nil })
  }

  /// Waits until the state is as expected for a host, and stays so.
  private func settle(_ index: Int) throws(Violation) {
    let end = now + Self.calmLimit
    var fault: Violation?
    var restsSince: Instant?
    repeat {
      try run(until: now + Self.lookInterval)
      fault = try findFault(at: index)
      isUnsettled = fault != nil
      if fault != nil {
        restsSince = nil
      } else {
        restsSince = restsSince ?? now
        if let restsSince, now - restsSince >= Self.restTime { return }
      }
    } while now < end
    if let fault { throw fault }
  }

  /// No more submissions: the host ends on its own.
  private func finish() throws(Violation) {
    let index = turn
    hosts[index].life?.machine.finish(now: now)
    try run(until: now + .seconds(5), unless: { hosts[index].life?.isFinished ?? true })
    guard let life = hosts[index].life, !life.isFinished else { return }
    throw Violation(.outboxIdle, "host \(index) has nothing left to do and does not finish", at: now)
  }

  private func findFault(at index: Int) throws(Violation) -> Violation? {
    guard let life = hosts[index].life, life.commit == nil else {
      return Violation(.outboxIdle, "host \(index) is not running, or has a commit out", at: now)
    }
    var items: [(content: Int, item: DisplayedNotification)] = []
    for item in mutated(boards[0].items) { items.append((try display.content(of: item, at: now), item)) }
    let journal: JournalContents
    do {
      guard let contents = try hosts[index].journal.contents() else { return nil }
      journal = contents
    } catch {
      throw Violation(.journalOpens, "\(error)", at: now)
    }
    return liveness.findFault(
      in: LivenessChecker.Evidence(ledger: ledger, items: items, journal: journal, host: index), at: now)
  }
}
