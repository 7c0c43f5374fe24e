import DeviceEmulator
import NotibotHost
import NotibotProtocol

/// Events of users, plugs and power.
extension SimulatedWorld {
  /// Performs an event of the scenario.
  func perform(_ event: Scenario.Event) throws(Violation) {
    switch event {
    case .add(let content, let host):
      try submit(event, to: host) { world in
        let token = world.ledger.add(content: content, host: host)
        return (token, .add(world.scenario.contents[content]))
      }
    case .again(let pick):
      let made = ledger.submissions.map { $0.versions[0].content }.filter(scenario.keyed.contains)
      guard !made.isEmpty else { return }
      try perform(.retry(content: made[Int(pick % UInt64(made.count))]))
    case .retry(let content):
      guard let index = ledger.submissionOfContent[content] else { return }
      try submit(event, to: ledger.submissions[index].host) { world in
        (world.ledger.again(index), .add(world.scenario.contents[content]))
      }
    case .update(let content, let pick):
      guard let index = pickLiving(pick) else { return }
      try submit(event, to: turn) { world in
        let token = world.ledger.update(index, content: content)
        return (token, .update(world.number(of: index), world.scenario.contents[content]))
      }
    case .remove(let pick):
      guard let index = pickLiving(pick) else { return }
      try submit(event, to: turn) { world in
        (world.ledger.remove(index), .remove(world.number(of: index)))
      }
    case .dismiss(let pick): press(pick) { .dismiss($0) }
    case .action(let pick): chooseAction(pick)
    case .reboot(let reason):
      trace.add(now, "device", "restarts: \(reason)")
      counts.reboots += 1
      _ = boards[0].wired.perform(.reboot(reason), now: now)
    case .unplug(let time, let place, let losesPower): unplug(for: time, place, losesPower: losesPower)
    case .hang(let time):
      trace.add(now, "device", "hangs for \(time)")
      _ = boards[0].wired.perform(.stall, now: now)
      after(time, .resume)
    case .endHost(let end, let pause): endTurn(end, pause: pause)
    case .fillDisk(let time):
      trace.add(now, "disk", "is full for \(time)")
      isDiskFull = true
      for host in hosts { host.journal.fill() }
      after(time, .makeRoom)
    case .interruptCommit, .interruptWrite: interruption = event
    }
  }

  // MARK: Submitters

  private func submit(
    _ event: Scenario.Event, to index: Int,
    _ make: (SimulatedWorld) -> (token: UInt64, submission: OutboxSubmission)
  ) throws(Violation) {
    guard let life = hosts[index].life, !life.isStopping, !life.isFinished else {
      hosts[index].waiting.append(event)
      return
    }
    let (token, submission) = make(self)
    let key: IdempotencyKey?
    switch event {
    case .add(let content, _), .retry(let content): key = scenario.key(of: content)
    case _: key = nil
    }
    counts.record(submission, isRepeated: ledger.isRepetition(token))
    trace.add(
      now, "user",
      "token \(token) to host \(index): \(describe(submission)), submission \(ledger.subject(of: token))")
    hosts[index].life?.machine.submit(submission, key: key, token: token, now: now)
  }

  private func pickLiving(_ pick: UInt64) -> Int? {
    let living = ledger.living(host: turn)
    return living.isEmpty ? nil : living[Int(pick % UInt64(living.count))]
  }

  /// The number of a submission that `living` returned.
  private func number(of index: Int) -> OutboxNumber {
    ledger.submissions[index].number ?? OutboxNumber(rawValue: 0)
  }

  // MARK: The user at the display

  private func press(_ pick: UInt64, _ command: (UInt32) -> DeviceCommand) {
    // Expired ones are hidden: nobody can press their buttons.
    let items = Array(boards[0].wired.device.store.items).filter { !$0.hasExpired }
    guard boards[0].hasPower, !items.isEmpty else { return }
    let order = command(UInt32(clamping: items[Int(pick % UInt64(items.count))].item))
    if boards[0].wired.perform(order, now: now) == .done {
      counts.presses += 1
      trace.add(now, "person", "\(order)")
    }
  }

