import NotibotProtocol
import Testing

@testable import NotibotHost

/// The fate of pending actions when the session ends.
struct OutboxSessionEndTests {
  private static let notification = DisplayNotification(app: "Mail", title: "a", text: "b", timestamp: 1)

  /// An outbox in a synchronised session, with one pending write.
  private static func makeWithWriteReady(features: Features) -> OutboxMachine {
    let journal = JournalContents(header: JournalHeader(source: 7))
    var machine = OutboxMachine(options: OutboxOptions(), journal: journal, seed: 1)
    let info = DeviceInfo(SynAck(nonce: 1, bootID: 9), mtu: 517, features: features)
    machine.sessionOpened(info, now: .zero)
    machine.subscribed(.accepted, now: .zero)
    machine.receive(
      .synced(SyncAnswer(source: 7, holdings: Holdings(), highestID: 0, capacity: 64, bootID: 9)), now: .zero)
    machine.submit(.add(notification), token: 1, now: .zero)
    // The agreement's commit, if there is one, then that of the submission; the write that follows
    // stays where it is.
    while writes(of: machine) == 0, let action = machine.nextAction() {
      if case .commit = action { machine.committed(now: .zero) }
    }
    return machine
  }

  private static func writes(of machine: OutboxMachine) -> Int {
    var machine = machine
    var count = 0
    while let action = machine.nextAction() {
      if case .write = action { count += 1 }
    }
    return count
  }

  @Test(arguments: [[.optionalKeys, .sync], []] as [Features])
  func `a pending write is not made in the next session before its SYNC`(features: Features) {
    var machine = Self.makeWithWriteReady(features: features)
    #expect(Self.writes(of: machine) == 1)
    machine.sessionEnded(now: .zero)
    #expect(Self.writes(of: machine) == 0)
  }

  @Test func `a pending plain write was not made, and is queued again`() throws {
    var machine = Self.makeWithWriteReady(features: [])
    machine.sessionEnded(now: .zero)
    let entry = try #require(machine.entry(OutboxNumber(rawValue: 1)))
    #expect(entry.state == .queued)
  }

  @Test func `after a conflict the outbox waits for the writes in flight before it looks for another writer`()
  {
    var world = OutboxWorld.makeLive("a")
    for text in ["b", "c"] { world.submit(.add(OutboxWorld.notification(text))) }
    while world.commit != nil { world.writeJournal() }
    guard case .write(let tag, _)? = world.toDevice.first else {
      Issue.record("no write in flight")
      return
    }
    world.machine.writeCompleted(tag: tag, .refused(.conflict), now: world.now)
    world.drain()
    #expect(world.toDevice.count == 2)
    #expect(world.machine.session?.stage == .draining(then: .leaving))
  }

  @Test func `the request of a session that has ended is not made, its commit is`() {
    let journal = JournalContents(header: JournalHeader(source: 7))
    var machine = OutboxMachine(options: OutboxOptions(), journal: journal, seed: 1)
    machine.submit(.add(Self.notification), token: 1, now: .zero)
    let features: Features = [.optionalKeys, .sync]
    machine.sessionOpened(DeviceInfo(SynAck(nonce: 1, bootID: 9), mtu: 517, features: features), now: .zero)
    machine.sessionEnded(now: .zero)
    var commits = 0
    while let action = machine.nextAction() {
      if case .commit = action { commits += 1 } else { Issue.record("unexpected: \(action)") }
    }
    #expect(commits == 1)
  }
}
