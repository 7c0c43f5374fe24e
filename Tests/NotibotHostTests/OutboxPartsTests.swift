import NotibotProtocol
import Testing

@testable import NotibotHost

/// The parts of an outbox on their own.
struct OutboxPartsTests {
  private static func number(_ value: Int64) -> OutboxNumber { OutboxNumber(rawValue: value) }

  // MARK: Expiries

  @Test func `what expires sooner comes first, in any order of insertion`() {
    var random = SeededGenerator(seed: 5)
    let items = (0..<200).map { index in
      OutboxExpiries.Item(expires: UInt32(random.next() % 90), number: Self.number(index))
    }
    var expiries = OutboxExpiries()
    for item in items { expiries.insert(item) }
    var taken: [OutboxExpiries.Item] = []
    while let first = expiries.first {
      taken.append(first)
      expiries.removeFirst()
    }
    #expect(taken == items.sorted())
  }

  @Test func `expiries are cleaned when more than 64 beyond twice the queue are left`() {
    var expiries = OutboxExpiries()
    for number in 1...84 as ClosedRange<Int64> {
      expiries.insert(OutboxExpiries.Item(expires: 9, number: Self.number(number)))
    }
    #expect(!expiries.needsCleaning(queuedCount: 10))
    #expect(expiries.needsCleaning(queuedCount: 9))
  }

  // MARK: Keys

  @Test func `a key is forgotten at its time, and also when that is noticed late`() throws {
    for late in [Int64(0), 1, 1000] {
      var keys = OutboxKeys([])
      let key = try #require(IdempotencyKey("one"))
      let record = keys.add(key, of: Self.number(1), digest: 0, at: 100, keptFor: 50)
      #expect(keys.forget(at: 149, keptFor: 50) { _ in false } == [])
      #expect(keys.forget(at: 150 + late, keptFor: 50) { _ in false } == [record.row])
      #expect(keys[key] == nil)
    }
  }

