import NotibotProtocol
import Testing

@testable import NotibotHost

/// Presses that the device keeps. The cases about the wire are in the conformance suite. Source:
/// PROTOCOL.md NTF-42.
struct OutboxPressTests {
  private func makeLive() -> OutboxWorld { OutboxWorld.makeLive("x", keepsActions: true) }

  private func press(_ number: UInt32, act: UInt8 = 1, id: UInt32 = 1, rev: UInt16 = 0) -> SyncMessage {
    .press(
      KeptPress(
        act: act, key: NotificationKey(source: OutboxWorld.source, id: id), revision: rev, number: number))
  }

  private func action(_ act: UInt32, rev: UInt16 = 0, isStale: Bool = false) -> OutboxReport {
    .action(OutboxNumber(rawValue: 1), act: act, revision: rev, isStale: isStale)
  }

  @Test func `a press is reported when it is durable, and then taken`() {
    var world = makeLive()
    world.machine.receive(press(3), now: world.now)
    world.drain()
    #expect(world.drainReports() == [])
    #expect(world.taken == [])
    world.writeJournal()
    #expect(world.drainReports() == [action(1)])
    #expect(world.taken == [3])
    #expect(world.journal.presses == [TakenPresses(bootID: world.display.bootID, press: 3)])
  }

  @Test func `a press is taken once, also if it is reported while its commit is in progress`() {
    var world = makeLive()
    for _ in 1...3 { world.machine.receive(press(3), now: world.now) }
    world.drain()
    #expect(world.taken == [])
    world.writeJournal()
    world.machine.receive(press(3), now: world.now)
    world.machine.receive(press(2), now: world.now)
    world.drain()
    #expect(world.drainReports() == [action(1)])
    #expect(world.taken == [3, 3, 2])
  }

  @Test func `the presses of a commit are known before it is durable`() {
    var world = makeLive()
    world.machine.receive(press(3, rev: 0), now: world.now)
    world.drain()
    let expected = TakenPress(
      bootID: world.display.bootID, press: 3, number: 1, action: 1, revision: 0, isStale: false)
    #expect(world.machine.journal.pressesInCommit.compactMap(TakenPress.init) == [expected])
    world.writeJournal()
    #expect(world.machine.journal.pressesInCommit == [])
  }

  @Test func `presses that come during a commit share the next one`() {
    var world = makeLive()
    for number in 1...5 as ClosedRange<UInt32> {
      world.machine.receive(press(number, act: UInt8(number)), now: world.now)
    }
    world.drain()
    world.writeJournal()
    #expect(world.drainReports() == [action(1)])
    #expect(world.taken == [1])
    world.writeJournal()
    #expect(world.drainReports() == [action(2), action(3), action(4), action(5)])
    #expect(world.taken == [1, 5])
  }

  @Test func `an update that is submitted during the commit makes the press stale`() {
    var world = makeLive()
    world.machine.receive(press(1), now: world.now)
    world.drain()
    world.submit(.update(OutboxNumber(rawValue: 1), OutboxWorld.notification("y")))
    world.writeJournal()
    #expect(world.drainReports().contains(action(1, isStale: true)))
    #expect(world.taken == [1])
  }

  @Test func `a press of a notification that the outbox does not have is taken, and not reported`() {
    var world = makeLive()
    world.machine.receive(press(1, id: 77), now: world.now)
    world.drain()
    world.writeJournal()
    #expect(world.drainReports() == [])
    #expect(world.taken == [1])
  }

  @Test func `the session's end recalls TAKEN, and the next session sends it after SYNCED`() {
    var world = makeLive()
    world.machine.receive(press(1), now: world.now)
    world.drain()
    world.disconnect()
    world.writeJournal()
    #expect(world.drainReports() == [action(1)])
    #expect(world.taken == [])
    world.connect()
    world.machine.receive(press(1), now: world.now)
    world.drain()
    #expect(world.taken == [])
    world.run()
    #expect(world.taken == [1])
    #expect(!world.drainReports().contains(action(1)))
  }

