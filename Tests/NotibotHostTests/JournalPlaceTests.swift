import Foundation
import GRDB
import NotibotHost
import NotibotProtocol
import Testing

/// What is done to the files of an open outbox, and whether a commit is still a promise afterwards.
@Suite struct JournalPlaceTests {
  /// Something that takes the outbox away from the process that has it open.
  enum Attack: String, CaseIterable, CustomTestStringConvertible {
    case deleted, renamed, linked, replaced, copiedOver, truncated
    case logDeleted, logReplaced, logTruncated, indexDeleted, indexTruncated
    case folderRenamed, folderReplaced, linkRetargeted
    case lockDeleted, lockReplaced
    case linkInPlace, logLinkInPlace
    case changed, rowDeleted

    var testDescription: String { rawValue }

    /// Moves a file and leaves a link to it in its place.
    private static func replaceByLink(_ path: String) throws {
      try FileManager.default.moveItem(atPath: path, toPath: path + ".real")
      try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".real")
    }

    func carryOut(_ place: Place) throws {
      let files = FileManager.default
      let (file, folder) = (place.file, place.folder)
      switch self {
      case .deleted: for suffix in ["", "-wal", "-shm"] { try files.removeItem(atPath: file + suffix) }
      case .renamed: try files.moveItem(atPath: file, toPath: folder + "/renamed")
      case .linked: try files.linkItem(atPath: file, toPath: folder + "/link")
      case .replaced:
        try Journal(path: folder + "/other", access: .forwarding).close()
        #expect(rename(folder + "/other", file) == 0)
      case .copiedOver:
        // Otherwise the log still has all that counts.
        try place.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try Journal(path: folder + "/other", access: .forwarding).close()
        try Data(contentsOf: URL(fileURLWithPath: folder + "/other")).write(to: URL(fileURLWithPath: file))
      case .linkInPlace: try Self.replaceByLink(file)
      case .logLinkInPlace: try Self.replaceByLink(file + "-wal")
      case .truncated: #expect(truncate(file, 0) == 0)
      case .logDeleted: try files.removeItem(atPath: file + "-wal")
      case .logReplaced:
        try files.removeItem(atPath: file + "-wal")
        try Data().write(to: URL(fileURLWithPath: file + "-wal"))
      case .logTruncated: #expect(truncate(file + "-wal", 0) == 0)
      case .indexTruncated: #expect(truncate(file + "-shm", 0) == 0)
      case .indexDeleted: try files.removeItem(atPath: file + "-shm")
      case .folderRenamed: try files.moveItem(atPath: folder, toPath: place.base + "/elsewhere")
      case .folderReplaced:
        try files.moveItem(atPath: folder, toPath: place.base + "/elsewhere")
        try files.copyItem(atPath: place.base + "/elsewhere", toPath: folder)
      case .linkRetargeted:
        try files.createDirectory(atPath: place.base + "/second", withIntermediateDirectories: true)
        try files.removeItem(atPath: place.base + "/link")
        try files.createSymbolicLink(
          atPath: place.base + "/link", withDestinationPath: place.base + "/second")
      case .lockDeleted: try files.removeItem(atPath: file + ".lock")
      case .lockReplaced:
        try files.removeItem(atPath: file + ".lock")
        try Data().write(to: URL(fileURLWithPath: file + ".lock"))
      case .changed: try place.execute("UPDATE writer SET last_number = 7")
      case .rowDeleted: try place.execute("DELETE FROM notification")
      }
    }
  }

  /// A folder with an outbox, which is opened through a symbolic link to the folder.
  struct Place {
    let base: String
    var folder: String { base + "/folder" }
    var file: String { folder + "/outbox" }
    var path: String { base + "/link/outbox" }

    init(_ base: String) throws {
      self.base = base
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(atPath: base + "/link", withDestinationPath: folder)
    }

    func execute(_ sql: String) throws {
      let database = try DatabaseQueue(path: file)
      try database.writeWithoutTransaction { try $0.execute(sql: sql) }
      try database.close()
    }
  }

  let folder: TemporaryFolder
  let place: Place

  init() throws {
    folder = try TemporaryFolder()
    place = try Place(folder.path)
  }

  private func makeJournal() throws -> Journal {
    let journal = try Journal(path: place.path, access: .forwarding)
    try journal.apply([.put(Entries.queued(1))])
    return journal
  }

  private func isDisplaced(_ code: JournalError.Code?) -> Bool {
    if case .displaced? = code { true } else { false }
  }

  @Test(arguments: Attack.allCases)
  func `nothing is promised once the files are no longer those of this process`(attack: Attack) throws {
    let journal = try makeJournal()
    try attack.carryOut(place)
    for _ in 1...2 {
      #expect(isDisplaced(journalErrorCode { try journal.apply([.put(Entries.queued(2))]) }))
    }
    journal.close()
  }

  @Test(arguments: Attack.allCases)
  func `a repetition and the end notice it, too`(attack: Attack) throws {
    let (journal, other) = (try makeJournal(), try TemporaryFolder())
    try attack.carryOut(place)
    #expect(isDisplaced(journal.close()?.code))
    let second = try Place(other.path)
    let asked = try Journal(path: second.path, access: .forwarding)
    try asked.apply([.put(Entries.queued(1))])
    try attack.carryOut(second)
    #expect(isDisplaced(journalErrorCode { try asked.apply([]) }))
  }

  @Test(arguments: [(Attack.renamed, "renamed"), (.deleted, "outbox.saved")])
  func `a renamed outbox, and the copy of a deleted one, have all that was committed`(
    attack: Attack, name: String
  ) throws {
    let journal = try makeJournal()
    try attack.carryOut(place)
    let code = journalErrorCode { try journal.apply([.put(Entries.queued(2))]) }
    guard case .displaced(_, isSaved: true)? = code else {
      Issue.record("\(String(describing: code))")
      return
    }
    journal.close()
    let renamed = try Journal(path: place.folder + "/" + name, access: .forwarding)
    #expect(try renamed.contents().entries == [Entries.queued(1)])
  }

  @Test func `files that are not this process's are left as they are`() throws {
    let journal = try makeJournal()
    try Attack.copiedOver.carryOut(place)
    let before = try Data(contentsOf: URL(fileURLWithPath: place.file))
    #expect(isDisplaced(journalErrorCode { try journal.apply([.put(Entries.queued(2))]) }))
    journal.close()
    #expect(try Data(contentsOf: URL(fileURLWithPath: place.file)) == before)
  }

  @Test func `the lock of another process is left in place`() throws {
    let journal = try makeJournal()
    try Attack.lockReplaced.carryOut(place)
    journal.close()
    #expect(FileManager.default.fileExists(atPath: place.file + ".lock"))
  }

  @Test(arguments: [Journal.Access.forwarding, .maintaining, .reading])
  func `a file with two names is refused`(access: Journal.Access) throws {
    try makeJournal().close()
    try Attack.linked.carryOut(place)
    for name in ["outbox", "link"] {
      #expect(
        isDisplaced(journalErrorCode { _ = try Journal(path: place.folder + "/" + name, access: access) }))
    }
  }

  @Test(arguments: [Attack.lockDeleted, .lockReplaced])
  func `a second writer is refused, whatever happens to the lock file`(attack: Attack) throws {
    let journal = try makeJournal()
    try attack.carryOut(place)
    for access in [Journal.Access.forwarding, .maintaining] {
      #expect(
        journalErrorCode { _ = try Journal(path: place.file, access: access) } == .locked(pid: nil))
    }
    journal.close()
    try Journal(path: place.file, access: .forwarding).close()
  }

  @Test func `another mode, a reader and a checkpoint do no harm`() throws {
    let journal = try makeJournal()
    chmod(place.file, 0o640)
    try journal.apply([.put(Entries.queued(2))])
    #expect(try Journal(path: place.file, access: .reading).contents().entries.count == 2)
    try place.execute("PRAGMA wal_checkpoint(PASSIVE)")
    try journal.apply([.put(Entries.queued(3))])
    try place.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try journal.apply([.put(Entries.queued(4))])
    #expect(journal.close() == nil)
    let entries = try Journal(path: place.file, access: .reading).contents().entries
    #expect(entries == (1...4).map { Entries.queued($0) })
  }

  @Test func `a journal is created next to files that have a similar name`() throws {
    try Data("half".utf8).write(to: URL(fileURLWithPath: place.file + ".5.new"))
    let other = try Journal(path: place.file + ".new", access: .forwarding)
    try other.apply([.put(Entries.queued(1))])
    other.close()
    try Journal(path: place.file, access: .forwarding).close()
    let names = try FileManager.default.contentsOfDirectory(atPath: place.folder).sorted()
    #expect(names == ["outbox", "outbox.5.new", "outbox.new"])
    #expect(try Journal(path: place.file + ".new", access: .reading).contents().entries.count == 1)
  }

  @Test(arguments: ["-shm", "-wal", "-journal"], [Journal.Access.forwarding, .reading])
  func `a FIFO in place of a file of SQLite is named, and nobody waits`(
    suffix: String, access: Journal.Access
  ) throws {
    try Journal(path: place.file, access: .forwarding).close()
    unlink(place.file + suffix)
    try #require(mkfifo(place.file + suffix, 0o600) == 0)
    guard case .helperIsOther? = journalErrorCode({ _ = try Journal(path: place.file, access: access) })
    else {
      Issue.record("opened")
      return
    }
  }

  @Test(arguments: [".lock", "-shm", "-wal", "-journal"])
  func `an outbox that has the name of another one's file is left as it is`(suffix: String) throws {
    let other = place.file + suffix
    try Journal(path: other, access: .forwarding).close()
    let before = try Data(contentsOf: URL(fileURLWithPath: other))
    let code = journalErrorCode { _ = try Journal(path: place.file, access: .forwarding) }
    guard case .helperIsOther? = code else {
      Issue.record("\(String(describing: code))")
      return
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == before)
  }
}
