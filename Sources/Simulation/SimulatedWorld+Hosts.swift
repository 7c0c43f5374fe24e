import Conformance
import DeviceEmulator
import NotibotHost
import NotibotProtocol
import SuiteWire

/// The hosts: lives, ports, commits, reports.
extension SimulatedWorld {
  // MARK: Lives

  /// A host begins with the contents of its journal.
  func startHost(_ index: Int) throws(Violation) {
    guard turn == index, hosts[index].life == nil else { return }
    try exchangeJournal(of: index)
    let contents: JournalContents
    do {
      contents = try hosts[index].journal.open()
    } catch {
      hosts[index].journal.kill()
      guard isDiskFull || isCutOff else { throw Violation(.journalOpens, "host \(index): \(error)", at: now) }
      trace.add(now, "host\(index)", "cannot open its journal: \(error)")
      if isCutOff { losePower(of: index) }
      return after(.milliseconds(300), .startHost(index))
    }
    remember(contents, of: index)
    trace.add(now, "host\(index)", "begins with \(describe(contents))")
    livesCount += 1
    hosts[index].livesCount += 1
    counts.lives += 1
    hosts[index].life = SimulatedHost.Life(
      number: livesCount,
      machine: ForwardingMachine(
        configuration: configuration(), journal: mutated(contents), seed: random.next()))
    setClock(of: index)
    hosts[index].life?.machine.start(now: now)
    let waiting = hosts[index].waiting
    hosts[index].waiting = []
    for event in waiting { try perform(event) }
  }

  private func configuration() -> ForwardingConfiguration {
    var configuration = ForwardingConfiguration()
    configuration.outbox.entriesLimit = scenario.entriesLimit
    if let rate = boards[0].wired.wire.bitsPerSecond { configuration.host.lineBitsPerSecond = Int(rate) }
    // A host that knows of a second board specifies which one to use.
    if hasStranger { configuration.supervisor.expectedDeviceID = "24:6F:28:AA:BB:CC" }
    return configuration
  }

  private func remember(_ contents: JournalContents, of index: Int) {
    guard hosts[index].snapshots.count < SimulatedHost.snapshotsLimit else { return }
    hosts[index].snapshots[hosts[index].livesCount] = contents
  }

  /// Ends a host's life, for any reason; the next one begins after the pause.
  func endHost(_ index: Int, _ end: Scenario.HostEnd, pause: Duration) {
    guard hosts[index].life != nil else { return }
    trace.add(now, "host\(index)", "ends: \(end.rawValue)")
    closePort(of: index)
    countResends(of: index)
    hosts[index].life = nil
    switch end {
    case .stop: hosts[index].journal.close()
    case .kill:
      counts.kills += 1
      hosts[index].journal.kill()
    case .powerLoss:
      counts.powerLosses += 1
      losePower(of: index)
    }
    // A commit that would have reached the disk at its end never does.
    for submission in ledger.hostEnded(index) {
      let content = ledger.submissions[submission].versions[0].content
      if scenario.keyed.contains(content) { hosts[index].waiting.append(.retry(content: content)) }
    }
    after(pause, .startHost(turn))
  }

  /// Adds the retransmissions of a host's life; once, at its end.
  func countResends(of index: Int) {
    counts.resends += hosts[index].life?.machine.statistics.host.link.resent ?? 0
  }

  private func losePower(of index: Int) {
    hosts[index].journal.losePower()
    if isDiskFull { hosts[index].journal.fill() }
    isCutOff = false
  }

  /// Begins an orderly end.
  func stopHost(_ index: Int) {
    guard var life = hosts[index].life, !life.isStopping else { return }
    trace.add(now, "host\(index)", "is asked to stop")
    life.isStopping = true
    life.machine.stop(now: now)
    hosts[index].life = life
    after(Self.stopLimit, .stopEnds(life: life.number))
  }

  // MARK: Requests of a machine

