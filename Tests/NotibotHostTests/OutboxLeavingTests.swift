import NotibotProtocol
import Testing

@testable import NotibotHost

/// How an outbox changes its source when another journal has written under it. Source: PROTOCOL.md
/// NTF-35.
struct OutboxLeavingTests {
  private static func number(_ number: Int64) -> OutboxNumber { OutboxWorld.number(number) }
  private static func notification(_ text: String) -> DisplayNotification { OutboxWorld.notification(text) }

  /// An item written by the copy, as stored by the display.
  private static func item(
    _ id: UInt32, _ text: String, revision: UInt16 = 0
  ) -> ModelDisplay.Item {
    let identity = NotificationIdentity(
      id: id, revision: revision, change: revision == 0 ? .added : .modified)
    let json = WrittenNotification(notification: notification(text), identity: identity).encoded()
    return ModelDisplay.Item(notification: notification(text), revision: revision, crc: CRC32.checksum(json))
  }

  /// Runs the world from an earlier state of its journal, like a restored copy.
  private static func restore(_ journal: JournalContents, in world: inout OutboxWorld) {
    world.journal = journal
    world.crash(seed: 5)
    _ = world.drainReports()
    _ = world.drainWritten()
  }

  @Test func `a device that knows higher ids leads to a new source, and all is shown once`() {
    var world = OutboxWorld.makeLive("a", "b")
    var old = world.journal
    world.submit(.add(Self.notification("c")))
    world.run()
    // An old journal with a new entry.
    old.header.lastNumber = Self.number(9)
    old.entries.append(OutboxEntry(number: Self.number(9), content: Self.notification("z")))
    Self.restore(old, in: &world)
    world.connect()
    world.run()
    let source = world.machine.header.source
    #expect(source != OutboxWorld.source)
    #expect(world.drainReports() == [.newSource(source), .synced(rounds: 0), .delivered(Self.number(9))])
    #expect(world.journal.header.source == source)
    // Notifications known only to the other journal stay on the display.
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b", "c", "z"])
    #expect(world.display.sources[source]?.items.count == 3)
    #expect(world.machine.isFinished)
  }

  @Test func `a source whose ids are all used leads to a new one`() {
    var world = OutboxWorld(
      journal: JournalContents(header: JournalHeader(source: OutboxWorld.source, lastID: .max)))
    world.submit(.add(Self.notification("a")))
    world.connect()
    world.run()
    let source = world.machine.header.source
    #expect(source != OutboxWorld.source)
    #expect(world.display.sources[source]?.items.mapValues(\.notification.text) == [1: "a"])
  }

  @Test func `moved notifications are not announced again, new ones are`() {
    var world = OutboxWorld.makeLive("a")
    let old = world.journal
    world.submit(.add(Self.notification("c")))
    world.run()
    Self.restore(old, in: &world)
    world.submit(.add(Self.notification("z")))
    world.connect()
    world.run()
    let written = world.drainWritten().suffix(2)
    #expect(written.first?.hasSuffix(#""id":1,"ev":"m"}"#) == true)
    #expect(written.last?.hasSuffix(#""id":2}"#) == true)
  }

  @Test func `a loss by a restart that only a copy of the journal saw is rewritten under the new source`() {
    var world = OutboxWorld.makeLive("a", "b")
    #expect(world.journal.header.bootID == world.display.bootID)
    world.disconnect()
    world.display.restart()
    // Now the copy runs.
    world.display.sources[OutboxWorld.source] = ModelDisplay.Source(highestID: 22)
    world.connect()
    world.run()
    let source = world.machine.header.source
    #expect(world.drainReports() == [.newSource(source), .synced(rounds: 0)])
    #expect(world.display.sources[source]?.items.mapValues(\.notification.text) == [1: "a", 2: "b"])
    #expect(world.journal.header.bootID == world.display.bootID)
    #expect(world.machine.isFinished)
  }

