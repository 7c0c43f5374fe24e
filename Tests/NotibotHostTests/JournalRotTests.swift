import Foundation
import GRDB
import NotibotHost
import NotibotProtocol
import Testing

/// Journals on a disk with flipped bits.
@Suite struct JournalRotTests {
  let folder: TemporaryFolder
  var path: String { folder.file("outbox") }

  init() throws { folder = try TemporaryFolder() }

  private static let suffixes = ["", "-wal"]

  /// The files of a journal after a kill with several commits in its log: a copy of this one at
  /// that moment.
  private func makeKilled() throws -> (files: [Data], contents: JournalContents) {
    let live = folder.file("live")
    let journal = try Journal(path: live, access: .forwarding, source: 7)
    for number in 1...6 as ClosedRange<Int64> {
      try journal.apply([
        .put(Entries.queued(number, title: String(repeating: "t", count: 300))),
        .header(JournalHeader(source: 7, lastNumber: OutboxNumber(rawValue: number), run: 1)),
      ])
    }
    let contents = try journal.contents()
    let files = try Self.suffixes.map { try Data(contentsOf: URL(fileURLWithPath: live + $0)) }
    journal.close()
    return (files, contents)
  }

  private func place(_ files: [Data]) throws {
    for name in try folder.names() where name.hasPrefix("outbox") {
      try FileManager.default.removeItem(atPath: folder.file(name))
    }
    for (suffix, file) in zip(Self.suffixes, files) {
      try file.write(to: URL(fileURLWithPath: path + suffix))
    }
  }

  private func placed() throws -> [Data] {
    try Self.suffixes.map { try Data(contentsOf: URL(fileURLWithPath: path + $0)) }
  }