  private func chooseAction(_ pick: UInt64) {
    let before = boards[0].wired.device.store
    press(pick) { item in
      if let shown = before.notification(Int(item)),
        let content = try? display.content(
          of: DisplayedNotification(key: shown.identity?.key, json: shown.json), at: now),
        let submission = ledger.submissionOfContent[content]
      {
        ledger.presses.press(submission, content: content)
      }
      return .action(item, 1)
    }
  }

  /// In the calm phase the user dismisses the oldest notification now and then if the display is
  /// full; otherwise queued notifications would wait forever.
  func tidyUp() {
    let store = boards[0].wired.device.store
    if store.items.count >= store.capacity, isUnsettled {
      press(0) { .dismiss($0) }
    }
    after(.milliseconds(400), .calmUser)
  }

  // MARK: The plug

  private func unplug(for time: Duration, _ place: Scenario.Return, losesPower: Bool) {
    guard boards[0].path != nil else { return }
    trace.add(
      now, "plug", "is out for \(time), comes back at \(place.rawValue)\(losesPower ? ", no power" : "")")
    counts.unplugs += 1
    let path = boards[0].path
    boards[0].path = nil
    boards[0].hasPower = !losesPower
    if place == .strangerTookPath, boards[1].path == nil, isBoardKnown {
      hasStranger = true
      boards[1].path = path
    }
    after(time, .replug(place, wasPowered: !losesPower))
  }

  /// Whether the running host has had a session with our board in this life, so that another board
  /// does not mislead it.
  private var isBoardKnown: Bool { hosts.allSatisfy { $0.life?.hasSeenBoard ?? false || $0.life == nil } }

  func replug(_ place: Scenario.Return, wasPowered: Bool) {
    guard boards[0].path == nil else { return }
    let taken = boards[1].path
    let wanted =
      switch place {
      case .samePath: Self.usualPath
      case .otherPath, .strangerTookPath: Self.otherPaths[Int.random(in: 0...1, using: &random)]
      }
    let path = wanted != taken ? wanted : Self.otherPaths[2]
    boards[0].hasPower = true
    if !wasPowered { _ = boards[0].wired.perform(.reboot(.powerOn), now: now) }
    boards[0].path = path
  }

  // MARK: Hosts

  private func endTurn(_ end: Scenario.HostEnd, pause: Duration) {
    let index = turn
    guard let life = hosts[index].life, !life.isStopping else { return }
    turn = (turn + 1) % hosts.count
    pauseAfterStop = pause
    switch end {
    case .stop: stopHost(index)
    case .kill, .powerLoss: endHost(index, end, pause: pause)
    }
  }

  func makeRoom() {
    isDiskFull = false
    for host in hosts { host.journal.makeRoom() }
  }

  /// Loses, restores or copies the journal of a host that is about to begin, if it is time for
  /// that.
  func exchangeJournal(of index: Int) throws(Violation) {
    let plan = scenario.journalEvent
    guard !hasExchanged else { return }
    do {
      switch scenario.variant {
      case .single, .twoHosts: return
      case .lostJournal:
        guard hosts[0].livesCount >= plan.usedBeforeLife else { return }
        hosts[0].journal.delete()
        ledger.journalChanged(host: 0, origin: 0, lastNumber: OutboxNumber(rawValue: 0))
      case .restoredJournal:
        guard hosts[0].livesCount >= plan.usedBeforeLife,
          let copy = hosts[0].snapshots[plan.copiedBeforeLife]
        else { return }
        try hosts[0].journal.replace(by: copy)
        ledger.journalChanged(host: 0, origin: 0, lastNumber: copy.header.lastNumber)
      case .copiedJournal:
        let newest = hosts[0].snapshots.keys.filter { $0 <= plan.copiedBeforeLife }.max()
        guard index == 1, let newest, let copy = hosts[0].snapshots[newest] else { return }
        try hosts[1].journal.replace(by: copy)
        ledger.journalChanged(host: 1, origin: 0, lastNumber: copy.header.lastNumber)
      }
    } catch {
      throw Violation(.journalOpens, "a copy: \(error)", at: now)
    }
    hasExchanged = true
    trace.add(now, "disk", "\(scenario.variant.rawValue): host \(index)")
  }
}
