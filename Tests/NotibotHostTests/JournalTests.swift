import Foundation
import NotibotHost
import NotibotProtocol
import Testing

@Suite struct JournalTests {
  let folder: TemporaryFolder
  var path: String { folder.file("outbox") }

  init() throws { folder = try TemporaryFolder() }

  @Test func `a missing journal is created, empty, for its owner only`() throws {
    let journal = try Journal(path: path, access: .forwarding, source: 3_237_998_081, runToken: 6)
    let header = JournalHeader(source: 3_237_998_081, run: 1, runToken: 6)
    #expect(try journal.contents() == JournalContents(header: header))
    for name in try folder.names() {
      let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
      #expect((attributes[.posixPermissions] as? Int) == 0o600, "\(name)")
    }
  }

  @Test func `the source of two journals is not the same, and never 0`() throws {
    let one = try Journal(path: path, access: .forwarding).contents().header.source
    let other = try Journal(path: folder.file("other"), access: .forwarding).contents().header.source
    #expect(one != 0 && other != 0 && one != other)
  }

  @Test func `each opening for forwarding is counted, others are not`() throws {
    for access: Journal.Access in [.forwarding, .reading, .maintaining, .forwarding, .reading] {
      try Journal(path: path, access: access).close()
    }
    #expect(try Journal(path: path, access: .reading).contents().header.run == 2)
  }

  @Test func `entries are unchanged after closing`() throws {
    let header = JournalHeader(
      source: .max, lastID: .max, knownID: 17, lastNumber: OutboxNumber(rawValue: .max), run: 9, bootID: .max,
      writtenBootID: 0)
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply([.header(header)] + Entries.varied.map { .put($0) })
    #expect(try journal.contents() == JournalContents(header: header, entries: Entries.varied))
    journal.close()
    let reader = try Journal(path: path, access: .reading)
    #expect(try reader.contents() == JournalContents(header: header, entries: Entries.varied))
    try reader.check()
  }

  @Test func `a later put replaces, a delete removes, in the order of the changes`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    var held = Entries.queued(2)
    held.state = .held(Entries.write(1))
    try journal.apply([.put(Entries.queued(3)), .put(Entries.queued(2)), .put(Entries.queued(1))])
    try journal.apply([
      .put(held), .delete(OutboxNumber(rawValue: 1)), .delete(OutboxNumber(rawValue: 99)),
    ])
    #expect(try journal.contents().entries == [held, Entries.queued(3)])
  }

  @Test func `text with special characters is not truncated`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply([.put(Entries.queued(1, title: "a\0b"))])
    #expect(try journal.contents().entries == [Entries.queued(1, title: "a\u{FFFD}b")])
  }

  @Test func `each commit is synced before it returns`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    #expect(try journal.setting("journal_mode") == "wal")
    #expect(try journal.setting("synchronous") == "2")  // FULL
    journal.close()
    #expect(try Journal(path: path, access: .maintaining).setting("synchronous") == "2")
  }

  @Test func `a closed journal leaves one file, and reports that it is closed`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply([.put(Entries.queued(1))])
    journal.close()
    journal.close()
    #expect(try folder.names() == ["outbox"])
    #expect(journalErrorCode { try journal.apply([]) } == .closed)
    #expect(journalErrorCode { _ = try journal.contents() } == .closed)
  }

  @Test func `a copy of a closed journal works, and one with its log`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply([.put(Entries.queued(1))])
    for name in ["outbox", "outbox-wal"] {
      try FileManager.default.copyItem(
        atPath: folder.file(name), toPath: folder.file(name.replacing("outbox", with: "second")))
    }
    journal.close()
    try FileManager.default.copyItem(atPath: path, toPath: folder.file("third"))
    for name in ["second", "third"] {
      let copy = try Journal(path: folder.file(name), access: .forwarding)
      #expect(try copy.contents().entries == [Entries.queued(1)])
    }
  }

  @Test func `commits of a killed process are present`() throws {
    // A copy of the files at that moment is equivalent to a kill.
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply([.put(Entries.queued(1))])
    for name in try folder.names() where name != "outbox" {
      try FileManager.default.copyItem(
        atPath: folder.file(name), toPath: folder.file(name.replacing("outbox", with: "left")))
    }
    try FileManager.default.copyItem(atPath: path, toPath: folder.file("left"))
    let next = try Journal(path: folder.file("left"), access: .forwarding)
    #expect(try next.contents().entries == [Entries.queued(1)])
    #expect(try next.contents().header.run == 2)
  }

  @Test func `version 1 is read as it was written`() throws {
    let file = folder.file("old")
    try JournalFixture.make(at: file)
    let reader = try Journal(path: file, access: .reading)
    #expect(try reader.contents() == JournalFixture.contents)
  }

  @Test(arguments: [Journal.Access.forwarding, .maintaining])
  func `version 1 is migrated by a writer, and loses nothing`(access: Journal.Access)
    throws
  {
    let file = folder.file("old")
    let held = """
      INSERT INTO notification VALUES (6, 'held', 0, 3, 0, X'7B7D', NULL, NULL, NULL, NULL, 'active', 'Mail',
        'Jane', 'Hello', 1700000000, 0, '', NULL, NULL, 0);
      """
    try JournalFixture.make(at: file, changing: held)
    let early = try Journal(path: file, access: .reading)
    let before = try early.contents()
    #expect(before.entries.map(\.isReported) == [false, true])
    let journal = try Journal(path: file, access: access, runToken: 5)
    var expected = before
    (expected.header.run, expected.header.runToken) = access == .forwarding ? (13, 5) : (12, 0)
    #expect(try journal.contents() == expected)
    // A concurrent reader keeps what it has read, and the next one sees the change.
    #expect(try early.contents() == before)
    #expect(try Journal(path: file, access: .reading).contents() == expected)
    expected.entries[0].isReported = true
    expected.header.writtenBootID = 7
    try journal.apply([.put(expected.entries[0]), .header(expected.header)])
    early.close()
    journal.close()
    #expect(try Journal(path: file, access: .reading).contents() == expected)
  }

  @Test(arguments: [Journal.Access.forwarding, .maintaining], [3, 4])
  func `a file of an older version is read, migrated by a writer, and loses nothing`(
    access: Journal.Access, version: Int
  ) throws {
    let file = folder.file("old")
    try FileManager.default.copyItem(atPath: JournalFixture.path(ofVersion: version), toPath: file)
    let early = try Journal(path: file, access: .reading)
    let before = try early.contents()
    #expect(before == JournalFixture.contents(ofVersion: version))
    var expected = before
    let journal = try Journal(path: file, access: access, runToken: 77)
    if access == .forwarding {
      expected.header.run += 1
      expected.header.runToken = 77
    }
    #expect(try journal.contents() == expected)
    #expect(try journal.setting("user_version") == "5")
    expected.keys = [Entries.key(1, "first"), Entries.key(2, "second")]
    try journal.apply(expected.keys.map(JournalChange.putKey))
    early.close()
    journal.close()
    #expect(try Journal(path: file, access: .reading).contents() == expected)
  }

  @Test func `keys are committed with their notifications, replaced and deleted`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply([.put(Entries.queued(1)), .putKey(Entries.key(1, "a")), .putKey(Entries.key(2, "b"))])
    try journal.apply([.putKey(Entries.key(2, "c", number: 4)), .deleteKey(1), .deleteKey(99)])
    #expect(try journal.contents().keys == [Entries.key(2, "c", number: 4)])
    #expect(try journal.contents().entries == [Entries.queued(1)])
  }
}

