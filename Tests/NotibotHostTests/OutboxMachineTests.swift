import NotibotProtocol
import Testing

@testable import NotibotHost

/// The effect of each submission and each answer in each state of an entry.
struct OutboxMachineTests {
  private static func number(_ number: Int64) -> OutboxNumber { OutboxWorld.number(number) }
  private static func notification(_ text: String) -> DisplayNotification { OutboxWorld.notification(text) }
  private static func json(_ text: String, _ rest: String) -> String {
    #"{"app":"A","title":"T","text":"\#(text)","timestamp":7,\#(rest)}"#
  }
  private static func removal(_ id: Int) -> String {
    #"{"app":"","title":"","text":"","timestamp":0,"id":\#(id),"ev":"r"}"#
  }

  // MARK: Durable before anything else

  @Test func `nothing is reported or written before its commit is durable`() {
    var world = OutboxWorld.makeLive()
    let token = world.submit(.add(Self.notification("x")))
    #expect(world.reports.isEmpty)
    #expect(world.written.isEmpty)
    world.writeJournal()
    #expect(world.drainReports() == [.queued(Self.number(1), token: token)])
    #expect(world.drainWritten() == [Self.json("x", #""id":1"#)])
    guard case .written(let write) = world.journal.entries[0].state else {
      Issue.record("not journaled as written")
      return
    }
    #expect(write.id == 1)
    #expect(world.journal.header.lastID == 1)
    world.carryToDevice()
    world.carryToHost()
    #expect(world.reports.isEmpty)
    world.writeJournal()
    #expect(world.drainReports() == [.delivered(Self.number(1))])
    #expect(world.journal.header.knownID == 1)
  }

  @Test func `changes during a commit are in the next one together`() {
    var world = OutboxWorld()
    world.submit(.add(Self.notification("a")))
    world.submit(.add(Self.notification("b")))
    world.submit(.add(Self.notification("c")))
    #expect(world.commit?.count == 2)
    world.writeJournal()
    #expect(world.commit?.count == 3)
    world.writeJournal()
    #expect(world.commit == nil)
    #expect(world.reports.count == 3)
  }

  @Test func `a commit has at most 1024 changes`() {
    var world = OutboxWorld()
    for index in 0..<3000 { world.submit(.add(Self.notification("\(index)"))) }
    world.run()
    #expect(world.changesCount == 1024)
    #expect(world.journal.entries.count == 3000)
    #expect(world.reports.count == 3000)
  }

