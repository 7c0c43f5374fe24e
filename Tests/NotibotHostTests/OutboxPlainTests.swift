import NotibotProtocol
import Testing

@testable import NotibotHost

/// A device without identities. Source: PROTOCOL.md NTF-37.
struct OutboxPlainTests {
  private static func number(_ number: Int64) -> OutboxNumber { OutboxWorld.number(number) }
  private static func notification(_ text: String) -> DisplayNotification { OutboxWorld.notification(text) }

  private static func makePlain(_ options: OutboxOptions = OutboxOptions()) -> OutboxWorld {
    var world = OutboxWorld(options)
    world.display.hasIdentity = false
    world.connect()
    world.run()
    return world
  }

  /// A world that has lost its session with one write unanswered; the device has it.
  private static func makeUnknown(_ options: OutboxOptions = OutboxOptions()) -> OutboxWorld {
    var world = makePlain(options)
    world.submit(.add(notification("a")))
    world.writeJournal()
    world.carryToDevice()
    world.disconnect()
    _ = world.drainReports()
    _ = world.drainWritten()
    return world
  }

  @Test func `it gets the four keys without SYNC, and answered entries are removed`() {
    var world = Self.makePlain()
    world.submit(.add(OutboxWorld.notification("a", level: .critical)))
    world.run()
    #expect(world.synced.isEmpty)
    #expect(world.drainWritten() == [#"{"app":"A","title":"T","text":"a","timestamp":7}"#])
    #expect(world.drainReports().last == .delivered(Self.number(1)))
    #expect(world.journal.entries.isEmpty)
    #expect(world.journal.header.lastID == 0)
  }

  @Test func `a write of unknown outcome is repeated, or not if so configured`() {
    var world = Self.makeUnknown()
    world.connect()
    world.run()
    #expect(world.drainWritten().count == 1)
    #expect(world.display.plain.count == 2)
    var options = OutboxOptions()
    options.resendsPlain = false
    world = Self.makeUnknown(options)
    world.connect()
    world.run()
    #expect(world.drainWritten().isEmpty)
    #expect(world.drainReports() == [.outcomeUnknown(Self.number(1))])
    #expect(world.journal.entries.isEmpty)
  }

  @Test func `a write of unknown outcome precedes new ones of any level`() {
    var world = Self.makeUnknown()
    world.submit(.add(OutboxWorld.notification("high", level: .critical)))
    world.connect()
    world.run()
    #expect(world.display.plain.map(\.text) == ["a", "a", "high"])
  }

  @Test func `an entry that was not written before the end of the session has no unknown outcome`() {
    var options = OutboxOptions()
    options.resendsPlain = false
    var world = Self.makePlain(options)
    world.submit(.add(Self.notification("a")))
    world.disconnect()
    world.run()
    world.connect()
    world.run()
    #expect(world.display.plain.count == 1)
    #expect(!world.reports.contains(.outcomeUnknown(Self.number(1))))
  }

  @Test
  func `after a restart delivered entries are sent again only if configured, in order, reported once`() {
    for replays in [false, true] {
      var options = OutboxOptions()
      options.replaysPlain = replays
      var world = Self.makePlain(options)
      world.submit(.add(Self.notification("a")))
      world.submit(.add(Self.notification("b")))
      world.run()
      world.disconnect()
      world.connect()
      world.run()
      #expect(world.display.plain.count == 2)
      world.disconnect()
      world.display.restart()
      world.connect()
      world.run()
      #expect(world.display.plain.map(\.text) == (replays ? ["a", "b"] : []))
      #expect(world.reports.filter { $0 == .delivered(Self.number(1)) }.count == 1)
    }
  }

  @Test func `a host that starts does not send delivered entries again`() {
    var options = OutboxOptions()
    options.replaysPlain = true
    var world = Self.makePlain(options)
    world.submit(.add(Self.notification("a")))
    world.run()
    world.crash(seed: 2)
    world.connect()
    world.run()
    #expect(world.display.plain.count == 1)
  }

  @Test func `entries kept for a replay are at most the device's capacity`() {
    var options = OutboxOptions()
    options.replaysPlain = true
    var world = Self.makePlain(options)
    for index in 0..<12 {
      world.submit(.add(Self.notification("\(index)")))
      world.run()
      world.display.plain = []
    }
    #expect(world.journal.entries.map(\.content.text) == (4..<12).map(String.init))
  }

  @Test func `a full store keeps it queued`() {
    var world = Self.makePlain()
    world.display.capacity = 0
    world.submit(.add(Self.notification("a")))
    world.run()
    #expect(world.drainReports().last == .storeFull)
    world.display.capacity = 1
    world.pass(.seconds(5))
    world.run()
    #expect(world.display.plain.map(\.text) == ["a"])
  }

  @Test func `a removal during its write only forgets it`() {
    var world = Self.makePlain()
    world.submit(.add(Self.notification("a")))
    world.writeJournal()
    world.submit(.remove(Self.number(1)))
    world.run()
    #expect(world.drainReports().last == .outcomeUnknown(Self.number(1)))
    #expect(world.journal.entries.isEmpty)
  }

  @Test func `new content during its write is an additional notification`() {
    var world = Self.makePlain()
    world.submit(.add(Self.notification("a")))
    world.writeJournal()
    world.submit(.update(Self.number(1), Self.notification("b")))
    world.run()
    #expect(world.display.plain.map(\.text) == ["a", "b"])
    #expect(world.machine.entriesCount == 0)
  }

  @Test func `an entry with an id waits for a device with identities`() {
    var world = OutboxWorld.makeLive("a")
    world.disconnect()
    world.display = ModelDisplay()
    world.display.hasIdentity = false
    world.submit(.remove(Self.number(1)))
    world.connect()
    world.run()
    #expect(world.drainWritten().isEmpty)
    #expect(world.machine.unfinishedCount == 1)
    world.disconnect()
    world.display = ModelDisplay()
    world.connect()
    world.run()
    #expect(world.machine.isFinished)
    #expect(world.drainReports().contains(.removed(Self.number(1))))
  }

  @Test func `an unanswered entry without an id gets one on a device with identities`() {
    var world = Self.makeUnknown()
    world.display = ModelDisplay()
    world.connect()
    world.run()
    #expect(world.display.sources[OutboxWorld.source]?.items[1]?.notification.text == "a")
    #expect(world.drainReports().last == .delivered(Self.number(1)))
  }

  @Test func `writes of unknown outcome are repeated in the order of their numbers`() {
    var world = Self.makePlain()
    for index in 1...8 {
      world.submit(.add(Self.notification("\(index)")))
      world.writeJournal()
    }
    while world.commit != nil { world.writeJournal() }
    world.disconnect()
    for entry in world.machine.entries.sorted where entry.state == .queued {
      Issue.record("\(entry.number) was not written")
    }
    _ = world.drainWritten()
    world.connect()
    world.run()
    #expect(world.display.plain.map(\.text) == (1...8).map(String.init))
  }

  @Test func `a change of one that is kept for a replay is another notification, and reported as delivered`()
  {
    var options = OutboxOptions()
    options.replaysPlain = true
    var world = Self.makePlain(options)
    world.submit(.add(Self.notification("a")))
    world.run()
    _ = world.drainReports()
    world.submit(.update(Self.number(1), Self.notification("b")))
    world.run()
    #expect(world.display.plain.map(\.text) == ["a", "b"])
    #expect(world.drainReports().last == .delivered(Self.number(1)))
  }
}