extension JournalTests {
  @Test func `presses are replaced and deleted, and read in the order in which they were written`() throws {
    let journal = try Journal(path: path, access: .forwarding)
    let (first, second, third) = (
      TakenPresses(bootID: 9, press: 1), TakenPresses(bootID: .max, press: .max),
      TakenPresses(bootID: 0, press: 7)
    )
    for record in [first, second, third] { try journal.apply([.putPresses(record)]) }
    #expect(try journal.contents().presses == [first, second, third])
    let newer = TakenPresses(bootID: 9, press: 2)
    try journal.apply([.putPresses(newer), .deletePresses(.max), .deletePresses(5)])
    #expect(try journal.contents().presses == [third, newer])
  }
}

// MARK: One at a time

@Suite struct JournalLockTests {
  let folder: TemporaryFolder
  var path: String { folder.file("outbox") }

  init() throws { folder = try TemporaryFolder() }

  @Test(arguments: [Journal.Access.forwarding, .maintaining])
  func `a second writer is refused with the name of the first`(access: Journal.Access) throws {
    let first = try Journal(path: path, access: .forwarding)
    let code = journalErrorCode { _ = try Journal(path: path, access: access) }
    #expect(code == .locked(pid: getpid()))
    first.close()
    try Journal(path: path, access: access).close()
  }

  @Test func `a reader sees the commits before its opening while another process sends`() throws {
    let first = try Journal(path: path, access: .forwarding)
    let reader = try Journal(path: path, access: .reading)
    #expect(try reader.contents().entries == [])
    try first.apply([.put(Entries.queued(1))])
    #expect(try reader.contents().entries == [])
    let next = try Journal(path: path, access: .reading)
    #expect(try next.contents().entries == [Entries.queued(1)])
    #expect(journalErrorCode { try reader.apply([.put(Entries.queued(2))]) } == .readOnly)
  }

  @Test func `another name of the file has the same lock`() throws {
    let first = try Journal(path: path, access: .forwarding)
    try FileManager.default.createSymbolicLink(
      atPath: folder.file("link"), withDestinationPath: "outbox")
    let code = journalErrorCode { _ = try Journal(path: folder.file("link"), access: .forwarding) }
    #expect(code == .locked(pid: getpid()))
    first.close()
  }

  @Test func `a leftover lock file of a killed process locks nobody out`() throws {
    try Data("1\n".utf8).write(to: URL(fileURLWithPath: path + ".lock"))
    try Journal(path: path, access: .forwarding).close()
    #expect(try folder.names() == ["outbox"])
  }

  @Test func `a journal that could not be opened is not locked`() throws {
    try Data("no database, but long enough to be asked for its header".utf8)
      .write(to: URL(fileURLWithPath: path))
    for _ in 0..<2 {
      #expect(journalErrorCode { _ = try Journal(path: path, access: .forwarding) } == .notAnOutbox)
    }
    #expect(try folder.names() == ["outbox"])
  }
}
