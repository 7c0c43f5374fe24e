import DeviceEmulator
import NotibotHost
import NotibotProtocol

/// A computer with a journal on its disk, on which the forwarding program runs or not.
struct SimulatedHost {
  /// A commit in progress.
  struct Commit {
    var changes: [JournalChange]
    /// Whether the disk has it; false if it reaches the disk at its end.
    var isWritten: Bool
    /// Whether it failed.
    var hasFailed: Bool
    /// Whether the disk was full then.
    var hasSeenFullDisk = false
  }

  /// One life of the program.
  struct Life {
    /// Counts the lives of all hosts; timers of an earlier life are ignored.
    var number: Int
    var machine: ForwardingMachine
    /// The port, which is a board's number.
    var port = PortAttempts<Int>()
    var commit: Commit?
    var isWritable = true
    var isStopping = false
    /// Whether it has had a session.
    var hasSeenBoard = false
    /// Whether the machine has reported that it is done.
    var isFinished = false
  }

  let journal: SimulatedJournal
  /// nil while it does not run. Stored as such, so that the machine in it is changed in place.
  var life: Life?
  /// Lives so far.
  var livesCount = 0
  /// Numbers whose first write was committed: from then on the device decides whether they expired.
  var begun: Set<OutboxNumber> = []
  /// Submissions while it was down, in order.
  var waiting: [Scenario.Event] = []
  /// The journal before a life, by the life's number at this host.
  var snapshots: [Int: JournalContents] = [:]
  /// The maximum number of copies that are kept.
  static let snapshotsLimit = 8
}
