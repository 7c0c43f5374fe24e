import DeviceEmulator
import NotibotHost
import NotibotProtocol

/// A computer with a journal on its disk, on which the forwarding program runs or not.
struct SimulatedHost {
  /// What the program has of its port.
  enum Port: Equatable {
    case closed
    /// Asked for; the answer comes later.
    case opening(path: String)
    /// Open; `isGone` once the board behind it has gone.
    case open(path: String, board: Int, isGone: Bool)
  }

  /// A commit under way.
  struct Commit {
    var changes: [JournalChange]
    /// Whether the disk has it; not so when it comes to the disk at its end.
    var isWritten: Bool
    /// Whether it failed.
    var hasFailed: Bool
    /// Whether the disk was full then.
    var hasSeenFullDisk = false
  }

  /// One life of the program.
  struct Life {
    /// Counts the lives of all hosts; timers of an earlier life mean nothing.
    var number: Int
    var machine: ForwardingMachine
    var port = Port.closed
    var commit: Commit?
    var isWritable = true
    var isStopping = false
    /// Whether it has had a session.
    var hasSeenBoard = false
    /// Whether the machine has said that it is done.
    var isFinished = false
  }

  let journal: SimulatedJournal
  /// nil while it does not run. Stored as such, so that the machine in it is changed in its place.
  var life: Life?
  /// Lives so far.
  var livesCount = 0
  /// What was submitted while it was down, in order.
  var waiting: [Scenario.Event] = []
  /// What the journal held before a life, by the life's number at this host.
  var snapshots: [Int: JournalContents] = [:]
  /// How many copies are kept.
  static let snapshotsLimit = 8
}