  /// Performs the next action of a host's machine; returns false if there is none.
  func drainActions(of index: Int) throws(Violation) -> Bool {
    var hasMoved = false
    while let action = hosts[index].life?.machine.nextAction() {
      hasMoved = true
      switch action {
      case .findPorts: findPorts(for: index)
      case .open(let path): askForPort(path, host: index)
      case .close: closePort(of: index)
      case .write(let bytes): write(bytes, of: index)
      case .commit(let changes):
        try checkSending(changes, of: index)
        beginCommit(changes, of: index)
      case .report(let report): try receive(report, of: index)
      case .connection(let change):
        trace.add(now, "host\(index)", "connection: \(change.state) because \(change.reason)")
        if case .up = change.state {
          counts.sessions += 1
          hosts[index].life?.hasSeenBoard = true
        }
      case .text: break
      case .finished: finish(index)
      }
    }
    try checkLimits(of: index)
    return hasMoved
  }

  private func finish(_ index: Int) {
    trace.add(now, "host\(index)", "is done")
    hosts[index].life?.isFinished = true
    guard let life = hosts[index].life, life.isStopping else { return }
    endHost(index, .stop, pause: pauseAfterStop)
  }

  // MARK: Ports

  private func findPorts(for index: Int) {
    let there = boards.filter(\.isThere).compactMap(\.path).sorted()
    let paths = [Self.usualPath] + there.filter { $0 != Self.usualPath }
    hosts[index].life?.machine.portsFound(paths, now: now)
  }

  private func askForPort(_ path: String, host index: Int) {
    guard let life = hosts[index].life, let attempt = hosts[index].life?.port.begin() else { return }
    let usual = Duration.microseconds(Int.random(in: 50...5000, using: &random))
    let opens = Timer.portOpens(life: life.number, attempt: attempt, path: path)
    let fails = Timer.portFails(life: life.number, attempt: attempt)
    let isUsual = isCalm || Double.random(in: 0..<1, using: &openings) >= scenario.openingTrouble
    guard !isUsual, let trouble = Scenario.Opening.allCases.randomElement(using: &openings) else {
      return after(usual, opens)
    }
    let time = Duration.milliseconds(Int.random(in: 10...20_000, using: &openings))
    trace.add(now, "host\(index)", "its port \(trouble.rawValue) (\(time))")
    counts.badOpenings += 1
    switch trouble {
    case .slow: after(time, opens)
    case .late: after(time, fails)
    case .never: break
    case .ends:
      after(usual, .portEnds(life: life.number, attempt: attempt))
      after(time, fails)
    case .onlyEnds: after(usual, .portEnds(life: life.number, attempt: attempt))
    }
  }

  private func host(ofLife number: Int) -> Int? { hosts.firstIndex { $0.life?.number == number } }

  func failPort(_ attempt: Int, ofLife number: Int, reason: String = "no answer") {
    guard let index = host(ofLife: number), hosts[index].life?.port.fail(attempt) == true else { return }
    let failure = PortFailure(code: .noBoard, port: "port", reason: reason, healsByWaiting: true)
    hosts[index].life?.machine.openFailed(failure, now: now)
  }

  /// As the forwarder's driver does at the end of a channel.
  func endPort(_ attempt: Int, ofLife number: Int) {
    guard let index = host(ofLife: number), hosts[index].life?.port.end(attempt) == true else { return }
    hosts[index].life?.machine.receiveEndOfStream(now: now)
  }

  func openPort(_ path: String, _ attempt: Int, ofLife number: Int) {
    guard let board = boards.firstIndex(where: { $0.isThere && $0.path == path }) else {
      return failPort(attempt, ofLife: number, reason: "no such file or directory")
    }
    guard let index = host(ofLife: number),
      hosts[index].life?.port.attach(board, attempt) == true
    else { return }
    hosts[index].life?.isWritable = true
    boards[board].wired.noticeHost(isPresent: true, now: now)
    tap = WorldTap(isOn: trace.isOn)
    setClock(of: index)
    hosts[index].life?.machine.portOpened(now: now)
  }

  private func closePort(of index: Int) {
    guard let board = hosts[index].life?.port.close() else { return }
    boards[board].wired.noticeHost(isPresent: false, now: now)
  }

  private func write(_ bytes: [UInt8], of index: Int) {
    guard let board = hosts[index].life?.port.port, boards[board].isThere else { return }
    counts.bytesToDevice += bytes.count
    traceFrames(bytes, from: .host, host: index)
    boards[board].wired.receive(bytes, now: now)
  }

  // MARK: Commits