  /// Opens the placed files; they must be refused as damaged and stay unchanged, or contain the
  /// entries.
  private func expectNoSilentLoss(
    of contents: JournalContents, _ files: [Data], _ access: Journal.Access, _ what: String
  ) throws -> Bool {
    try place(files)
    do {
      let journal = try Journal(path: path, access: access)
      let found = try journal.contents()
      journal.close()
      #expect(
        found.entries == contents.entries && found.header.lastNumber == contents.header.lastNumber, "\(what)")
      return false
    } catch {
      // Typed: the body throws nothing else.
      switch error.code {
      case .corrupt, .inputOutput: break
      default: Issue.record("\(what): \(error)")
      }
      #expect(try placed() == files, "\(what): the files were changed")
      return true
    }
  }

  private func flipped(_ files: [Data], _ file: Int, bit: Int) -> [Data] {
    var files = files
    files[file][bit / 8] ^= 1 << UInt8(bit % 8)
    return files
  }

  // MARK: Bits

  @Test func `each bit of the log's header is detected when it flips`() throws {
    let (files, contents) = try makeKilled()
    for bit in 0..<32 * 8 {
      let access: Journal.Access = [.forwarding, .maintaining, .reading][bit % 3]
      let isFound = try expectNoSilentLoss(of: contents, flipped(files, 1, bit: bit), access, "bit \(bit)")
      #expect(isFound, "bit \(bit)")
    }
  }

  /// In the last commit a torn write can look the same. Where several bits explain the checksum,
  /// that is refused, too.
  @Test func `each bit of a frame's header is detected when it flips, and corrected in the last commit`()
    throws
  {
    let (files, contents) = try makeKilled()
    let frames = (files[1].count - 32) / 4120
    var corrected = 0
    for frame in [1, frames / 2, frames - 1] {
      for bit in stride(from: frame % 2, to: 24 * 8, by: 2) {
        let place = (32 + frame * 4120) * 8 + bit
        let isFound = try expectNoSilentLoss(
          of: contents, flipped(files, 1, bit: place), .forwarding, "frame \(frame), bit \(bit)")
        if frame < frames - 1 { #expect(isFound, "frame \(frame), bit \(bit)") }
        if !isFound { corrected += 1 }
      }
    }
    // All bits of salts and checksum, of which every second one was tried.
    #expect(corrected >= 64)
  }

  @Test func `a torn sector that differs from the intended one in a bit does not refuse the outbox`() throws {
    let (files, contents) = try makeKilled()
    let last = 32 + ((files[1].count - 32) / 4120 - 1) * 4120
    var torn = files
    // A byte that was zero on the old sector.
    let place = try #require(
      stride(from: last + 24, to: files[1].count, by: 4).first { files[1][$0].nonzeroBitCount == 1 })
    torn[1][place] = 0
    #expect(try expectNoSilentLoss(of: contents, torn, .reading, "reading changes nothing"))
    #expect(try !expectNoSilentLoss(of: contents, torn, .forwarding, "forwarding corrects it"))
    #expect(try !expectNoSilentLoss(of: contents, torn, .maintaining, "maintaining corrects it"))
  }

  @Test func `bits all over the log are detected when they flip`() throws {
    let (files, contents) = try makeKilled()
    for bit in stride(from: 5, to: files[1].count * 8, by: 4_999) {
      #expect(try expectNoSilentLoss(of: contents, flipped(files, 1, bit: bit), .reading, "bit \(bit)"))
    }
  }

  @Test func `each bit of the database's header is detected when it flips, or has no effect`() throws {
    _ = try makeKilled()
    // Closed: everything is in the database.
    let closed = try Data(contentsOf: URL(fileURLWithPath: folder.file("live")))
    let contents = try Journal(path: folder.file("live"), access: .reading).contents()
    var found = 0
    for bit in 0..<100 * 8 {
      let access: Journal.Access = [.forwarding, .maintaining][bit % 2]
      if try expectNoSilentLoss(of: contents, flipped([closed, Data()], 0, bit: bit), access, "bit \(bit)") {
        found += 1
      }
    }
    #expect(found > 300)
  }

  @Test func `bits all over the database are detected when they flip, or have no effect`() throws {
    _ = try makeKilled()
    let closed = try Data(contentsOf: URL(fileURLWithPath: folder.file("live")))
    let contents = try Journal(path: folder.file("live"), access: .reading).contents()
    for bit in stride(from: 800, to: closed.count * 8, by: 1_009) {
      _ = try expectNoSilentLoss(
        of: contents, flipped([closed, Data()], 0, bit: bit), .forwarding, "bit \(bit)")
    }
  }

  // MARK: The result of a crash is not damage

  @Test func `a log that ends within its last commit keeps the others`() throws {
    let (files, contents) = try makeKilled()
    for cut in [1, 24, 500, 4096, 4120] {
      try place([files[0], files[1].dropLast(cut)])
      let found = try Journal(path: path, access: .forwarding).contents()
      #expect(found.entries == Array(contents.entries.dropLast()), "cut by \(cut)")
    }
  }

  @Test func `a last commit that lacks a sector is dropped`() throws {
    let (files, contents) = try makeKilled()
    var torn = files
    let sector = (files[1].count - 512) / 512 * 512
    torn[1].replaceSubrange(sector..<sector + 512, with: Data(count: 512))
    try place(torn)
    #expect(
      try Journal(path: path, access: .forwarding).contents().entries == Array(contents.entries.dropLast()))
  }

  // MARK: Files

  @Test(arguments: JournalErrorTests.accesses)
  func `an empty file is not a new outbox`(access: Journal.Access) throws {
    try Data().write(to: URL(fileURLWithPath: path))
    let code = journalErrorCode { _ = try Journal(path: path, access: access) }
    #expect(code == .corrupt("it is empty"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty)
  }

  @Test(arguments: JournalErrorTests.accesses)
  func `a log without its file is damage`(access: Journal.Access) throws {
    let (files, _) = try makeKilled()
    try place(files)
    try FileManager.default.removeItem(atPath: path)
    let code = journalErrorCode { _ = try Journal(path: path, access: access) }
    #expect(code == .corrupt("it is gone, and its log is there"))
    #expect(try folder.names() == ["live", "outbox-wal"])
    #expect(try JournalSalvage(path: path).entries.count == 6)
  }

  // MARK: Rows

  @Test(arguments: [
    "UPDATE notification SET text = 'See you tomorrow?' WHERE number = 2",
    "UPDATE notification SET told = 1 WHERE number = 2",
    "UPDATE notification SET state = 'refused' WHERE number = 2",
    "DELETE FROM notification WHERE number = 2", "UPDATE notification SET number = 9 WHERE number = 2",
    "UPDATE notification SET crc = crc + 1 WHERE number = 2", "UPDATE writer SET last_number = 5",
    "UPDATE intake SET key = X'62' WHERE row = 1", "UPDATE intake SET number = 2 WHERE row = 1",
    "UPDATE intake SET keep_until = 0 WHERE row = 1", "DELETE FROM intake WHERE row = 1",
    "UPDATE intake SET row = 3 WHERE row = 1", "UPDATE writer SET keys_digest = keys_digest + 1",
    "DROP TABLE intake", "PRAGMA user_version = 3",
    "UPDATE writer SET digest = digest + 1", "PRAGMA user_version = 2", "PRAGMA user_version = 7",
    "PRAGMA application_id = 1316250229",
    "CREATE TABLE other (a)",
  ])
  func `a changed character and a missing row are damage, and are not overwritten`(sql: String) throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply((1...3).map { .put(Entries.queued($0)) } + [.putKey(Entries.key(1, "a"))])
    journal.close()
    let database = try DatabaseQueue(path: path)
    try database.writeWithoutTransaction { try $0.execute(sql: sql) }
    try database.close()
    let changed = try Data(contentsOf: URL(fileURLWithPath: path))
    for access in JournalErrorTests.accesses {
      guard case .corrupt = journalErrorCode({ _ = try Journal(path: path, access: access) }) else {
        Issue.record("\(access) accepts: \(sql)")
        continue
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == changed)
    }
  }
}

