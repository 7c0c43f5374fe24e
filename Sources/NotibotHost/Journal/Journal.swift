import GRDB
import NotibotProtocol
import Synchronization

/// The outbox file: the state that must survive this process and power failures of the device and
/// the computer.
///
/// An SQLite database, so that a commit is complete or absent. When `apply` returns, its changes
/// are on the disk. Calls block until the disk has answered; they are allowed from any thread, and
/// served one at a time. Source: PROTOCOL.md NTF-36; docs/JOURNAL.md.
package final class Journal: Sendable {
  /// The purpose that it is opened for.
  package enum Access: Hashable, Sendable {
    /// Sending from it: created if it is missing; `run` is incremented; no other process can send
    /// from it or change it.
    case forwarding
    /// Changing it by hand: it must exist, and no process can be sending from it.
    case maintaining
    /// Reading it, also while another process sends from it.
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

  /// As the user named it.
  package let path: String
  private let state: Mutex<State>
  private let lock: Mutex<JournalLock?>
  /// What the inspection read, until it is asked for.
  private let inspected: Mutex<JournalSnapshot?>

  /// Opens the journal at `path`. If it is for `forwarding` and missing, creates it with mode 0600.
  ///
  /// - Parameters:
  ///   - source: the writer's identity if it is created now, never 0. Source: PROTOCOL.md NTF-35.
  package init(
    path: String, access: Access, sharing: Sharing = .lockFile,
    source: UInt32 = .random(in: 1...UInt32.max)
  ) throws(JournalError) {
    self.path = path
    switch sharing {
    case .exclusive:
      lock = Mutex(nil)
      let opening = JournalOpening(path: path, file: path, access, sharing)
      let finding = try opening.inspect(nil)
      inspected = Mutex(finding.snapshot)
      state = Mutex(.open(try opening.open(finding, source: source)))
    case .lockFile:
      let place = try JournalPath(path, operation: "open")
      try JournalOpening.check(place, for: access)
      lock = Mutex(try JournalOpening.lock(place, for: access))
      if place.kind == .absent { try JournalOpening.make(place, source: source) }
      let opening = JournalOpening(path: path, file: place.resolved, access, sharing)
      let finding = try opening.inspect(place)
      inspected = Mutex(finding.snapshot)
      state = Mutex(.open(try opening.open(finding, source: source)))
    }
  }

  deinit { close() }

  /// The whole content, as one snapshot.
  package func contents() throws(JournalError) -> JournalContents {
    let known = inspected.withLock { $0.take() }
    return try read { try JournalRows.contents(of: $0, known: known) }
  }

  /// Writes all changes, in order, or none of them; they are on the disk when this returns.
  ///
  /// Throws `.diskFull` if there was no space: then nothing has changed, and the call can be
  /// retried. After any other error the outcome is unknown, and all further calls throw it again:
  /// close the journal and open it again to find out.
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

  /// Closes the file and releases its lock. Nothing is lost if this is not called.
  package func close() {
    state.withLock { state in
      switch state {
      case .closed: break
      // If it cannot be closed now, SQLite closes it with its last statement; none of ours is
      // running here.
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
  /// Whether the disk is certainly unchanged, so that the journal can continue.
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