  @Test func `ids of a boot without our writes belong to a copy, however low, and stay untouched`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.display.restart()
    let others: [UInt32: ModelDisplay.Item] = [1: Self.item(1, "a"), 2: Self.item(2, "other", revision: 1)]
    world.display.sources[OutboxWorld.source] = ModelDisplay.Source(
      items: others, gone: [3: .dismissed], highestID: 3)
    world.connect()
    world.run()
    let source = world.machine.header.source
    #expect(world.drainReports() == [.newSource(source), .synced(rounds: 0)])
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b", "c", "other"])
    #expect(world.display.sources[OutboxWorld.source]?.items == [2: Self.item(2, "other", revision: 1)])
  }

  @Test func `a device that kept its store over a restart does not cause a new source`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.disconnect()
    world.display.bootID += 1
    world.dismiss(1)
    world.connect()
    world.run()
    #expect(world.drainReports() == [.synced(rounds: 0), .gone(Self.number(1), .dismissed)])
    #expect(world.machine.header.source == OutboxWorld.source)
  }

  @Test func `the journal records a write in a boot before the first one`() {
    var world = OutboxWorld.makeLive("a")
    world.disconnect()
    world.display.restart()
    world.connect()
    while world.commit == nil {
      if world.toHost.isEmpty { world.carryToDevice() } else { world.carryToHost() }
    }
    #expect(world.written.isEmpty)
    world.writeJournal()
    #expect(world.written.count == 1)
    #expect(world.journal.header.writtenBootID == world.display.bootID)
  }

  @Test func `a crash during the change of source loses nothing`() {
    for steps in 0..<40 {
      var world = OutboxWorld.makeLive("a", "b")
      let old = world.journal
      world.submit(.add(Self.notification("c")))
      world.run()
      Self.restore(old, in: &world)
      world.connect()
      world.run(steps: steps)
      world.crash(seed: 9)
      world.connect()
      let hasSettled = world.run()
      #expect(hasSettled)
      #expect(world.display.shown.map(\.text).sorted() == ["a", "b", "c"], "after \(steps) steps")
      #expect(world.machine.isFinished)
      #expect(!world.reports.contains { if case .delivered = $0 { true } else { false } })
    }
  }

  @Test func `a pending change during the change of source is shown once, with its newest content`() {
    for arrives in [false, true] {
      var world = OutboxWorld.makeLive("a")
      world.submit(.update(Self.number(1), Self.notification("b")))
      world.writeJournal()
      if arrives { world.carryToDevice() }
      world.disconnect()
      world.display.sources[OutboxWorld.source]?.highestID = 7
      _ = world.drainReports()
      world.connect()
      world.run()
      #expect(world.display.shown.map(\.text) == ["b"])
      #expect(world.drainReports().filter { $0 == .delivered(Self.number(1)) }.count == 1)
      // What has arrived was announced then.
      #expect(world.drainWritten().last?.hasSuffix(#""ev":"m"}"#) == arrives)
    }
  }

  @Test func `a removal during the change of source removes the notification`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.disconnect()
    world.display.sources[OutboxWorld.source]?.highestID = 7
    world.connect()
    while world.written.isEmpty {
      if world.toHost.isEmpty { world.carryToDevice() } else { world.carryToHost() }
    }
    world.submit(.remove(Self.number(1)))
    world.run()
    #expect(world.display.shown.map(\.text) == ["b"])
    #expect(world.reports.contains(.removed(Self.number(1))))
  }

  @Test func `in a boot with an agreement, gone notifications stay gone during the change of source`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.disconnect()
    world.display.sources[OutboxWorld.source]?.items[1] = nil
    world.display.sources[OutboxWorld.source]?.highestID = 7
    world.connect()
    world.run()
    #expect(world.display.shown.map(\.text) == ["b"])
    #expect(world.reports.contains(.gone(Self.number(1), .dismissed)))
  }

  @Test func `a conflict over many moves each of them once`() {
    var world = OutboxWorld()
    for index in 0..<200 { world.submit(.add(Self.notification("\(index)"))) }
    world.display.capacity = 500
    world.connect()
    world.run()
    world.display.nextError = .conflict
    world.submit(.add(Self.notification("x")))
    world.run()
    #expect(world.machine.isFinished)
    #expect(world.display.sources[OutboxWorld.source]?.items.isEmpty == true)
    #expect(world.display.sources[world.machine.header.source]?.items.count == 201)
    #expect(Set(world.display.shown.map(\.text)).count == 201)
  }

  @Test func `a device with endless conflicts is finally refused`() {
    var world = OutboxWorld.makeLive()
    world.submit(.add(Self.notification("x")))
    for _ in 0..<2000 {
      world.display.nextError = .conflict
      world.run(steps: 1)
    }
    #expect(world.reports.last == .refused(Self.number(1), .conflict))
    #expect(world.machine.session?.renewals == OutboxSession.renewalsLimit)
  }

  @Test func `a device whose highest id is above those of each new source gets nothing`() {
    var world = OutboxWorld.makeLive()
    world.disconnect()
    world.connect()
    world.submit(.add(Self.notification("x")))
    for _ in 0..<400 {
      world.display.sources[world.machine.header.source, default: .init()].highestID = 100
      world.run(steps: 1)
    }
    #expect(world.reports.contains(.diverged))
    #expect(world.drainWritten().isEmpty)
    #expect(world.machine.session?.stage == .distrusted)
  }

  @Test func `a write without an answer that has arrived is reported once, and not announced again`() {
    var world = OutboxWorld.makeLive("a")
    world.submit(.add(Self.notification("b")))
    world.writeJournal()
    world.carryToDevice()
    world.disconnect()
    world.display.sources[OutboxWorld.source]?.highestID = 7
    world.connect()
    world.run()
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b"])
    #expect(world.drainReports().filter { $0 == .delivered(Self.number(2)) }.count == 1)
    #expect(world.drainWritten().last?.hasSuffix(#""id":2,"ev":"m"}"#) == true)
  }

  @Test(arguments: [true, false])
  func `what leaves during the removals stays gone in a boot with an agreement only`(isAgreed: Bool) throws {
    var world = OutboxWorld.makeLive("a", "b")
    world.disconnect()
    world.display.sources[OutboxWorld.source]?.highestID = 7
    if !isAgreed { world.display.bootID += 1 }
    world.connect()
    while world.machine.session?.stage != .retiring {
      let isIdle = world.commit == nil && world.toDevice.isEmpty && world.toHost.isEmpty
      try #require(!isIdle, "the removals never begin")
      world.run(steps: 1)
    }
    world.dismiss(2)
    world.run()
    #expect(world.display.shown.map(\.text).sorted() == (isAgreed ? ["a"] : ["a", "b"]))
    #expect(world.drainReports().contains(.gone(Self.number(2), .dismissed)) == isAgreed)
  }

  @Test func `4096 events of a boot without our writes wait for SYNCED at most`() {
    var world = OutboxWorld.makeLive("a")
    let limit = OutboxSession.confirmationsLimit
    world.machine.header.lastID = UInt32(limit) + 2
    world.disconnect()
    world.display.restart()
    world.connect()
    for id in 1...UInt32(limit) + 2 {
      world.machine.receive(
        .gone(.dismissed, NotificationKey(source: OutboxWorld.source, id: id)), now: world.now)
    }
    #expect(world.machine.session?.unplacedGone.count == limit)
  }
}