/// Keys in damaged journals.
@Suite struct JournalKeyRotTests {
  let folder: TemporaryFolder
  var path: String { folder.file("outbox") }

  init() throws { folder = try TemporaryFolder() }

  @Test func `a key as an older commit left it is damage`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply([.putKey(Entries.key(1, "a")), .putKey(Entries.key(2, "b"))])
    journal.close()
    try FileManager.default.copyItem(atPath: path, toPath: folder.file("old"))
    let later = try Journal(path: path, access: .forwarding)
    try later.apply([.putKey(Entries.key(1, "c"))])
    later.close()
    let database = try DatabaseQueue(path: path)
    try database.writeWithoutTransaction { database in
      try database.execute(sql: "ATTACH ? AS old", arguments: [folder.file("old")])
      try database.execute(sql: "REPLACE INTO intake SELECT * FROM old.intake WHERE row = 1")
    }
    try database.close()
    let code = journalErrorCode { _ = try Journal(path: path, access: .forwarding) }
    #expect(code == .corrupt("not all of its 2 keys are as the last commit left them"))
    let salvage = try JournalSalvage(path: path)
    #expect(salvage.keys.map(\.key) == [Entries.key(1, "a").key, Entries.key(2, "b").key])
    #expect(salvage.findings.contains { $0.contains("keys") }, "\(salvage.findings)")
  }

  @Test func `a salvage has all keys of an intact journal, and reports a missing one`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply([.put(Entries.queued(1)), .putKey(Entries.key(1, "a")), .putKey(Entries.key(2, "b"))])
    journal.close()
    let intact = try JournalSalvage(path: path)
    #expect(intact.keys.map(\.row) == [1, 2] && intact.findings.isEmpty && intact.isComplete)
    let database = try DatabaseQueue(path: path)
    try database.writeWithoutTransaction { try $0.execute(sql: "DELETE FROM intake WHERE row = 1") }
    try database.close()
    let damaged = try JournalSalvage(path: path)
    #expect(damaged.isComplete && damaged.keys.map(\.row) == [2])
    #expect(
      damaged.findings.contains { $0.hasPrefix("1 of 2 keys can be read") }, "\(damaged.findings)")
  }
}

/// Salvage of damaged journals.
@Suite struct JournalSalvageTests {
  let folder: TemporaryFolder
  var path: String { folder.file("outbox") }

  init() throws { folder = try TemporaryFolder() }

