import Glibc

/// How long this process waits for a processor, from one call to the next.
package struct ProcessorWaits {
  private let delays: SchedulingDelays
  private let process: Int32
  private var last: [Int32: UInt64]

  /// Begins to count.
  package init() {
    self.init(SchedulingDelays(), of: getpid())
  }

  init(_ delays: SchedulingDelays, of process: Int32) {
    self.delays = delays
    self.process = process
    last = delays.waits(of: process)
  }

  /// The longest wait of one thread since the last call; zero if the kernel keeps no statistics.
  package mutating func next() -> Duration {
    let waits = delays.waits(of: process)
    defer { last = waits }
    return LatenessRecord.longestWait(from: last, to: waits)
  }
}
