import NotibotProtocol
import Testing

@testable import NotibotHost

/// Keys of submissions: accepted once, across crashes, and for how long they are remembered.
@Suite struct OutboxKeysTests {
  private static let morning: Int64 = 1_800_000_000
  private static let day: Int64 = 86_400

  private static func key(_ text: String) throws -> IdempotencyKey { try #require(IdempotencyKey(text)) }

  /// An outbox without a device, its journal, and the time.
  private struct Desk {
    var machine: OutboxMachine
    var journal = JournalContents(header: JournalHeader(source: 7))
    var options = OutboxOptions()
    var reports: [OutboxReport] = []
    var pending: [JournalChange]?
    var now = Instant.zero
    var tokens: UInt64 = 0

    init(options: OutboxOptions = OutboxOptions()) {
      self.options = options
      machine = OutboxMachine(options: options, journal: journal, seed: 1)
      machine.setClock(seconds: OutboxKeysTests.morning, now: now)
    }

    mutating func submit(
      _ text: String, key: IdempotencyKey?, expires: UInt32? = nil, commits: Bool = true
    ) {
      var content = Entries.content(text)
      content.details.expires = expires
      submit(.add(content), key: key, commits: commits)
    }

    mutating func submit(_ submission: OutboxSubmission, key: IdempotencyKey?, commits: Bool = true) {
      tokens += 1
      machine.submit(submission, key: key, token: tokens, now: now)
      drain(commits: commits)
    }

    mutating func drain(commits: Bool = true) {
      while let action = machine.nextAction() {
        switch action {
        case .commit(let changes): pending = changes
        case .taken: break
        case .report(let report): reports.append(report)
        case .subscribe, .sync, .write: break
        }
        if commits { commit() }
      }
      if commits { commit() }
    }

    mutating func commit() {
      guard let changes = pending else { return }
      pending = nil
      journal.apply(changes)
      machine.committed(now: now)
      drain()
    }

    /// The process is killed; a commit in progress is there or not.
    mutating func crash(keepsCommit: Bool) {
      if keepsCommit, let changes = pending { journal.apply(changes) }
      pending = nil
      reports = []
      machine = OutboxMachine(options: options, journal: journal, seed: 1)
      machine.setClock(seconds: OutboxKeysTests.morning, now: now)
    }

    mutating func pass(_ seconds: Int64) {
      now = now + .seconds(seconds)
      machine.handleTimeout(now: now)
      drain()
    }

    mutating func drainReports() -> [OutboxReport] {
      defer { reports = [] }
      return reports
    }
  }

  private static func number(_ value: Int64) -> OutboxNumber { OutboxNumber(rawValue: value) }

  @Test func `the answer to a repetition waits for a look at the journal`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"))
    _ = desk.drainReports()
    desk.submit("one", key: try Self.key("a"), commits: false)
    #expect(desk.drainReports() == [])
    #expect(desk.pending == [])
    desk.commit()
    #expect(desk.drainReports() == [.duplicate(Self.number(1), token: 2, isConflict: false)])
    desk.submit("one", key: try Self.key("a"), commits: false)
    desk.machine.commitFailed(now: desk.now)
    desk.drain(commits: false)
    #expect(desk.drainReports() == [.rejected(.journalFailed, token: 3)])
  }

