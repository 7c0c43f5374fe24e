import GRDB
import Glibc
import NotibotProtocol
import SerialLink
import Synchronization

/// The outbox file: the state that must survive this process and power failures of the device and
/// the computer.
///
/// An SQLite database, so that a commit is complete or absent. When `apply` returns, its changes
/// are on the disk, in the file that has the journal's name, and no other process has written to
/// it. Calls block until the disk has answered; they are allowed from any thread, and served one at
/// a time. Source: PROTOCOL.md NTF-36; docs/JOURNAL.md.
package final class Journal: Sendable {
  /// The purpose that it is opened for.
  package enum Access: Hashable, Sendable {
    /// Sending from it: created if it is missing; `run` is incremented; no other process can send
    /// from it or change it.
    case forwarding
    /// Changing it by hand: it must exist, and no process can be sending from it.
    case maintaining
    /// Reading it as it is at the opening, also while another process sends from it.
    case reading
  }

  /// How other processes are locked out.
  package enum Sharing: Hashable, Sendable {
    /// By a lock file next to it; others can read.
    case lockFile
    /// By SQLite's own lock, also against readers: for disks without shared memory, such as
    /// simulated ones. All files are created by SQLite.
    case exclusive
  }

  private enum State {
    case open(DatabaseQueue)
    /// A commit failed with an unknown outcome on the disk: nothing more is written.
    case failed(DatabaseQueue, JournalError)
    case closed
  }

  /// What this process holds, and how it left the files.
  private struct Hold: ~Copyable {
    var lock: JournalLock?
    /// nil: not a file that others can reach.
    var files: DatabaseFiles?
    var writer: JournalWriter?
  }

  /// As the user named it.
  package let path: String
  private let state: Mutex<State>
  private let hold: Mutex<Hold>
  /// What the inspection read, until it is asked for.
  private let inspected: Mutex<JournalSnapshot?>

  /// Opens the journal at `path`. If it is for `forwarding` and missing, creates it with mode 0600.
  ///
  /// - Parameters:
  ///   - source: the writer's identity if it is created now, never 0. Source: PROTOCOL.md NTF-35.
  ///   - runToken: of the run that begins if it is opened for `forwarding`.
  ///   - willOpen: called with what the file has and with that token, when it is locked and before
  ///     it is changed.
  package init(
    path: String, access: Access, sharing: Sharing = .lockFile,
    source: UInt32 = .random(in: 1...UInt32.max),
    runToken: UInt32 = .random(in: 1...UInt32.max),
    willOpen: (JournalHeader?, UInt32) throws(JournalError) -> Void = { _, _ in }
  ) throws(JournalError) {
    self.path = path
    var held = Hold()
    var place: JournalPath?
    if sharing == .lockFile {
      let found = try JournalPath(path, operation: "open")
      try JournalOpening.check(found, for: access)
      held.lock = try JournalOpening.lock(found, for: access)
      if found.kind == .absent { try JournalOpening.make(found, source: source) }
      try held.lock?.lockContent(of: found, operation: "open")
      place = found
    }
    let opening = JournalOpening(
      path: path, file: place?.resolved ?? path, access, sharing, runToken: runToken)
    let finding = try opening.inspect(place)
    try willOpen(finding.snapshot?.contents.header, runToken)
    let database = try opening.open(finding, source: source)
    if let place, access != .reading {
      held.files = try DatabaseFiles(named: path, resolved: place.resolved, operation: "open")
      held.writer = try opening.writer(of: database)
    }
    inspected = Mutex(finding.snapshot)
    state = Mutex(.open(database))
    hold = Mutex(held)
  }

  deinit { close() }

  /// The whole content, as one snapshot.
  package func contents() throws(JournalError) -> JournalContents {
    let known = inspected.withLock { $0.take() }
    return try read { try JournalRows.contents(of: $0, known: known) }
  }

  /// Writes all changes, in order, or none of them; they are on the disk when this returns.
  ///
  /// Without changes, it makes sure that all earlier ones still are where they are looked for.
  ///
  /// Throws `.diskFull` if there was no space: then nothing has changed, and the call can be
  /// retried. After any other error the outcome is unknown, because the kernel can discard the
  /// pages of a failed sync and report success the next time. All further calls throw it again:
  /// close the journal and open it again to find out.
  package func apply(_ changes: [JournalChange]) throws(JournalError) {
    let result = state.withLock { state -> Result<Void, JournalError> in
      switch state {
      case .closed: return .failure(JournalError(.closed, path: path, operation: "write"))
      case .failed(_, let error): return .failure(error)
      case .open(let database):
        do {
          try commit(changes, to: database)
          return .success(())
        } catch {
          let error = failure(error, of: database, operation: "write")
          if !error.leavesJournalUsable { state = .failed(database, error) }
          return .failure(error)
        }
      }
    }
    try result.get()
  }

  /// Reads the whole file and looks for corruption; takes a second for a few hundred megabytes.
  package func check() throws(JournalError) {
    try read {
      try JournalOpening.checkForDamage($0, .thorough)
      _ = try JournalRows.contents(of: $0)
    }
  }

  /// The value of an SQLite setting of this connection, as text; `nil` if there is none with that
  /// name. For tests.
  package func setting(_ name: String) throws(JournalError) -> String? {
    try read { try String.fetchOne($0, sql: "PRAGMA \(name)") }
  }

  /// Closes the file and releases its lock. Nothing is lost if this is not called. Returns why the
  /// file is no longer where it was opened, if this process wrote to it and did not know that yet.
  @discardableResult
  package func close() -> JournalError? {
    let error = state.withLock { state -> JournalError? in
      var error: JournalError?
      switch state {
      case .closed: break
      // If it cannot be closed now, SQLite closes it with its last statement; none of ours is
      // running here.
      case .failed(let database, let failure): close(database, after: failure)
      case .open(let database):
        do {
          if hold.withLock({ $0.files != nil }) { try commit([], to: database) }
        } catch let reason {
          let failure = failure(reason, of: database, operation: "close")
          if case .displaced = failure.code { error = failure }
        }
        close(database, after: error)
      }
      state = .closed
      return error
    }
    hold.withLock { $0.lock = nil }
    return error
  }

  private func read<Value>(_ body: (Database) throws -> Value) throws(JournalError) -> Value {
    let path = path
    let database = state.withLock { state -> Result<DatabaseQueue, JournalError> in
      switch state {
      case .closed: .failure(JournalError(.closed, path: path, operation: "read"))
      case .failed(_, let error): .failure(error)
      case .open(let database): .success(database)
      }
    }
    do {
      return try database.get().read(body)
    } catch {
      throw JournalError(error, path: path, operation: "read")
    }
  }
}