  @Test func `a journal remembers 16 boots`() {
    var records = PressRecords((1...16).map { TakenPresses(bootID: $0, press: 9) })
    #expect(records.highest(in: 1) == 9)
    #expect(records.highest(in: 17) == 0)
    // The use of a boot makes it the latest one.
    #expect(records.record(10, in: 1) == [.putPresses(TakenPresses(bootID: 1, press: 10))])
    #expect(
      records.record(1, in: 17) == [.deletePresses(2), .putPresses(TakenPresses(bootID: 17, press: 1))])
    #expect(records.highest(in: 1) == 10)
    #expect(records.highest(in: 2) == 0)
  }

  @Test func `a failed commit takes nothing`() {
    var world = makeLive()
    world.machine.receive(press(1), now: world.now)
    world.drain()
    world.machine.commitFailed(now: world.now)
    world.drain()
    #expect(world.drainReports() == [])
    #expect(world.taken == [])
  }

  @Test func `a press below one that waits is not taken before the next SYNC`() {
    var world = OutboxWorld.makeLive("x", keepsActions: true)
    world.disconnect()
    world.connect()
    world.machine.receive(press(2, act: 2), now: world.now)
    world.machine.receive(press(1, act: 1), now: world.now)
    world.drain()
    world.run()
    #expect(world.drainReports().filter { $0 != .synced(rounds: 0) } == [action(2)])
  }

  @Test func `a press of a text that is about to be replaced is stale`() {
    var world = makeLive()
    world.submit(.update(OutboxNumber(rawValue: 1), OutboxWorld.notification("y")))
    world.machine.receive(press(1), now: world.now)
    world.run()
    #expect(world.drainReports().contains(action(1, isStale: true)))
  }

  @Test(arguments: [(UInt16(0), false), (1, true)])
  func `a press of another revision than the newest one is stale`(revision: UInt16, isStale: Bool) {
    var world = makeLive()
    world.machine.receive(press(1, rev: revision), now: world.now)
    world.drain()
    world.writeJournal()
    #expect(world.drainReports() == [action(1, rev: revision, isStale: isStale)])
  }

  @Test func `a press of a notification that is about to be removed is stale`() {
    var world = makeLive()
    world.submit(.remove(OutboxNumber(rawValue: 1)))
    world.machine.receive(press(1), now: world.now)
    world.drain()
    while world.commit != nil { world.writeJournal() }
    #expect(world.drainReports().contains(action(1, isStale: true)))
  }

  @Test func `a press is not stale because its notification has left the display since`() {
    var world = makeLive()
    world.machine.receive(press(1), now: world.now)
    world.drain()
    world.dismiss(1)
    world.run()
    #expect(world.drainReports().contains(action(1)))
  }

  @Test func `4096 presses wait for SYNCED, and one beyond them hides those that follow`() {
    var world = OutboxWorld.makeLive("x", keepsActions: true)
    world.disconnect()
    world.connect()
    let limit = UInt32(OutboxSession.waitingPressesLimit)
    for number in 1...limit + 2 { world.machine.receive(press(number), now: world.now) }
    #expect(world.machine.session?.waitingPresses.count == OutboxSession.waitingPressesLimit)
    #expect(world.machine.session?.waitingPresses.last?.press.number == limit)
    #expect(world.machine.session?.receivedPress == .max)
  }

  @Test func `a press is stale while the store has no room for the newer text`() {
    var world = makeLive()
    world.display.nextError = .insufficientResources
    world.submit(.update(OutboxNumber(rawValue: 1), OutboxWorld.notification("y")))
    world.run()
    _ = world.drainReports()
    world.machine.receive(press(1), now: world.now)
    world.drain()
    world.run()
    #expect(world.drainReports() == [action(1, isStale: true)])
  }

  // MARK: A boot id that repeats

  @Test(arguments: [false, true])
  func `the presses of a new boot are taken, although its id was there before`(isHostNew: Bool) {
    var world = makeLive()
    world.machine.receive(press(1), now: world.now)
    world.drain()
    world.writeJournal()
    world.disconnect()
    let bootID = world.display.bootID
    world.display.restart()
    world.display.bootID = bootID
    if isHostNew { world.crash(seed: 2) }
    world.connect()
    // It comes before SYNCED shows the restart.
    world.machine.receive(press(1, act: 0), now: world.now)
    world.drain()
    world.run()
    #expect(world.drainReports().contains(action(0)))
    #expect(world.taken.last == 1)
    #expect(world.journal.presses == [TakenPresses(bootID: bootID, press: 1)])
  }

  @Test func `nothing is written before the presses of the former boot are durably forgotten`() {
    var world = makeLive()
    world.machine.receive(press(5), now: world.now)
    world.drain()
    world.writeJournal()
    world.disconnect()
    let bootID = world.display.bootID
    world.display.restart()
    world.display.bootID = bootID
    world.connect()
    let before = world.written.count
    while !world.toDevice.isEmpty || !world.toHost.isEmpty {
      world.carryToDevice()
      world.carryToHost()
    }
    #expect(world.written.count == before)
    world.writeJournal()
    #expect(world.journal.presses == [])
    #expect(world.written.count > before)
  }

  @Test func `a counted boot is a new one, although its notifications are still there`() {
    var world = OutboxWorld.makeLive("x", keepsActions: true)
    world.disconnect()
    world.display.bootCount = 7
    world.connect()
    world.run()
    world.machine.receive(press(1), now: world.now)
    world.drain()
    world.run()
    #expect(world.drainReports().contains(action(1)))
    world.disconnect()
    world.display.bootCount = 8
    world.connect()
    world.run()
    _ = world.drainReports()
    world.machine.receive(press(1, act: 0), now: world.now)
    world.drain()
    world.run()
    #expect(world.drainReports().contains(action(0)))
  }

  @Test func `a device whose uptime goes on has not restarted`() {
    var (first, second) = (ModelDisplay().info, ModelDisplay().info)
    (first.uptimeMs, second.uptimeMs) = (5000, 9000)
    #expect(!second.hasRestarted(since: first))
    #expect(first.hasRestarted(since: second))
    second.bootID += 1
    #expect(!first.hasRestarted(since: second))
  }
}