  /// A queued notification that expired more than a second ago is not sent: commits take less.
  private func checkSending(_ changes: [JournalChange], of index: Int) throws(Violation) {
    guard scenario.hasClock else { return }
    for case .put(let entry) in changes {
      switch entry.state {
      case .queued, .refused: hosts[index].begun.remove(entry.number)
      case .held, .updating, .removing: break
      case .written:
        let isFirst = hosts[index].begun.insert(entry.number).inserted
        let content = scenario.content(ofTimestamp: entry.content.timestamp)
        guard isFirst, let content, scenario.isExpired(content, since: 2, at: now) else { continue }
        throw Violation(.expiredStaysAway, "number \(entry.number.rawValue) is sent", at: now)
      }
    }
  }

  private func beginCommit(_ changes: [JournalChange], of index: Int) {
    guard let life = hosts[index].life else { return }
    counts.commits += 1
    let isWrittenAtOnce = Bool.random(using: &random)
    let least = scenario.commitTime.lowerBound.wholeNanoseconds
    let time = Int64.random(in: least...scenario.commitTime.upperBound.wholeNanoseconds, using: &random)
    var commit = SimulatedHost.Commit(changes: changes, isWritten: false, hasFailed: false)
    trace.add(now, "host\(index)", "commits \(changes.map(describe).joined(separator: ", "))")
    if let interruption {
      switch interruption {
      case .interruptCommit(let syncs): hosts[index].journal.failAt(sync: syncs)
      case .interruptWrite(let writes): hosts[index].journal.failAt(write: writes)
      case _: break
      }
      isCutOff = true
      self.interruption = nil
    }
    if isWrittenAtOnce || isCutOff { writeCommit(&commit, of: index) }
    hosts[index].life?.commit = commit
    after(.nanoseconds(time), .commitEnds(life: life.number))
    if mutant == .earlyConfirmation, !commit.isWritten { hosts[index].life?.machine.committed(now: now) }
  }

  private func writeCommit(_ commit: inout SimulatedHost.Commit, of index: Int) {
    commit.isWritten = true
    if mutant == .forgetfulDisk, counts.commits % 5 == 0 { return }
    do {
      try hosts[index].journal.apply(commit.changes)
    } catch {
      trace.add(now, "host\(index)", "commit fails: \(error)")
      commit.hasFailed = true
      commit.hasSeenFullDisk = isDiskFull
    }
  }

  func endCommit(ofLife number: Int) throws(Violation) {
    guard let index = hosts.indices.first(where: { hosts[$0].life?.number == number }),
      var commit = hosts[index].life?.commit
    else { return }
    let wasConfirmed = mutant == .earlyConfirmation && !commit.isWritten
    if !commit.isWritten { writeCommit(&commit, of: index) }
    hosts[index].life?.commit = nil
    if isCutOff {
      // Whether or not the commit succeeded, the host no longer exists to be notified.
      return endHost(index, .powerLoss, pause: .milliseconds(Int.random(in: 1...500, using: &random)))
    }
    if commit.hasFailed {
      hosts[index].life?.machine.commitFailed(now: now)
      counts.failedCommits += 1
      // The program reports the problem and ends; it is started again.
      guard !commit.hasSeenFullDisk else { return stopHost(index) }
      throw Violation(.journalOpens, "a commit of host \(index) fails", at: now)
    }
    if !wasConfirmed { hosts[index].life?.machine.committed(now: now) }
  }

  // MARK: Reports

  private func receive(_ report: OutboxReport, of index: Int) throws(Violation) {
    trace.add(now, "host\(index)", "reports \(report)")
    counts.record(report)
    try reports.receive(report, host: index, ledger: &ledger, at: now)
    try mutate(after: report, host: index)
    try measure(report, of: index)
  }

  private func measure(_ report: OutboxReport, of index: Int) throws(Violation) {
    guard case .delivered(let number) = report,
      case .submission(let submission) = try ledger.subject(of: number, host: index, at: now),
      let shown = shownAt[submission]
    else { return }
    counts.slowestReport = max(counts.slowestReport, now - shown)
  }

  private func checkLimits(of index: Int) throws(Violation) {
    let held = hosts[index].life?.machine.entriesCount ?? 0
    guard held <= scenario.entriesLimit else {
      throw Violation(.queuesBounded, "host \(index) has \(held) entries", at: now)
    }
  }
}