  @Test func `after a failed commit nothing is accepted or sent, and pending changes are rejected`() {
    var world = OutboxWorld.makeLive("x")
    let first = world.submit(.add(Self.notification("a")))
    let second = world.submit(.add(Self.notification("b")))
    world.machine.commitFailed(now: world.now)
    world.drain()
    let third = world.submit(.add(Self.notification("c")))
    #expect(
      world.drainReports() == [first, second, third].map { .rejected(.journalFailed, token: $0) })
    world.connect()
    world.machine.committed(now: world.now)
    world.drain()
    #expect(world.toDevice.isEmpty)
    #expect(world.machine.hasFailed)
    #expect(world.machine.nextDeadline == nil)
  }

  @Test func `a full outbox rejects additions, and accepts changes and removals`() {
    var options = OutboxOptions()
    options.entriesLimit = 2
    var world = OutboxWorld(options)
    world.submit(.add(Self.notification("a")))
    world.submit(.add(Self.notification("b")))
    let token = world.submit(.add(Self.notification("c")))
    #expect(world.drainReports() == [.rejected(.full(limit: 2), token: token)])
    world.submit(.update(Self.number(1), Self.notification("d")))
    world.submit(.remove(Self.number(2)))
    world.run()
    #expect(world.journal.entries.map(\.content.text) == ["d"])
  }

  // MARK: Order

  @Test func `a higher level overtakes, and ids ascend in the order of sending`() {
    var world = OutboxWorld()
    world.submit(.add(OutboxWorld.notification("low", level: .passive)))
    world.submit(.add(OutboxWorld.notification("first")))
    world.submit(.add(OutboxWorld.notification("second")))
    world.submit(.add(OutboxWorld.notification("high", level: .critical)))
    world.connect()
    world.run()
    #expect(
      world.drainWritten() == [
        Self.json("high", #""id":1,"lvl":3"#), Self.json("first", #""id":2"#),
        Self.json("second", #""id":3"#),
        Self.json("low", #""id":4,"lvl":0"#),
      ])
  }

  @Test func `writes in flight are at most twice the device's requests`() {
    var world = OutboxWorld.makeLive()
    for index in 0..<100 { world.submit(.add(Self.notification("\(index)"))) }
    world.writeJournal()
    world.writeJournal()
    world.writeJournal()
    #expect(world.toDevice.count == 16)
  }

  // MARK: Answers

  @Test
  func
    `a full store requeues it without an id, is reported once, and retried after 5 s, 10 s and a drop`()
  {
    var world = OutboxWorld.makeLive("x")
    world.display.capacity = 1
    world.submit(.add(Self.notification("a")))
    world.run()
    #expect(world.machine.entry(Self.number(2))?.state == .queued)
    #expect(world.journal.entries[1].state == .queued)
    #expect(world.reports.filter { $0 == .storeFull }.count == 1)
    _ = world.drainWritten()
    world.pass(.milliseconds(4999))
    #expect(world.run() && world.drainWritten().isEmpty)
    world.pass(.milliseconds(1))
    #expect(world.run() && world.drainWritten() == [Self.json("a", #""id":3"#)])
    world.pass(.milliseconds(9999))
    #expect(world.run() && world.drainWritten().isEmpty)
    world.pass(.milliseconds(1))
    #expect(world.run() && world.drainWritten() == [Self.json("a", #""id":4"#)])
    _ = world.drainReports()
    world.dismiss(1)
    world.run()
    #expect(world.display.shown.map(\.text) == ["a"])
    #expect(world.drainReports() == [.gone(Self.number(1), .dismissed), .delivered(Self.number(2))])
  }

  @Test func `a full store is tried again when the count falls for any reason`() {
    var world = OutboxWorld.makeLive()
    world.display.plain = [Self.notification("of another writer")]
    world.display.capacity = 1
    world.submit(.add(Self.notification("a")))
    world.run()
    world.display.plain = []
    world.machine.countChanged(3, now: world.now)
    world.machine.countChanged(4, now: world.now)
    world.drain()
    #expect(world.run() && world.display.shown.isEmpty)
    world.machine.countChanged(3, now: world.now)
    world.drain()
    #expect(world.run() && world.display.shown.map(\.text) == ["a"])
  }

  @Test func `a full store is tried at once for a higher level, which can evict others`() {
    var world = OutboxWorld.makeLive("x")
    world.display.capacity = 1
    world.display.evicts = true
    world.submit(.add(Self.notification("a")))
    world.run()
    world.submit(.add(OutboxWorld.notification("b", level: .critical)))
    world.run()
    #expect(world.display.shown.map(\.text) == ["b"])
    #expect(world.reports.contains(.gone(Self.number(1), .evicted)))
  }

  @Test func `a refused entry waits for the user, and is sent again by retry or new content`() {
    var world = OutboxWorld.makeLive()
    world.display.nextError = .notANotification
    world.submit(.add(Self.notification("a")))
    world.run()
    #expect(world.drainReports().last == .refused(Self.number(1), .notANotification))
    #expect(world.journal.entries[0].state == .refused(.notANotification))
    #expect(world.machine.isFinished)
    world.machine.retry(Self.number(1), now: world.now)
    world.display.nextError = .notANotification
    world.drain()
    world.run()
    world.submit(.update(Self.number(1), Self.notification("b")))
    world.run()
    #expect(world.display.shown.map(\.text) == ["b"])
    world.machine.retry(Self.number(1), now: world.now)
    world.drain()
    #expect(world.commit == nil)
  }

  @Test func `answers without a write, and after the session, are ignored`() {
    var world = OutboxWorld.makeLive("x")
    let before = world.machine
    world.machine.writeCompleted(tag: 99, .accepted, now: world.now)
    world.machine.subscribed(.accepted, now: world.now)
    world.machine.committed(now: world.now)
    #expect(world.machine == before)
    world.submit(.add(Self.notification("a")))
    world.writeJournal()
    guard case .write(let tag, _)? = world.toDevice.first else {
      Issue.record("nothing written")
      return
    }
    world.disconnect()
    world.machine.writeCompleted(tag: tag, .accepted, now: world.now)
    guard case .written = world.machine.entry(Self.number(2))?.state else {
      Issue.record("accepted an answer of a former session")
      return
    }
  }

  // MARK: Changes and removals

  @Test func `new content replaces that of a queued entry, and is sent as a change for a held one`() {
    var world = OutboxWorld()
    world.submit(.add(Self.notification("a")))
    world.submit(.update(Self.number(1), Self.notification("b")))
    world.connect()
    world.run()
    #expect(world.drainWritten() == [Self.json("b", #""id":1"#)])
    world.submit(.update(Self.number(1), Self.notification("c")))
    world.run()
    #expect(world.drainWritten() == [Self.json("c", #""id":1,"rev":1,"ev":"m""#)])
    #expect(world.reports.filter { $0 == .delivered(Self.number(1)) }.count == 2)
    #expect(world.display.shown.map(\.text) == ["c"])
  }

  @Test func `new content for a write in flight is sent after its answer`() {
    var world = OutboxWorld.makeLive()
    world.submit(.add(Self.notification("a")))
    world.writeJournal()
    world.submit(.update(Self.number(1), Self.notification("b")))
    world.writeJournal()
    #expect(world.toDevice.count == 1)
    world.run()
    #expect(world.drainWritten().last == Self.json("b", #""id":1,"rev":1,"ev":"m""#))
    #expect(world.display.shown.map(\.text) == ["b"])
  }

  @Test func `after revision 65535 the id is removed and the content gets another`() {
    var world = OutboxWorld.makeLive("x")
    var entry = world.journal.entries[0]
    let json = WrittenNotification(
      notification: entry.content, identity: NotificationIdentity(id: 1, revision: 65535, change: .modified)
    ).encoded()
    entry.state = .held(OutboxWrite(id: 1, revision: 65535, json: json))
    world.journal.apply([.put(entry)])
    world.crash(seed: 3)
    world.display.restart()
    world.connect()
    world.run()
    _ = world.drainWritten()
    world.submit(.update(Self.number(1), Self.notification("y")))
    world.run()
    #expect(world.drainWritten() == [Self.removal(1), Self.json("y", #""id":2"#)])
    #expect(world.display.shown.map(\.text) == ["y"])
    #expect(!world.reports.contains(.removed(Self.number(1))))
  }

  @Test func `a queued entry is removed at once, and a written one by a removal`() {
    var world = OutboxWorld.makeLive("x")
    world.submit(.remove(Self.number(1)))
    #expect(world.drainWritten().isEmpty)
    world.run()
    #expect(world.drainWritten() == [Self.removal(1)])
    #expect(world.drainReports().last == .removed(Self.number(1)))
    #expect(world.journal.entries.isEmpty)
    world.disconnect()
    world.submit(.add(Self.notification("a")))
    world.submit(.remove(Self.number(2)))
    world.run()
    #expect(world.drainReports().last == .removed(Self.number(2)))
    #expect(world.journal.entries.isEmpty)
  }

  @Test func `a removal during a write in flight is sent after it`() {
    var world = OutboxWorld.makeLive()
    world.submit(.add(Self.notification("a")))
    world.writeJournal()
    world.submit(.remove(Self.number(1)))
    world.run()
    #expect(world.drainWritten().last == Self.removal(1))
    #expect(world.display.shown.isEmpty)
    #expect(world.drainReports().contains(.removed(Self.number(1))))
  }

  @Test func `a refused change keeps the held content`() {
    var world = OutboxWorld.makeLive("x")
    world.display.nextError = .notANotification
    world.submit(.update(Self.number(1), Self.notification("b")))
    world.run()
    #expect(world.drainReports().last == .refused(Self.number(1), .notANotification))
    #expect(world.display.shown.map(\.text) == ["x"])
    world.submit(.update(Self.number(1), Self.notification("c")))
    world.run()
    #expect(world.display.shown.map(\.text) == ["c"])
  }

  @Test func `a missing entry, or one being removed, cannot be changed`() {
    var world = OutboxWorld.makeLive("x")
    let first = world.submit(.update(Self.number(9), Self.notification("b")))
    let second = world.submit(.remove(Self.number(9)))
    world.submit(.remove(Self.number(1)))
    let third = world.submit(.update(Self.number(1), Self.notification("b")))
    #expect(
      world.drainReports() == [
        .rejected(.unknownNumber(Self.number(9).rawValue), token: first),
        .rejected(.unknownNumber(Self.number(9).rawValue), token: second),
        .rejected(.unknownNumber(Self.number(1).rawValue), token: third),
      ])
  }

  // MARK: Stopping

  @Test func `after stop nothing new is written, and writes in flight are answered and committed`() {
    var world = OutboxWorld.makeLive()
    world.submit(.add(Self.notification("a")))
    world.writeJournal()
    world.machine.stop(now: world.now)
    world.submit(.add(Self.notification("b")))
    world.run()
    #expect(world.drainWritten().count == 1)
    #expect(world.machine.isSettled)
    #expect(!world.machine.isFinished)
    #expect(world.drainReports().contains(.delivered(Self.number(1))))
    #expect(world.journal.entries.count == 2)
  }

  @Test func `an action chosen by the user is reported by number`() {
    var world = OutboxWorld.makeLive("x")
    let key = NotificationKey(source: OutboxWorld.source, id: 1)
    world.machine.receive(.actionOf(key, item: 1, act: 2, revision: nil), now: world.now)
    let other = NotificationKey(source: 5, id: 1)
    world.machine.receive(.actionOf(other, item: 1, act: 2, revision: nil), now: world.now)
    world.machine.receive(.action(item: 1, act: 2), now: world.now)
    world.machine.receive(.dismissed(item: 1), now: world.now)
    world.drain()
    #expect(world.drainReports() == [.action(Self.number(1), act: 2, revision: nil, isStale: false)])
  }
}
