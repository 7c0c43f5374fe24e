import Foundation
import GRDB
import NotibotHost
import NotibotProtocol
import SerialLink
import Testing

@Suite struct JournalErrorTests {
  let folder: TemporaryFolder
  var path: String { folder.file("outbox") }

  init() throws { folder = try TemporaryFolder() }

  static let accesses: [Journal.Access] = [.forwarding, .maintaining, .reading]

  private func code(_ access: Journal.Access = .forwarding) -> JournalError.Code? {
    journalErrorCode { _ = try Journal(path: path, access: access).contents() }
  }

  @Test func `only forwarding creates a journal`() throws {
    #expect(code(.maintaining) == .missing)
    #expect(code(.reading) == .missing)
    #expect(try folder.names() == [])
  }

  @Test(arguments: accesses) func `a missing folder is named`(access: Journal.Access) throws {
    let code = journalErrorCode { _ = try Journal(path: folder.file("no/outbox"), access: access) }
    #expect(code == .directoryMissing)
  }

  @Test(arguments: accesses) func `a path that can lead to no file has the system's reason`(
    access: Journal.Access
  ) throws {
    #expect(
      symlink(folder.file("b"), folder.file("a")) == 0 && symlink(folder.file("a"), folder.file("b")) == 0)
    try Data().write(to: URL(fileURLWithPath: folder.file("c")))
    let long = String(repeating: "x", count: 300)
    for (name, reason) in [
      ("a", "its symbolic links form a loop"), ("c/outbox", "a part of its path is not a folder"),
      (long, "its path is too long"),
    ] {
      do {
        _ = try Journal(path: folder.file(name), access: access)
        Issue.record("\(name) was opened")
      } catch {
        #expect(error.kind == .usage && error.reason == reason && error.hint == "check the path")
      }
    }
  }

  @Test(arguments: accesses) func `a folder and a device are not an outbox`(access: Journal.Access) throws {
    for path in [folder.path, "/dev/null"] {
      #expect(journalErrorCode { _ = try Journal(path: path, access: access) } == .notAnOutbox)
    }
  }

  @Test(arguments: accesses) func `another program's database is refused, unchanged`(access: Journal.Access)
    throws
  {
    let other = try DatabaseQueue(path: path)
    try other.writeWithoutTransaction {
      try $0.execute(sql: "CREATE TABLE writer (src); PRAGMA user_version = 1")
    }
    try other.close()
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    #expect(code(access) == .notAnOutbox)
    #expect(journalErrorCode { _ = try JournalSalvage(path: path) } == .notAnOutbox)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
  }

  @Test(arguments: accesses) func `a text file is refused, unchanged`(access: Journal.Access) throws {
    let text = Data(String(repeating: "Dear Jane, ", count: 1000).utf8)
    try text.write(to: URL(fileURLWithPath: path))
    #expect(code(access) == .notAnOutbox)
    #expect(journalErrorCode { _ = try JournalSalvage(path: path) } == .notAnOutbox)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == text)
  }

  @Test(arguments: accesses) func `a later version is refused`(access: Journal.Access) throws {
    try JournalFixture.make(at: path, changing: "PRAGMA user_version = 6")
    #expect(code(access) == .tooNew(version: 6))
  }

  @Test(arguments: [
    "UPDATE notification SET state = 'lost'", "UPDATE notification SET json = 7",
    "UPDATE notification SET id = 4294967296", "UPDATE notification SET id = NULL",
    "UPDATE notification SET level = 'loud'",
    "UPDATE notification SET timestamp = -1", "UPDATE notification SET actions = '{}'",
    "UPDATE notification SET number = 0", "UPDATE notification SET title = NULL",
    "UPDATE notification SET category = 256", "UPDATE notification SET has_newer = 2",
    "UPDATE writer SET src = 0", "UPDATE writer SET boot_id = -1",
    "PRAGMA user_version = 2",
    "UPDATE writer SET run = NULL", "DELETE FROM writer",
    "DROP TABLE writer", "DROP TABLE notification", "ALTER TABLE notification DROP COLUMN grp",
  ])
  func `an invalid row is reported as damage, with its name`(sql: String) throws {
    try JournalFixture.make(at: path, changing: sql)
    guard case .corrupt(let text) = code(.reading) else {
      Issue.record("\(sql) was accepted")
      return
    }
    #expect(!text.isEmpty)
  }

  @Test func `a damaged page is detected when opening or reading`() throws {
    try makeLarge()
    let intact = try Data(contentsOf: URL(fileURLWithPath: path))
    // The first page's header, and pages of the table.
    for offset in [16, 100, 4096, 4096 * 3 + 3, 4096 * 10] {
      var damaged = intact
      damaged.replaceSubrange(offset..<offset + 8, with: [0xFF, 0xFE, 0xFF, 0xFE, 0xFF, 0xFE, 0xFF, 0xFE])
      try damaged.write(to: URL(fileURLWithPath: path))
      #expect(isDamage(code(.forwarding)), "offset \(offset)")
      #expect(isDamage(code(.maintaining)), "offset \(offset)")
    }
  }

  @Test func `a truncated file is detected when opening`() throws {
    try makeLarge()
    let intact = try Data(contentsOf: URL(fileURLWithPath: path))
    for count in [1, 99, 100, 4096, 8192, intact.count / 2, intact.count - 4096] {
      try intact.prefix(count).write(to: URL(fileURLWithPath: path))
      #expect(isDamage(code(.forwarding)), "\(count) bytes")
    }
  }

  @Test func `a message is one line, with the file and a remedy`() throws {
    let codes: [JournalError.Code] = [
      .missing, .directoryMissing, .badPath, .helperIsOther("x.lock"), .helperDenied("x-wal"),
      .displaced("it has 2 names", isSaved: true),
      .displaced("it was deleted", isSaved: false), .locked(pid: 4711), .locked(pid: nil),
      .permissionDenied, .readOnly,
      .diskFull,
      .notAnOutbox, .tooNew(version: 3), .corrupt("row 7\u{1B}[2J\n"), .inputOutput,
    ]
    for code in codes {
      let error = JournalError(code, path: "/tmp/a\u{1B}\nb", operation: "open")
      #expect(error.description.hasPrefix(#"cannot open the outbox /tmp/a\x1B b: "#))
      #expect(!error.hint.isEmpty)
      for text in [error.description, error.hint] {
        #expect(!text.utf8.contains { $0 < 0x20 })
      }
    }
    let locked = JournalError(.locked(pid: 4711), path: "o", operation: "open")
    #expect(locked.description == "cannot open the outbox o: in use by process 4711")
  }

  @Test(arguments: [
    (JournalError.Code.locked(pid: nil), FailureKind.portBusy), (.permissionDenied, .noPermission),
    (.readOnly, .noPermission), (.helperDenied("o-wal"), .noPermission),
  ])
  func `what could be written when it was opened has another kind of problem`(
    code: JournalError.Code, kind: FailureKind
  ) {
    #expect(JournalError(code, path: "o", operation: "open").kind == kind)
    for operation in ["write", "close"] {
      #expect(JournalError(code, path: "o", operation: operation).kind == .unfitEnvironment)
    }
  }

  private func makeLarge() throws {
    let journal = try Journal(path: path, access: .forwarding)
    try journal.apply((1...100).map { .put(Entries.queued($0, title: String(repeating: "t", count: 400))) })
    journal.close()
  }

  private func isDamage(_ code: JournalError.Code?) -> Bool {
    switch code {
    case .corrupt, .notAnOutbox: true
    case _: false
    }
  }
}
