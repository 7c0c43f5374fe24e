import Conformance
package import NotibotHost
package import NotibotProtocol

/// An intentional fault of a host under test that cannot be injected by changing bytes on the line.
package enum HostFlaw: Sendable {
  /// It treats each commit as durable at once.
  case doesNotWaitForJournal
  /// Its journal does not record that a notification was written.
  case forgetsWrites
  /// Its journal does not record in which boot it agreed with the device, or wrote to it.
  case forgetsBoot
}

/// The forwarding machine under test, as a peer on a virtual line, with a journal and one port. It
/// writes bytes for the case, and all its other output is kept here.
package struct VirtualForwarder: VirtualPeer {
  package private(set) var machine: ForwardingMachine
  /// The durable contents.
  package private(set) var journal: JournalContents
  /// Whether a commit waits for `confirmCommit`.
  package var isJournalHeld = false
  /// Whether the port is there.
  package private(set) var isPlugged = true
  /// Changes that are not durable yet.
  package private(set) var pending: [JournalChange] = []
  package var reports: [OutboxReport] = []
  private let configuration: ForwardingConfiguration
  private let flaw: HostFlaw?
  private var token: UInt64 = 0

  package init(
    configuration: ForwardingConfiguration, journal: JournalContents, seed: UInt64, flaw: HostFlaw?
  ) {
    self.configuration = configuration
    self.journal = journal
    self.flaw = flaw
    machine = ForwardingMachine(configuration: configuration, journal: journal, seed: seed)
    machine.start(now: .zero)
  }

  // MARK: Actions of the case

  package mutating func submit(_ submission: OutboxSubmission, now: Instant) {
    token += 1
    machine.submit(submission, token: token, now: now)
  }

  /// Makes the pending commit durable, if there is one.
  package mutating func confirmCommit(now: Instant) {
    guard !pending.isEmpty else { return }
    for change in pending { apply(change) }
    pending = []
    if flaw != .doesNotWaitForJournal { machine.committed(now: now) }
  }

  /// The program is killed and restarts with the durable contents.
  package mutating func crash(seed: UInt64, now: Instant) {
    pending = []
    machine = ForwardingMachine(configuration: configuration, journal: journal, seed: seed)
    machine.start(now: now)
  }

  package mutating func unplug(now: Instant) {
    isPlugged = false
    machine.receiveEndOfStream(now: now)
  }

  package mutating func plug(now: Instant) {
    isPlugged = true
    machine.portsChanged(now: now)
  }

  // MARK: A peer

  package mutating func receive(_ bytes: [UInt8], now: Instant) { machine.receive(bytes.span, now: now) }

  package mutating func handleTimeout(now: Instant) { machine.handleTimeout(now: now) }

  package mutating func nextBytes(now: Instant) -> [UInt8]? {
    while let action = machine.nextAction() {
      switch action {
      case .findPorts: machine.portsFound(isPlugged ? ["rig"] : [], now: now)
      case .open: machine.portOpened(now: now)
      case .write(let bytes): return bytes
      case .commit(let changes):
        pending += changes
        if flaw == .doesNotWaitForJournal { machine.committed(now: now) }
        if !isJournalHeld { confirmCommit(now: now) }
      case .report(let report): reports.append(report)
      case .close, .connection, .text, .finished: break
      }
    }
    return nil
  }

  package var nextDeadline: Instant? { machine.nextDeadline }

  private mutating func apply(_ change: JournalChange) {
    switch change {
    case .header(var header):
      if flaw == .forgetsBoot {
        header.bootID = journal.header.bootID
        header.writtenBootID = journal.header.writtenBootID
      }
      journal.header = header
    case .put(var entry):
      if flaw == .forgetsWrites, case .written = entry.state { entry.state = .queued }
      journal.entries.removeAll { $0.number == entry.number }
      journal.entries.append(entry)
      journal.entries.sort { $0.number < $1.number }
    case .delete(let number): journal.entries.removeAll { $0.number == number }
    case .putKey(let record):
      journal.keys.removeAll { $0.row == record.row }
      journal.keys.append(record)
    case .deleteKey(let row): journal.keys.removeAll { $0.row == row }
    case .putPresses(let record):
      journal.presses.removeAll { $0.bootID == record.bootID }
      journal.presses.append(record)
    case .deletePresses(let bootID): journal.presses.removeAll { $0.bootID == bootID }
    }
  }
}
