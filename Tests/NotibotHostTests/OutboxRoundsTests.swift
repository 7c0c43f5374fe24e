import NotibotProtocol
import Testing

@testable import NotibotHost

/// Which notifications are written again, in which round, until host and device agree. Source:
/// PROTOCOL.md NTF-34, NTF-35.
struct OutboxRoundsTests {
  private static func number(_ number: Int64) -> OutboxNumber { OutboxWorld.number(number) }

  private static func ids(_ written: [String]) -> [String] {
    written.map { json in
      json.split(separator: #""id":"#).last.map { String($0.prefix { $0.isNumber }) } ?? ""
    }
  }

  /// A world in which `texts` are on the display, and a session ended before the device received
  /// the writes of `unanswered`.
  private static func makeInterrupted(_ texts: [String], unanswered: [String]) -> OutboxWorld {
    var world = OutboxWorld()
    for text in texts { world.submit(.add(OutboxWorld.notification(text))) }
    world.connect()
    world.run()
    for text in unanswered { world.submit(.add(OutboxWorld.notification(text))) }
    while world.commit != nil { world.writeJournal() }
    world.disconnect()
    _ = world.drainReports()
    _ = world.drainWritten()
    world.synced = []
    return world
  }

  @Test func `writes that did not arrive are repeated, and nothing else`() {
    var world = Self.makeInterrupted(["a", "b"], unanswered: ["c", "d"])
    world.connect()
    world.run()
    #expect(Self.ids(world.drainWritten()) == ["3", "4"])
    #expect(world.drainReports().last == .synced(rounds: 1))
  }

  @Test func `the second round writes everything, in ascending order`() {
    var world = Self.makeInterrupted(["a", "b", "c"], unanswered: ["d"])
    world.display.sources[OutboxWorld.source]?.items[1] = nil
    world.connect()
    world.run()
    let ids = Self.ids(world.drainWritten())
    #expect(ids.first == "4")
    #expect(ids.dropFirst().prefix(4) == ["1", "2", "3", "4"])
    #expect(world.drainReports().contains(.synced(rounds: 2)))
  }

  @Test func `a device that knows no id gets only the writes that it has room for`() {
    var world = Self.makeInterrupted([], unanswered: ["a", "b", "c"])
    world.display.capacity = 2
    world.connect()
    world.run()
    #expect(Self.ids(world.drainWritten()).prefix(2) == ["1", "2"])
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b"])
    #expect(world.machine.entry(Self.number(3))?.state == .queued)
  }

  @Test func `a device that knows no id gets the highest level of what was not answered`() {
    var world = OutboxWorld()
    world.connect()
    world.run()
    for level in [NotificationDetails.Level.passive, .critical] {
      world.submit(.add(OutboxWorld.notification("\(level)", level: level)))
    }
    while world.commit != nil { world.writeJournal() }
    world.disconnect()
    world.display.capacity = 1
    world.connect()
    world.run()
    #expect(world.display.shown.map(\.text) == ["critical"])
  }

  @Test func `of those without certain room, the highest level is written, then the oldest`() {
    var world = OutboxWorld()
    let levels: [NotificationDetails.Level] = [.passive, .critical, .active, .critical, .active]
    for (index, level) in levels.enumerated() {
      world.submit(.add(OutboxWorld.notification("\(index)", level: level)))
    }
    world.connect()
    world.run()
    world.disconnect()
    world.display.restart()
    world.display.capacity = 3
    world.connect()
    world.run()
    #expect(world.display.shown.map(\.text).sorted() == ["1", "2", "3"])
  }

  @Test func `a device that always has an id of another is given three sources, and then nothing`() {
    var world = OutboxWorld.makeLive()
    world.disconnect()
    world.connect()
    world.submit(.add(OutboxWorld.notification("x")))
    for _ in 0..<400 {
      world.display.sources[world.machine.header.source, default: .init()].highestID = 100
      world.run(steps: 1)
    }
    #expect(world.machine.session?.stage == .distrusted)
    #expect(world.machine.session?.renewals == 3)
  }

  @Test func `the highest id that was assigned is ours, the next one is another's`() {
    for (highestID, sources) in [(UInt32(2), 0), (3, 1)] {
      var world = OutboxWorld.makeLive("a", "b")
      world.disconnect()
      world.display.sources[OutboxWorld.source]?.highestID = highestID
      world.connect()
      world.run()
      let renewals = world.drainReports().count { if case .newSource = $0 { true } else { false } }
      #expect(renewals == sources, "\(highestID)")
    }
  }

  @Test func `the event of the highest id that was assigned is ours, that of the next one is not`() {
    var world = OutboxWorld.makeLive("a", "b")
    for id in [UInt32(3), 2] {
      let key = NotificationKey(source: OutboxWorld.source, id: id)
      world.machine.receive(.gone(.dismissed, key), now: world.now)
    }
    world.drain()
    #expect(world.machine.session?.confirming == [2])
  }

  @Test func `confirmations are queued up to their limit`() {
    var world = OutboxWorld.makeLive("a")
    world.machine.header.lastID = UInt32(OutboxSession.confirmationsLimit) + 10
    world.disconnect()
    world.connect()
    for id in 2...UInt32(OutboxSession.confirmationsLimit) + 10 {
      let key = NotificationKey(source: OutboxWorld.source, id: id)
      world.machine.receive(.gone(.dismissed, key), now: world.now)
    }
    #expect(world.machine.session?.confirmations.count == OutboxSession.confirmationsLimit)
  }

  @Test func `a requested SYNC is sent when its time has come, and also when that is noticed late`() {
    for late in [Duration.zero, .seconds(3)] {
      var world = OutboxWorld.makeLive("a")
      world.machine.receive(.resync, now: world.now)
      world.pass(.milliseconds(999))
      #expect(world.synced.isEmpty)
      world.pass(.milliseconds(1) + late)
      #expect(world.synced.count == 1)
    }
  }

  @Test func `a SYNC that was sent is not sent again`() {
    var world = OutboxWorld.makeLive("a")
    world.machine.receive(.resync, now: world.now)
    world.pass(.seconds(1))
    world.run()
    world.pass(.seconds(5))
    world.run()
    #expect(world.synced.count == 1)
    #expect(world.machine.nextDeadline == nil)
  }

  @Test func `an entry without room keeps its id if the device knows a higher one`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.connect()
    world.carryToDevice()
    world.carryToHost()
    let answer = SyncAnswer(
      source: OutboxWorld.source, holdings: Holdings(), highestID: 2, capacity: 1,
      bootID: world.display.bootID)
    world.toDevice = []
    world.machine.receive(.synced(answer), now: world.now)
    world.drain()
    #expect((1...3).map { world.machine.entry(Self.number($0))?.wireID } == [1, 2, nil])
  }

  @Test func `a change of an older one does not lower the highest id that was accepted`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.submit(.update(Self.number(1), OutboxWorld.notification("A")))
    world.run()
    #expect(world.machine.header.knownID == 3)
    #expect(world.journal.header.knownID == 3)
  }

  @Test func `a repeated write without room is removed first, and its newer text is reported when delivered`()
  {
    var world = Self.makeInterrupted(["a"], unanswered: ["b"])
    world.submit(.update(Self.number(2), OutboxWorld.notification("c")))
    world.display.capacity = 1
    world.connect()
    world.run()
    #expect(world.display.shown.map(\.text) == ["a"])
    #expect(world.drainWritten().contains { $0.contains(#""ev":"r""#) })
    world.dismiss(1)
    world.run()
    #expect(world.display.shown.map(\.text) == ["c"])
    #expect(world.drainReports().count { $0 == .delivered(Self.number(2)) } == 1)
  }
}
