import GRDB
import NotibotProtocol
import Synchronization

/// The outbox's file: what must outlive this process, the device's power and this machine's.
///
/// An SQLite database, so that a commit is there as a whole or not at all. What `apply` has returned from is on the disk.
/// Calls block until the disk has answered; they may come from any thread, one at a time is served.
/// Source: PROTOCOL.md NTF-36; docs/JOURNAL.md.
package final class Journal: Sendable {
  /// What it is opened for.
  package enum Access: Hashable, Sendable {
    /// Sending from it: made when it is not there; `run` counts one more; nobody else may send from it or change it.
    case forwarding
    /// Changing it by hand: it must be there, and nobody may be sending from it.
    case maintaining
    /// Reading it, also while another process sends from it.
    case reading
  }

  /// How others are kept out.
  package enum Sharing: Hashable, Sendable {
    /// By a lock file beside it; others may read.
    case lockFile
    /// By SQLite's own lock, also against readers: for disks without shared memory, such as simulated ones. Makes no file
    /// but through SQLite.
    case exclusive
  }

  private enum State {
    case open(DatabaseQueue)
    /// A commit failed in a way that leaves open what is on the disk: nothing more is written.
    case failed(DatabaseQueue, JournalError)
    case closed
  }

  /// As the user named it.
  package let path: String
  private let state: Mutex<State>
  private let lock: Mutex<JournalLock?>

  /// Opens the journal at `path`, and makes it, with mode 0600, when it is for `forwarding` and not there.
  ///
  /// - Parameters:
  ///   - source: the writer's identity if it is made now, never 0. Source: PROTOCOL.md NTF-35.
  package init(
    path: String, access: Access, sharing: Sharing = .lockFile,
    source: UInt32 = .random(in: 1...UInt32.max)
  ) throws(JournalError) {
    self.path = path
    switch sharing {
    case .exclusive:
      lock = Mutex(nil)
      let opening = JournalOpening(path: path, file: path, access, sharing)
      state = Mutex(.open(try opening.open(try opening.inspect(nil), source: source)))
    case .lockFile:
      let place = try JournalPath(path, operation: "open")
      try JournalOpening.check(place, for: access)
      lock = Mutex(try JournalOpening.lock(place, for: access))
      if place.kind == .absent { try JournalOpening.make(place, source: source) }
      let opening = JournalOpening(path: path, file: place.resolved, access, sharing)
      state = Mutex(.open(try opening.open(try opening.inspect(place), source: source)))
    }
  }

  deinit { close() }

  /// All that it holds, at one moment.
  package func contents() throws(JournalError) -> JournalContents {
    try read { try JournalRows.contents(of: $0) }
  }

  /// Writes all of the changes, in their order, or none of them; they are on the disk when this returns.
  ///
  /// Throws `.diskFull` when there was no room: nothing has changed then, and it may be tried again. After any other error
  /// it is open whether the changes are there, and all further calls throw it again: close the journal, open it and see.
  package func apply(_ changes: [JournalChange]) throws(JournalError) {
    let path = path
    let result = state.withLock { state -> Result<Void, JournalError> in
      switch state {
      case .closed: return .failure(JournalError(.closed, path: path, operation: "write"))
      case .failed(_, let error): return .failure(error)
      case .open(let database):
        do {
          try database.writeWithoutTransaction { database in
            try database.inTransaction(.immediate) {
              try JournalRows.apply(changes, to: database)
              return .commit
            }
          }
          return .success(())
        } catch {
          let error = JournalError(error, path: path, operation: "write")
          if !error.leavesJournalUsable { state = .failed(database, error) }
          return .failure(error)
        }
      }
    }
    try result.get()
  }

  /// Reads all of the file and looks for damage; takes a second for some hundred megabytes.
  package func check() throws(JournalError) {
    try read {
      try JournalOpening.checkForDamage($0, .thorough)
      _ = try JournalRows.contents(of: $0)
    }
  }

  /// The value of an SQLite setting of this connection, as text; `nil` when there is none of that name. For tests.
  package func setting(_ name: String) throws(JournalError) -> String? {
    try read { try String.fetchOne($0, sql: "PRAGMA \(name)") }
  }

  /// Closes the file and lets others in. Nothing is lost without it.
  package func close() {
    state.withLock { state in
      switch state {
      case .closed: break
      // What cannot be closed now, SQLite closes with its last statement; nothing of ours is under way here.
      case .open(let database), .failed(let database, _): try? database.close()
      }
      state = .closed
    }
    lock.withLock { $0 = nil }
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

extension JournalError {
  /// Whether nothing has changed on the disk, for sure, so that the journal may go on.
  fileprivate var leavesJournalUsable: Bool {
    switch code {
    case .diskFull, .locked, .readOnly: true
    case .missing, .directoryMissing, .lockIsLink, .permissionDenied, .notAnOutbox, .tooNew, .corrupt,
      .inputOutput,
      .closed:
      false
    }
  }
}
