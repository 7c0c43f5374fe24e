/// How often cases are run, and when a run ends early.
package struct RunPolicy: Sendable {
  /// The number of runs of each case; it ends with the first one that does not pass. 1 or more.
  package var repetitions = 1
  /// Whether the run ends with the first case that does not pass.
  package var endsAtFailure = false
  /// Whether cases with waits of many seconds run in real time, too.
  package var waitsLong = false

  /// Where the bytes of each case are written; nil: nowhere.
  package var trace: TraceFolder?

  package init(repetitions: Int = 1, endsAtFailure: Bool = false, waitsLong: Bool = false) {
    self.repetitions = repetitions
    self.endsAtFailure = endsAtFailure
    self.waitsLong = waitsLong
  }
}

extension Outcome {
  /// Whether the device or the rig is wrong.
  package var isBad: Bool {
    switch self {
    case .passed, .differs, .skipped: false
    case .failed, .errored: true
    }
  }
}