  private func bytes(_ suffix: String = "") throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path + suffix))
  }

  private func flip(_ suffix: String, bit: Int) throws {
    var file = try bytes(suffix)
    file[bit / 8] ^= 1 << UInt8(bit % 8)
    try file.write(to: URL(fileURLWithPath: path + suffix))
  }

  private func makeClosed(_ entries: [OutboxEntry]) throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply(entries.map { .put($0) })
    journal.close()
  }

  @Test func `an intact journal yields all entries of every kind`() throws {
    try makeClosed(Entries.varied)
    let before = try bytes()
    let salvage = try JournalSalvage(path: path)
    #expect(salvage.entries == Entries.varied)
    #expect(salvage.isComplete && salvage.findings == [] && salvage.expectedCount == Entries.varied.count)
    #expect(try bytes() == before)
    #expect(try folder.names() == ["outbox"])
  }

  @Test func `one wrong bit of the log is corrected, wherever it is`() throws {
    let live = folder.file("live")
    let journal = try Journal(path: live, access: .forwarding)
    for entry in Entries.varied { try journal.apply([.put(entry)]) }
    let files = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: live + $0)) }
    journal.close()
    for bit in [
      3, 129, 190, 230, 248, 250, 32 * 8 + 1, 36 * 8, 41 * 8, 50 * 8 + 5, 5_000 * 8, files[1].count * 8 - 1,
    ] {
      for (suffix, file) in zip(["", "-wal"], files) {
        try file.write(to: URL(fileURLWithPath: path + suffix))
      }
      try flip("-wal", bit: bit)
      let salvage = try JournalSalvage(path: path)
      #expect(salvage.entries == Entries.varied, "bit \(bit)")
      #expect(salvage.isComplete, "bit \(bit)")
      #expect(salvage.findings.contains { $0.contains("one bit, which is corrected") }, "\(salvage.findings)")
    }
  }

  @Test func `an unreadable frame loses only its content`() throws {
    let live = folder.file("live")
    let journal = try Journal(path: live, access: .forwarding)
    for number in 1...20 as ClosedRange<Int64> {
      try journal.apply([.put(Entries.queued(number, title: String(repeating: "t", count: 900)))])
    }
    let files = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: live + $0)) }
    journal.close()
    for (suffix, file) in zip(["", "-wal"], files) { try file.write(to: URL(fileURLWithPath: path + suffix)) }
    for bit in [900, 2_000, 9_000] { try flip("-wal", bit: (32 + 4 * 4120) * 8 + 24 * 8 + bit) }
    guard case .corrupt = journalErrorCode({ _ = try Journal(path: path, access: .forwarding) }) else {
      Issue.record("damage was not detected")
      return
    }
    let salvage = try JournalSalvage(path: path)
    #expect(salvage.entries.count >= 16)
    #expect(
      salvage.entries.allSatisfy {
        $0 == Entries.queued($0.number.rawValue, title: String(repeating: "t", count: 900))
      })
  }

  @Test func `a damaged page loses its rows, which are named`() throws {
    try makeClosed((1...100).map { Entries.queued($0, title: String(repeating: "t", count: 400)) })
    // The last byte of a page is in a row.
    try flip("", bit: (4096 * 10 - 1) * 8)
    let before = try bytes()
    let salvage = try JournalSalvage(path: path)
    #expect(salvage.entries.count == 99 && salvage.expectedCount == 100)
    #expect(!salvage.isComplete)
    #expect(salvage.findings.contains { $0.contains("cannot be read, if that is its number") })
    #expect(try bytes() == before)
  }

  @Test func `deleted notifications do not return`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply((1...100).map { .put(Entries.queued($0, title: String(repeating: "t", count: 400))) })
    try journal.apply((1...90).map { .delete(OutboxNumber(rawValue: $0)) })
    journal.close()
    let salvage = try JournalSalvage(path: path)
    #expect(salvage.entries.map(\.number.rawValue) == Array(91...100))
    #expect(salvage.isComplete)
  }

  @Test func `an older version is read, too, without checksums`() throws {
    try JournalFixture.make(at: path)
    let salvage = try JournalSalvage(path: path)
    #expect(salvage.entries == JournalFixture.contents.entries)
    #expect(!salvage.isComplete)
  }

  @Test func `a text, a missing file and a file in use are refused`() throws {
    #expect(journalErrorCode { _ = try JournalSalvage(path: path) } == .missing)
    let journal = try Journal(path: path, access: .forwarding)
    #expect(journalErrorCode { _ = try JournalSalvage(path: path) } == .locked(pid: nil))
    journal.close()
    #expect(journalErrorCode { _ = try JournalSalvage(path: "/dev/null") } == .notAnOutbox)
    try Data(repeating: 0x78, count: 100_000).write(to: URL(fileURLWithPath: path))
    #expect(journalErrorCode { _ = try JournalSalvage(path: path) } == .notAnOutbox)
  }
}
