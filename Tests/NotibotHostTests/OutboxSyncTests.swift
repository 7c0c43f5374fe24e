import NotibotProtocol
import Testing

@testable import NotibotHost

/// How an outbox and a display reach agreement. Source: PROTOCOL.md NTF-26, NTF-30 to NTF-36.
struct OutboxSyncTests {
  private static func number(_ number: Int64) -> OutboxNumber { OutboxWorld.number(number) }
  private static func notification(_ text: String) -> DisplayNotification { OutboxWorld.notification(text) }
  private static func removal(_ id: Int) -> String {
    #"{"app":"","title":"","text":"","timestamp":0,"id":\#(id),"ev":"r"}"#
  }
  private static func ids(_ written: [String]) -> [String] {
    written.map { json in
      json.split(separator: #""id":"#).last.map { String($0.prefix { $0.isNumber }) } ?? ""
    }
  }

  @Test func `a session subscribes, sends SYNC, and writes nothing before SYNCED`() {
    var world = OutboxWorld()
    world.submit(.add(Self.notification("a")))
    world.writeJournal()
    world.connect()
    #expect(world.toDevice == [.subscribe])
    world.carryToDevice()
    world.carryToHost()
    let request = SyncRequest(source: OutboxWorld.source, knownID: 0, holdings: Holdings())
    #expect(world.toDevice == [.sync(request)])
    world.submit(.add(Self.notification("b")))
    world.writeJournal()
    #expect(world.written.isEmpty)
    world.run()
    #expect(world.drainReports().contains(.synced(rounds: 0)))
    #expect(Self.ids(world.drainWritten()) == ["1", "2"])
  }

  @Test func `when both agree nothing is written again`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.disconnect()
    world.connect()
    world.run()
    #expect(world.synced.last?.knownID == 2)
    #expect(world.synced.last?.holdings.count == 2)
    #expect(world.drainWritten().isEmpty)
    #expect(world.drainReports() == [.synced(rounds: 0)])
  }