// MARK: The only writer

extension Journal {
  /// Makes the changes, unless the files are no longer as this process left them, and looks at
  /// their names again before the commit counts.
  private func commit(_ changes: [JournalChange], to database: DatabaseQueue) throws {
    try hold.withLock { hold in
      // A commit that fails leaves the last writer in the file.
      var writer = hold.writer
      if let text = hold.files?.indexProblem { throw displaced(text) }
      try database.writeWithoutTransaction { database in
        try database.explaining(path, "write") {
          try database.inTransaction(.immediate) {
            if let text = try difference(of: &hold) { throw displaced(text) }
            guard let next = try JournalRows.apply(changes, to: database, after: writer) else {
              throw displaced("another program has changed it while in use")
            }
            writer = next
            return .commit
          }
        }
      }
      hold.writer = writer
      guard hold.files != nil else { return }
      if case .displaced(let text)? = hold.files?.recordCommit() { throw displaced(text) }
      if let text = hold.lock?.problem { throw displaced(text) }
    }
  }

  private func displaced(_ text: String) -> JournalError {
    JournalError(.displaced(text, isSaved: false), path: path, operation: "write")
  }

  /// Why the files are not those of this process, or not as it left them; nil: all is well. Called
  /// in a transaction, so that SQLite keeps other writers out.
  private func difference(of hold: inout Hold) throws(JournalError) -> String? {
    guard let files = hold.files else { return nil }
    if let problem = hold.lock?.problem { return problem }
    switch files.difference() {
    case nil: return nil
    case .displaced(let text): return text
    case .touched(let isWritten):
      guard files.isAccessible else { throw JournalError(errno: errno, path: path, operation: "write") }
      if !isWritten { return nil }
    }
    // Another program's checkpoint is harmless: what is on the disk decides.
    let found = try? JournalInspection.check(file: files.resolved, path: path).snapshot
    guard let found, hold.writer.map({ $0 == found.writer }) ?? true else {
      return "another program has changed it while in use"
    }
    return nil
  }

  /// The error for a commit that failed. If only a name is wrong, all earlier commits are moved
  /// from the log into the file, which has them then under whatever name.
  private func failure(_ error: any Error, of database: DatabaseQueue, operation: String) -> JournalError {
    var failure = JournalError(error, path: path, operation: operation)
    guard case .displaced(let text, _) = failure.code else { return failure }
    let content = hold.withLock { hold -> Int32? in
      guard let descriptor = hold.lock?.content else { return nil }
      return hold.files?.hasContent(in: descriptor) == true ? descriptor : nil
    }
    let isSaved =
      content != nil
      && (try? database.writeWithoutTransaction { database in
        try Int.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)") == 0
      }) == true
    var status = stat()
    if let content, isSaved, fstat(content, &status) == 0, status.st_nlink == 0 {
      failure.code = savedCopy(of: content)
      return failure
    }
    failure.code = .displaced(text, isSaved: isSaved)
    return failure
  }

  /// A file without a name ends with this process: its content gets one.
  private func savedCopy(of content: Int32) -> JournalError.Code {
    let text = "it was deleted while in use"
    let bytes = FileSystem.contents(of: "/proc/self/fd/\(content)", limitBytes: Int(Int32.max))
    let saved = "\(path).saved"
    guard let bytes, (try? WholeFile.write(bytes, to: saved, mode: 0o600)) != nil else {
      return .displaced(text, isSaved: false)
    }
    return .displaced("\(text); \(saved) is a copy", isSaved: true)
  }

  /// SQLite moves its log into the file when it closes it, and deletes the log by its name. If
  /// these can be another's, it stays open until this process ends.
  private func close(_ database: DatabaseQueue, after error: JournalError?) {
    if case .displaced? = error?.code {
      _ = Unmanaged.passRetained(database)
    } else {
      try? database.close()
    }
  }
}

extension JournalError {
  /// Whether the disk is certainly unchanged, so that the journal can continue.
  fileprivate var leavesJournalUsable: Bool {
    switch code {
    case .diskFull, .locked, .readOnly: true
    case .missing, .directoryMissing, .badPath, .helperIsOther, .helperDenied, .displaced, .permissionDenied,
      .notAnOutbox, .tooNew, .corrupt, .inputOutput, .closed:
      false
    }
  }
}