  @Test func `a key of the future does not keep later ones`() throws {
    var keys = OutboxKeys([])
    let (future, later) = (try #require(IdempotencyKey("future")), try #require(IdempotencyKey("later")))
    let first = keys.add(future, of: Self.number(1), digest: 0, at: 100_000, keptFor: 50)
    let second = keys.add(later, of: Self.number(2), digest: 0, at: 100, keptFor: 50)
    #expect(keys.forget(at: 140, keptFor: 50) { _ in false } == [])
    #expect(keys.forget(at: 150, keptFor: 50) { _ in false } == [second.row])
    #expect(keys.forget(at: 190, keptFor: 50) { _ in false } == [first.row])
  }

  // MARK: The journal

  @Test func `a mark is durable before a later one of the same entry is`() {
    var journal = OutboxJournal()
    journal.mark(Self.number(1))
    let first = journal.marksCount
    #expect(!journal.isDurable(Self.number(1), upTo: first))
    _ = journal.nextCommit(of: OutboxEntries([]), header: JournalHeader(source: 7))
    #expect(!journal.isDurable(Self.number(1), upTo: first))
    _ = journal.confirm()
    journal.mark(Self.number(1))
    #expect(journal.isDurable(Self.number(1), upTo: first))
    #expect(!journal.isDurable(Self.number(1), upTo: journal.marksCount))
  }

  @Test func `a press is durable after its commit`() {
    let press = KeptPress(
      act: 0, key: NotificationKey(source: 7, id: 1), revision: 0, number: 3)
    var journal = OutboxJournal()
    journal.mark(PendingPress(press: press, bootID: 9, number: nil, isStale: false), [])
    #expect(!journal.isDurable(press: 3, in: 9))
    #expect(journal.isDurable(press: 3, in: 8))
    journal.markBoot(9)
    _ = journal.nextCommit(of: OutboxEntries([]), header: JournalHeader(source: 7))
    #expect(!journal.isDurable(press: 3, in: 9))
    #expect(journal.isDurable(press: 4, in: 9))
    _ = journal.confirm()
    #expect(journal.isDurable(press: 3, in: 9))
  }

  // MARK: The pace

  @Test func `a full store is tried with higher levels only`() {
    var pace = OutboxPace()
    let changesOpen = pace.tryAgain()
    #expect(!changesOpen)
    let refusals = (0..<2).map { _ in pace.handleRefused(level: .active, now: .zero) }
    #expect(refusals == [true, false])
    let windows = NotificationDetails.Level.allCases.map { pace.window(for: $0) }
    #expect(windows == NotificationDetails.Level.allCases.map { $0 > .active ? 1 : 0 })
    let changes = (0..<2).map { _ in pace.tryAgain() }
    #expect(changes == [true, false])
  }

  // MARK: A session

  @Test func `new contents count, whether they are queued or in flight`() {
    let info = DeviceInfo(SynAck(nonce: 1, bootID: 9), mtu: 517, features: [.optionalKeys, .sync])
    var session = OutboxSession(info)
    let content = OutboxSession.Purpose.content(Self.number(1), id: 1, revision: 0)
    let removal = OutboxSession.Purpose.removal(Self.number(2), id: 2)
    for purpose in [content, removal, content, content] {
      session.outgoing.append(OutboxSession.Outgoing(purpose: purpose, mark: 0))
    }
    session.outstanding = [1: content, 2: removal]
    #expect(session.contentsCount == 4)
    #expect(!session.isDrained)
    session.outgoing.removeAll()
    #expect(session.contentsCount == 1)
    #expect(!session.isDrained)
    session.outstanding.removeAll()
    #expect(session.isDrained)
  }

  @Test(arguments: [(UInt8(1), 2), (8, 16), (31, 62), (32, 64)])
  func `twice as many writes are in flight as the device has requests, at most 64`(
    requests: UInt8, window: Int
  ) {
    let limits = LinkLimits(frames: 64, requests: requests, mtu: 517, bytes: 65_536)
    let answer = SynAck(nonce: 1, features: [.pipelinedRequests], limits: limits, bootID: 9)
    let info = DeviceInfo(answer, mtu: 517, features: [])
    var session = OutboxSession(info)
    #expect(session.window == window)
    let content = OutboxSession.Purpose.content(Self.number(1), id: 1, revision: 0)
    for _ in 0..<window - 1 { session.outgoing.append(OutboxSession.Outgoing(purpose: content, mark: 0)) }
    #expect(session.hasRoomForOutgoing)
    session.outgoing.append(OutboxSession.Outgoing(purpose: content, mark: 0))
    #expect(!session.hasRoomForOutgoing)
  }

  @Test func `a device has identities only with the keys and with SYNC`() {
    let all: [(Features, Bool)] = [
      ([], false), ([.optionalKeys], false), ([.sync], false), ([.optionalKeys, .sync], true),
    ]
    for (features, hasIdentity) in all {
      let info = DeviceInfo(SynAck(nonce: 1, bootID: 9), mtu: 517, features: features)
      #expect(OutboxSession(info).hasIdentity == hasIdentity)
    }
  }

  @Test func `a write is known by its revision and its id`() {
    let write = OutboxWrite(id: 5, revision: 2, json: [])
    #expect(write.isRevision(2, of: 5))
    #expect(!write.isRevision(2, of: 6))
    #expect(!write.isRevision(3, of: 5))
  }

  // MARK: The entries

  @Test func `refused entries are counted`() {
    var entries = OutboxEntries(
      (1...3).map {
        OutboxEntry(number: Self.number($0), content: Entries.content("x"), state: .refused(.conflict))
      })
    #expect(entries.refusedCount == 3)
    entries.remove(Self.number(1))
    #expect(entries.refusedCount == 2)
  }

  @Test func `an entry without an id on the device is not found by it`() {
    let write = OutboxWrite(id: 5, revision: 0, json: [1])
    var entry = OutboxEntry(number: Self.number(1), content: Entries.content("x"), state: .held(write))
    var entries = OutboxEntries([entry])
    #expect(entries.numbers == [5: Self.number(1)])
    entry.state = .queued
    entries.put(entry)
    #expect(entries.numbers.isEmpty)
  }

  @Test func `a removed entry counts as on the device until its removal is sent`() {
    let write = OutboxWrite(id: 5, revision: 0, json: [1])
    var entry = OutboxEntry(number: Self.number(1), content: Entries.content("x"), state: .held(write))
    var entries = OutboxEntries([entry])
    let holdings = entries.holdings
    entry.state = .removing(id: 5)
    entries.put(entry)
    #expect(entries.highestHeldID == 5)
    // New content for it changes nothing on the device.
    entry.content = Entries.content("y")
    entries.put(entry)
    #expect(entries.highestHeldID == 5)
    #expect(!entries.isUncertain(entry))
    #expect(entries.holdings == holdings)
    entries.markRemovalSent(of: 5)
    #expect(entries.highestHeldID == 0)
    #expect(entries.isUncertain(entry))
    #expect(entries.holdings == Holdings())
  }

  @Test func `a removed entry that is queued again is no longer on the device`() {
    let write = OutboxWrite(id: 5, revision: 0, json: [1])
    var entry = OutboxEntry(number: Self.number(1), content: Entries.content("x"), state: .held(write))
    var entries = OutboxEntries([entry])
    entry.state = .removing(id: 5)
    entries.put(entry)
    entry.state = .queued
    entries.put(entry)
    #expect(entries == OutboxEntries([entry]))
  }

  @Test func `without a session nothing is sent`() {
    let contents = JournalContents(header: JournalHeader(source: 7))
    #expect(!OutboxMachine(options: OutboxOptions(), journal: contents, seed: 1).isLive)
  }

  // MARK: Limits that a journal of another configuration exceeds

  @Test func `a journal with more entries than the limit takes no more`() {
    var options = OutboxOptions()
    options.entriesLimit = 2
    let contents = JournalContents(
      header: JournalHeader(source: 7, lastNumber: Self.number(3)),
      entries: (1...3).map { Entries.queued($0) })
    var world = OutboxWorld(options, journal: contents)
    let token = world.submit(.add(OutboxWorld.notification("x")))
    #expect(world.drainReports() == [.rejected(.full(limit: 2), token: token)])
  }

  @Test func `a journal with more keys than the limit takes no more`() throws {
    var options = OutboxOptions()
    options.keysLimit = 2
    let contents = JournalContents(
      header: JournalHeader(source: 7), keys: (1...3).map { Entries.key($0, "key \($0)") })
    var machine = OutboxMachine(options: options, journal: contents, seed: 1)
    let key = try #require(IdempotencyKey("another"))
    machine.submit(.add(OutboxWorld.notification("x")), key: key, token: 5, now: .zero)
    #expect(machine.nextAction() == .report(.rejected(.keysFull(limit: 2), token: 5)))
  }

  @Test func `a journal with more boots than the limit forgets the oldest ones`() {
    var records = PressRecords((1...18).map { TakenPresses(bootID: $0, press: 9) })
    #expect(
      records.record(1, in: 19) == [
        .deletePresses(1), .deletePresses(2), .deletePresses(3),
        .putPresses(TakenPresses(bootID: 19, press: 1)),
      ])
  }

  @Test func `presses that no commit has yet keep the changes of all`() {
    var pending = PendingPresses()
    for number in 1...2 as ClosedRange<UInt32> {
      let press = KeptPress(
        act: 0, key: NotificationKey(source: 7, id: number), revision: 0, number: number)
      pending.append(
        PendingPress(press: press, bootID: 3, number: nil, isStale: false),
        [.putPresses(TakenPresses(bootID: 3, press: number))])
    }
    let taken = pending.drain()
    #expect(taken.changes == [1, 2].map { .putPresses(TakenPresses(bootID: 3, press: $0)) })
    #expect(taken.presses.map(\.press.number) == [1, 2])
    #expect(pending.isEmpty)
  }
}