  @Test func `unanswered writes are repeated byte for byte before anything new`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.submit(.add(Self.notification("c")))
    world.writeJournal()
    world.carryToDevice()
    world.disconnect()
    world.submit(.add(Self.notification("d")))
    let first = world.drainWritten()
    world.connect()
    world.run()
    #expect(world.drainWritten().first == first.first)
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b", "c", "d"])
    #expect(world.drainReports().filter { $0 == .delivered(Self.number(3)) }.count == 1)
  }

  @Test
  func `after a restart of the device all is rewritten in ascending order, and none is reported twice`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.display.restart()
    world.connect()
    world.run()
    #expect(Self.ids(world.drainWritten()) == ["1", "2", "3"])
    #expect(world.drainReports() == [.synced(rounds: 1)])
    #expect(world.display.shown.count == 3)
  }

  @Test func `a device that lost only some gets all in ascending order, since lower ids would count as gone`()
  {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.submit(.add(Self.notification("d")))
    world.writeJournal()
    world.disconnect()
    world.display.restart()
    world.connect()
    // SYNC and the first two writes reach it, then the session is lost.
    while world.display.sources[OutboxWorld.source]?.highestID != 2 {
      world.writeJournal()
      if world.toHost.isEmpty { world.carryToDevice() } else { world.carryToHost() }
    }
    world.disconnect()
    _ = world.drainWritten()
    world.connect()
    world.run()
    #expect(Self.ids(world.drainWritten()) == ["1", "2", "3", "4"])
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b", "c", "d"])
    #expect(!world.reports.contains { if case .gone = $0 { true } else { false } })
  }

  @Test func `only as many are rewritten as the device has room for, and the others wait`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.display.restart()
    world.display.capacity = 2
    world.connect()
    world.run()
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b"])
    #expect(world.machine.entry(Self.number(3))?.state == .queued)
    world.dismiss(1)
    world.run()
    #expect(world.display.shown.map(\.text).sorted() == ["b", "c"])
    #expect(!world.reports.contains(.delivered(Self.number(3))))
  }

  @Test func `a device that never agrees is reported after two rounds, and gets new entries`() {
    var world = OutboxWorld.makeLive("a")
    // A notification that it counts without a write.
    let ghost = ModelDisplay.Item(notification: Self.notification("ghost"), revision: 0, crc: 7)
    world.display.sources[OutboxWorld.source]?.items[99] = ghost
    world.disconnect()
    world.connect()
    for _ in 0..<200 where world.machine.isLive == false {
      if world.commit != nil { world.writeJournal() }
      if world.toHost.isEmpty { world.carryToDevice() } else { world.carryToHost() }
    }
    #expect(world.drainReports().last == .diverged)
    #expect(world.synced.count == 3)
    world.submit(.add(Self.notification("b")))
    world.run()
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b", "ghost"])
  }

  @Test func `RESYNC leads to a SYNC when no write is in flight, at most one per second`() {
    var world = OutboxWorld.makeLive("a")
    world.machine.receive(.resync, now: world.now)
    world.drain()
    #expect(world.toDevice.isEmpty)
    #expect(world.machine.nextDeadline == world.now + .seconds(1))
    world.submit(.add(Self.notification("b")))
    world.writeJournal()
    world.pass(.seconds(1))
    #expect(world.synced.isEmpty)
    world.run()
    #expect(world.synced.count == 1)
    #expect(world.drainReports().last == .synced(rounds: 0))
  }

  // MARK: Gone

  @Test func `a gone notification is removed from the journal, reported, and then confirmed`() {
    var world = OutboxWorld.makeLive("a")
    world.dismiss(1)
    world.carryToHost()
    #expect(world.written.isEmpty)
    #expect(world.reports.isEmpty)
    world.writeJournal()
    #expect(world.drainReports() == [.gone(Self.number(1), .dismissed)])
    #expect(world.drainWritten() == [Self.removal(1)])
    world.run()
    #expect(world.display.sources[OutboxWorld.source]?.gone == [:])
    #expect(world.journal.entries.isEmpty)
  }

  @Test func `a notification reported as gone twice is confirmed once`() {
    var world = OutboxWorld.makeLive("a")
    world.dismiss(1)
    world.toHost += world.toHost
    world.carryToHost()
    world.carryToHost()
    world.carryToHost()
    world.run()
    #expect(world.drainWritten() == [Self.removal(1)])
    #expect(world.drainReports().count == 1)
  }

  @Test func `a gone notification without an entry is confirmed at once, unless its id was never assigned`() {
    var world = OutboxWorld.makeLive("a")
    for (id, source) in [(9, OutboxWorld.source), (1, 77), (0, OutboxWorld.source)] as [(UInt32, UInt32)] {
      world.machine.receive(.gone(.dismissed, NotificationKey(source: source, id: id)), now: world.now)
    }
    world.drain()
    #expect(world.written.isEmpty)
    world.journal.entries = []
    world.crash(seed: 2)
    world.dismiss(1)
    world.connect()
    world.run()
    #expect(world.drainWritten() == [Self.removal(1)])
    #expect(world.drainReports() == [.synced(rounds: 0)])
  }

  @Test func `an expired one counts at the device until it is confirmed`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.disconnect()
    world.dismiss(1, .expired)
    world.connect()
    world.run()
    #expect(
      world.drainReports() == [.gone(Self.number(1), .expired), .synced(rounds: 0)])
    #expect(world.drainWritten() == [Self.removal(1)])
    #expect(world.display.sources[OutboxWorld.source]?.items.count == 1)
  }

  @Test func `a crash between the commit and the confirmation costs only one more round`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.dismiss(1, .expired)
    world.carryToHost()
    world.writeJournal()
    world.crash(seed: 4)
    _ = world.drainReports()
    _ = world.drainWritten()
    world.connect()
    world.run()
    #expect(world.drainWritten() == [Self.removal(1)])
    #expect(world.drainReports() == [.synced(rounds: 1)])
  }

  @Test func `gone with newer content is gone`() {
    var world = OutboxWorld.makeLive("a")
    world.disconnect()
    world.submit(.update(Self.number(1), Self.notification("b")))
    world.run()
    world.dismiss(1)
    world.connect()
    world.run()
    #expect(world.reports.contains(.gone(Self.number(1), .dismissed)))
    #expect(world.display.shown.isEmpty)
    #expect(world.machine.entriesCount == 0)
  }

  @Test func `gone during its removal is reported as removed`() {
    var world = OutboxWorld.makeLive("a")
    world.submit(.remove(Self.number(1)))
    world.dismiss(1)
    world.run()
    #expect(world.drainReports().last == .removed(Self.number(1)))
    #expect(world.drainWritten() == [Self.removal(1)])
  }

  @Test func `expired during its removal it counts until the removal`() {
    var world = OutboxWorld.makeLive("a")
    world.disconnect()
    world.connect()
    world.carryToDevice()
    world.carryToHost()
    world.submit(.remove(Self.number(1)))
    world.dismiss(1, .expired)
    world.run()
    #expect(world.drainReports().contains(.synced(rounds: 0)))
    #expect(world.display.sources[OutboxWorld.source]?.items.isEmpty == true)
  }

  @Test(arguments: [false, true])
  func `a notification refused with a full store but present is shown once`(isChange: Bool) {
    var world = OutboxWorld.makeLive()
    if isChange {
      world.submit(.add(Self.notification("a")))
      world.run()
      world.submit(.update(Self.number(1), Self.notification("b")))
    } else {
      world.submit(.add(Self.notification("b")))
    }
    world.writeJournal()
    world.carryToDevice()
    world.disconnect()
    world.submit(.update(Self.number(1), Self.notification("c")))
    world.display.nextError = .insufficientResources
    world.connect()
    world.run()
    world.pass(.seconds(5))
    world.run()
    #expect(world.display.shown.map(\.text) == ["c"])
    #expect(world.machine.header.source == OutboxWorld.source)
  }

  @Test func `unexpected messages are ignored`() {
    var world = OutboxWorld.makeLive("a")
    let before = world.machine
    let answer = SyncAnswer(
      source: OutboxWorld.source, holdings: Holdings(), highestID: 99, capacity: 1, bootID: 1)
    world.machine.receive(.synced(answer), now: world.now)
    world.machine.receive(.sync(SyncRequest(source: 1, knownID: 0, holdings: Holdings())), now: world.now)
    #expect(world.machine == before)
    world.disconnect()
    let offline = world.machine
    world.machine.receive(.resync, now: world.now)
    world.machine.receive(
      .gone(.dismissed, NotificationKey(source: OutboxWorld.source, id: 1)), now: world.now)
    world.machine.receive(.synced(answer), now: world.now)
    #expect(world.machine == offline)
  }

  @Test func `a device that lost one of the middle gets all in the first round`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.display.sources[OutboxWorld.source]?.items[2] = nil
    world.connect()
    world.run()
    #expect(world.drainReports().contains(.synced(rounds: 1)))
    #expect(Self.ids(world.drainWritten()).prefix(3) == ["1", "2", "3"])
  }

  @Test func `a device that announces no capacity gets everything again`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.display.restart()
    world.connect()
    world.carryToDevice()
    world.carryToHost()
    let answer = SyncAnswer(
      source: OutboxWorld.source, holdings: Holdings(), highestID: 0, capacity: 0,
      bootID: world.display.bootID)
    world.toDevice = []
    world.display.source = OutboxWorld.source
    world.machine.receive(.synced(answer), now: world.now)
    world.drain()
    world.run()
    #expect(Self.ids(world.drainWritten()) == ["1", "2", "3"])
  }

  @Test func `entries without room keep their ids if the device knows them, as its highest too`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.connect()
    world.carryToDevice()
    world.carryToHost()
    let answer = SyncAnswer(
      source: OutboxWorld.source, holdings: Holdings(), highestID: 3, capacity: 1,
      bootID: world.display.bootID)
    world.toDevice = []
    world.machine.receive(.synced(answer), now: world.now)
    world.drain()
    for number in Int64(2)...3 {
      #expect(world.machine.entry(Self.number(number))?.wireID == UInt32(number))
    }
  }

  @Test func `a SYNC that the device requested waits for the writes in flight`() {
    var world = OutboxWorld.makeLive("a")
    world.submit(.add(Self.notification("b")))
    world.writeJournal()
    world.machine.receive(.resync, now: world.now)
    world.pass(.seconds(2))
    #expect(world.synced.isEmpty)
    world.run()
    #expect(world.synced.count == 1)
  }

  @Test func `events before SYNCED in a boot that is not ours are put aside, also beyond the limit`() {
    var world = OutboxWorld.makeLive("a")
    world.disconnect()
    world.display.restart()
    world.connect()
    for id in 1...UInt32(OutboxSession.confirmationsLimit + 1) {
      let key = NotificationKey(source: OutboxWorld.source, id: id)
      guard let session = world.machine.session, world.machine.putAside(.dismissed, key, in: session) else {
        Issue.record("\(id) was not put aside")
        return
      }
    }
  }
}