  @Test func `the same key again is answered with the old number, and nothing is stored`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"))
    let before = desk.journal
    desk.submit("one", key: try Self.key("a"))
    #expect(
      desk.drainReports() == [
        .queued(Self.number(1), token: 1), .duplicate(Self.number(1), token: 2, isConflict: false),
      ])
    #expect(desk.journal == before)
    #expect(desk.machine.counts.duplicates == 1 && desk.machine.counts.keyConflicts == 0)
  }

  @Test func `the key and its entry are in one commit`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"), commits: false)
    let changes = try #require(desk.pending)
    let puts = changes.filter { if case .put = $0 { true } else { false } }
    let keys = changes.filter { if case .putKey = $0 { true } else { false } }
    #expect(puts.count == 1 && keys.count == 1)
  }

  @Test(arguments: [true, false])
  func `a client that retries after a crash has one entry`(keepsCommit: Bool) throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"), commits: false)
    desk.crash(keepsCommit: keepsCommit)
    desk.submit("one", key: try Self.key("a"))
    let expected: OutboxReport =
      keepsCommit
      ? .duplicate(Self.number(1), token: 2, isConflict: false) : .queued(Self.number(1), token: 2)
    #expect(desk.drainReports() == [expected])
    #expect(desk.journal.entries.count == 1 && desk.journal.keys.count == 1)
  }

  @Test func `a repetition during the commit of the first is answered after it`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"), commits: false)
    desk.submit("one", key: try Self.key("a"), commits: false)
    #expect(desk.drainReports() == [])
    desk.commit()
    #expect(
      desk.drainReports() == [
        .queued(Self.number(1), token: 1), .duplicate(Self.number(1), token: 2, isConflict: false),
      ])
  }

  @Test func `a repetition is rejected with the first if the commit fails`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"), commits: false)
    desk.submit("one", key: try Self.key("a"), commits: false)
    desk.machine.commitFailed(now: desk.now)
    desk.pending = nil
    desk.drain()
    #expect(
      desk.drainReports() == [.rejected(.journalFailed, token: 1), .rejected(.journalFailed, token: 2)])
  }

  @Test func `other content under a known key is reported, and the first stays`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"))
    desk.submit("two", key: try Self.key("a"))
    #expect(desk.drainReports().last == .duplicate(Self.number(1), token: 2, isConflict: true))
    #expect(desk.journal.entries.map(\.content.title) == ["one"])
    #expect(desk.machine.counts.keyConflicts == 1)
  }

  @Test func `a removed notification keeps its key, also after a restart`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"))
    desk.submit(.remove(Self.number(1)), key: nil)
    desk.crash(keepsCommit: true)
    desk.submit("one", key: try Self.key("a"))
    #expect(desk.drainReports() == [.duplicate(Self.number(1), token: 3, isConflict: false)])
    #expect(desk.journal.entries.isEmpty)
  }

  @Test func `a key is accepted once for an update, too`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"))
    desk.submit(.update(Self.number(1), Entries.content("two")), key: try Self.key("b"))
    desk.submit(.update(Self.number(1), Entries.content("two")), key: try Self.key("b"))
    #expect(desk.drainReports().last == .duplicate(Self.number(1), token: 3, isConflict: false))
    #expect(desk.journal.keys.map(\.row) == [1, 2])
  }

  @Test func `a key is forgotten after a day, when its notification has left`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"))
    desk.submit("two", key: try Self.key("b"))
    desk.submit(.remove(Self.number(1)), key: nil)
    desk.pass(Self.day - 1)
    desk.submit("three", key: try Self.key("c"))
    #expect(desk.journal.keys.count == 3)
    desk.pass(1)
    // Numbers 2 and 3 are still in the outbox.
    desk.submit("four", key: try Self.key("d"))
    #expect(desk.journal.keys.map(\.row) == [2, 3, 4])
    desk.submit("one", key: try Self.key("a"))
    #expect(desk.reports.last == .queued(Self.number(5), token: 6))
    // The time of this one is over, so it is forgotten as soon as its notification has left.
    desk.submit(.remove(Self.number(2)), key: nil)
    #expect(desk.journal.keys.map(\.row) == [3, 4, 5])
  }

  @Test func `at the limit a new key is rejected, a known one answered, and the oldest makes room`() throws {
    var options = OutboxOptions()
    options.keysLimit = 2
    var desk = Desk(options: options)
    for name in ["a", "b"] { desk.submit(name, key: try Self.key(name)) }
    desk.submit(.remove(Self.number(1)), key: nil)
    desk.submit("c", key: try Self.key("c"))
    #expect(desk.reports.last == .rejected(.keysFull(limit: 2), token: 4))
    desk.submit("b", key: try Self.key("b"))
    #expect(desk.reports.last == .duplicate(Self.number(2), token: 5, isConflict: false))
    desk.submit("without", key: nil)
    #expect(desk.reports.last == .queued(Self.number(3), token: 6))
    desk.pass(Self.day)
    desk.submit("c", key: try Self.key("c"))
    #expect(desk.reports.last == .queued(Self.number(4), token: 7))
    #expect(desk.journal.keys.map(\.row) == [2, 3])
  }

  @Test func `a known key is answered while the outbox is full`() throws {
    var options = OutboxOptions()
    options.entriesLimit = 1
    var desk = Desk(options: options)
    desk.submit("a", key: try Self.key("a"))
    desk.submit("b", key: try Self.key("b"))
    #expect(desk.reports.last == .rejected(.full(limit: 1), token: 2))
    desk.submit("a", key: try Self.key("a"))
    #expect(desk.reports.last == .duplicate(Self.number(1), token: 3, isConflict: false))
    // A rejected one has not used its key.
    #expect(desk.journal.keys.count == 1)
  }

  @Test func `a key has 1 to 128 bytes`() {
    #expect(IdempotencyKey("") == nil && IdempotencyKey([UInt8](repeating: 0, count: 129)) == nil)
    #expect(IdempotencyKey([0]) != nil && IdempotencyKey([UInt8](repeating: 0xFF, count: 128)) != nil)
  }

  // MARK: Expiry

  @Test func `the digest of a submission is that of earlier versions, which journals contain`() {
    #expect(OutboxSubmission.remove(Self.number(1)).digest == -713_542_869_171_583_289)
    #expect(OutboxSubmission.add(OutboxWorld.notification("a")).digest == 6_241_683_821_339_325_919)
  }

  @Test func `a queued notification expires at its time, without a board`() {
    var desk = Desk()
    desk.submit("one", key: nil, expires: UInt32(Self.morning + 10))
    desk.pass(9)
    #expect(desk.drainReports() == [.queued(Self.number(1), token: 1)])
    #expect(desk.machine.nextDeadline == desk.now + .seconds(1))
    desk.pass(1)
    #expect(desk.drainReports() == [.expired(Self.number(1))])
    #expect(desk.journal.entries.isEmpty && desk.machine.counts.expired == 1 && desk.machine.isFinished)
    #expect(desk.machine.nextDeadline == nil)
  }

  @Test func `one that expired while the program did not run is not sent`() throws {
    var desk = Desk()
    desk.submit("one", key: try Self.key("a"), expires: UInt32(Self.morning + 10))
    desk.crash(keepsCommit: true)
    desk.machine.setClock(seconds: Self.morning + 10, now: desk.now)
    desk.machine.sessionOpened(
      DeviceInfo(SynAck(nonce: 1, bootID: 9), mtu: 517, features: []), now: desk.now)
    desk.drain()
    #expect(desk.drainReports() == [.expired(Self.number(1))])
    #expect(desk.journal.entries.isEmpty && desk.journal.keys.count == 1)
  }

  @Test func `one that has expired already is accepted and not sent`() {
    var desk = Desk()
    desk.submit("one", key: nil, expires: UInt32(Self.morning))
    #expect(desk.drainReports() == [.queued(Self.number(1), token: 1), .expired(Self.number(1))])
  }

  @Test func `without the time of day nothing expires`() {
    var desk = Desk()
    desk.machine = OutboxMachine(options: OutboxOptions(), journal: desk.journal, seed: 1)
    desk.submit("one", key: nil, expires: 1)
    desk.pass(1_000_000)
    #expect(desk.drainReports() == [.queued(Self.number(1), token: 1)])
  }

  @Test func `a clock set back delays an expiry, and one set forward advances it`() {
    var desk = Desk()
    for (text, time) in [("one", 100), ("two", 4000)] as [(String, Int64)] {
      desk.submit(text, key: nil, expires: UInt32(Self.morning + time))
    }
    desk.machine.setClock(seconds: Self.morning - 3600, now: desk.now)
    desk.pass(200)
    #expect(desk.journal.entries.count == 2)
    // The driver is asked for the time of day now and then.
    #expect(desk.machine.nextDeadline.map { $0 <= desk.now + OutboxMachine.clockInterval } == true)
    desk.machine.setClock(seconds: Self.morning + 3600, now: desk.now)
    desk.pass(0)
    #expect(desk.reports.last == .expired(Self.number(1)))
    #expect(desk.journal.entries.count == 1)
  }

  @Test func `a timer that fires late asks for the time of day once, not without end`() throws {
    var desk = Desk()
    desk.submit("one", key: nil, expires: UInt32(Self.morning + 1_000_000))
    desk.pass(1000)
    let deadline = try #require(desk.machine.nextDeadline)
    #expect(deadline == desk.now + OutboxMachine.clockInterval)
  }

  @Test func `an update decides when the notification expires`() {
    var desk = Desk()
    desk.submit("one", key: nil, expires: UInt32(Self.morning + 10))
    desk.submit(.update(Self.number(1), Entries.content("two")), key: nil)
    desk.pass(100_000)
    #expect(desk.journal.entries.map(\.content.title) == ["two"])
    #expect(desk.machine.nextDeadline == nil)
  }

  @Test func `many expire in the order of their times`() {
    var expiries = OutboxExpiries()
    for step in 0..<500 {
      expiries.insert(.init(expires: UInt32(step * 7919 % 500), number: Self.number(Int64(step))))
    }
    expiries.clean { $0.number.rawValue % 2 == 0 }
    var seen: [UInt32] = []
    while let first = expiries.first {
      seen.append(first.expires)
      expiries.removeFirst()
    }
    #expect(seen.count == 250 && seen == seen.sorted())
  }
}
