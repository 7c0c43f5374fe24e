import CSimulatedDisk
import Glibc
import NotibotHost
import NotibotProtocol
import Testing

/// The journal on a disk that loses unsynced changes.
@Suite struct JournalCrashTests {
  /// The steps of a forwarder in one run and the next: creates the journal, commits, closes, opens
  /// it again, commits.
  private static let commits: [[JournalChange]] = [
    [header(2), .put(Entries.queued(1)), .put(Entries.queued(2))],
    [.put(held(1)), .delete(OutboxNumber(rawValue: 2)), header(3), .put(Entries.queued(3))],
    Entries.varied.map { .put($0) },
    [.delete(OutboxNumber(rawValue: 1)), header(99)],
  ]

  private static func header(_ last: Int64) -> JournalChange {
    .header(JournalHeader(source: 7, lastID: UInt32(last), lastNumber: OutboxNumber(rawValue: last), run: 50))
  }

  private static func held(_ number: Int64) -> OutboxEntry {
    var entry = Entries.queued(number)
    entry.state = .held(Entries.write(UInt32(number)))
    return entry
  }

  /// The contents of the journal after 0, 1, 2 … commits, from a journal without a crash.
  private static func moments() throws -> [Moment] {
    let disk = SimulatedDisk(seed: 0)
    let journal = try disk.open()
    return try [Moment(try journal.contents())]
      + commits.map { commit in
        try journal.apply(commit)
        return Moment(try journal.contents())
      }
  }

  /// Contents, without the number of openings.
  private struct Moment: Equatable {
    var entries: [OutboxEntry]
    var lastNumber: OutboxNumber

    init(_ contents: JournalContents) {
      entries = contents.entries
      lastNumber = contents.header.lastNumber
    }
  }

  /// Runs until the end or the first failure; returns the number of acknowledged commits, and
  /// whether it reached the end.
  private func live(on disk: SimulatedDisk) -> (acknowledged: Int, isDone: Bool) {
    var acknowledged = 0
    do {
      for half in [Self.commits.prefix(2), Self.commits.suffix(2)] {
        let journal = try disk.open()
        for commit in half {
          try journal.apply(commit)
          acknowledged += 1
        }
        journal.close()
      }
      return (acknowledged, true)
    } catch {
      return (acknowledged, false)
    }
  }

  /// After a crash: acknowledged commits are present, and the commit in progress is complete or
  /// absent.
  private func expectWhole(
    on disk: SimulatedDisk, after acknowledged: Int, of moments: [Moment], _ what: String
  ) throws {
    disk.crash()
    let journal = try disk.open()
    let found = Moment(try journal.contents())
    let allowed = moments[acknowledged...min(acknowledged + 1, moments.count - 1)]
    #expect(allowed.contains(found), "\(what), \(acknowledged) commits acknowledged")
    try journal.check()
    try journal.apply([.put(Entries.queued(1000))])
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `commits survive a crash at any sync, and none is partial`(seed: UInt64) throws {
    let moments = try Self.moments()
    for sync in 1... as PartialRangeFrom<UInt64> {
      let disk = SimulatedDisk(seed: seed &* 1000 &+ sync)
      sd_crash_at_sync(disk.id, sync)
      let (acknowledged, isDone) = live(on: disk)
      try expectWhole(on: disk, after: acknowledged, of: moments, "seed \(seed), sync \(sync)")
      if isDone {
        #expect(sync > 6, "too few syncs were seen")
        break
      }
    }
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>)
  func `commits survive a crash at any write, and none is partial`(seed: UInt64) throws {
    let moments = try Self.moments()
    for write in 1... as PartialRangeFrom<UInt64> {
      let disk = SimulatedDisk(seed: seed &* 1000 &+ write)
      sd_fail_after(disk.id, write, EIO, SD_FOR_EVER)
      let (acknowledged, isDone) = live(on: disk)
      try expectWhole(on: disk, after: acknowledged, of: moments, "seed \(seed), write \(write)")
      if isDone {
        #expect(write > 20, "too few writes were seen")
        break
      }
    }
  }

  @Test(arguments: 1...100 as ClosedRange<UInt64>)
  func `many crashes in a row lose no acknowledged commit`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let disk = SimulatedDisk(seed: seed)
    var acknowledged: [Int64] = []
    var number: Int64 = 0
    for life in 1...8 {
      sd_crash_at_sync(disk.id, UInt64.random(in: 1...12, using: &random))
      var underWay: Int64?
      do {
        let journal = try disk.open()
        for _ in 0..<6 {
          number += 1
          underWay = number
          try journal.apply([.put(Entries.queued(number))])
          acknowledged.append(number)
          underWay = nil
        }
      } catch {
        #expect(error.code == .inputOutput)
      }
      disk.crash()
      let found = try disk.open().contents().entries.map(\.number.rawValue)
      let isUnderWayThere = underWay.map { found.last == $0 } ?? false
      #expect(found == acknowledged + (isUnderWayThere ? [number] : []), "seed \(seed), run \(life)")
      acknowledged = found
      disk.crash()
    }
  }

  @Test(arguments: [SD_ONCE, SD_FOR_EVER])
  func `a commit on a full disk changes nothing, and can be retried`(repeats: sd_repeat_t)
    throws
  {
    for write in 1... as PartialRangeFrom<UInt64> {
      let disk = SimulatedDisk(seed: write)
      let journal = try disk.open()
      try journal.apply([.put(Entries.queued(1))])
      let before = try journal.contents()
      sd_fail_after(disk.id, write, ENOSPC, repeats)
      let code = journalErrorCode { try journal.apply(Entries.varied.map { .put($0) }) }
      if code == nil {
        #expect(write > 10, "too few writes were seen")
        break
      }
      #expect(code == .diskFull, "write \(write)")
      #expect(try journal.contents() == before, "write \(write)")
      sd_fail_after(disk.id, 0, 0, SD_ONCE)
      try journal.apply([.put(Entries.queued(5))])
      disk.crash()
      #expect(
        try disk.open().contents().entries == [Entries.queued(1), Entries.queued(5)], "write \(write)")
    }
  }

  @Test func `after a failed sync nothing more is written, because the disk is in an unknown state`() throws {
    let disk = SimulatedDisk(seed: 1)
    let journal = try disk.open()
    sd_crash_at_sync(disk.id, 1)
    #expect(journalErrorCode { try journal.apply([.put(Entries.queued(1))]) } == .inputOutput)
    let writes = disk.counters.writes
    #expect(journalErrorCode { try journal.apply([.put(Entries.queued(2))]) } == .inputOutput)
    #expect(journalErrorCode { _ = try journal.contents() } == .inputOutput)
    #expect(disk.counters.writes == writes)
  }

  @Test func `a commit costs one sync`() throws {
    let disk = SimulatedDisk(seed: 1)
    let journal = try disk.open()
    try journal.apply([.put(Entries.queued(1))])
    let before = disk.counters.syncs
    for number in 2...20 as ClosedRange<Int64> { try journal.apply([.put(Entries.queued(number))]) }
    #expect(disk.counters.syncs - before == 19)
  }

  @Test func `an exclusive journal has one user`() throws {
    let disk = SimulatedDisk(seed: 1)
    let journal = try disk.open()
    #expect(journalErrorCode { _ = try disk.open(.reading) } == .locked(pid: nil))
    journal.close()
    #expect(try disk.open(.reading).contents().header.run == 1)
  }
}
