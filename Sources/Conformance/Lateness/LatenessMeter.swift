import Glibc
import NIOCore
import NIOPosix

/// Measures how late this process and its peer are while a case runs.
package protocol LatenessGauge: AnyObject, Sendable {
  /// Begins a window of time.
  func beginWindow() async

  /// Ends the window and returns its maximum lateness.
  func endWindow() async -> Lateness

  /// Waits until neither end has been late for a while. Returns false if that does not happen soon,
  /// or if the task is cancelled.
  @discardableResult
  func awaitCalm() async -> Bool
}

/// The gauge of a rig in real time: a heartbeat on an event loop, and the kernel's statistics of
/// how long the threads of both processes wait for a processor. The heartbeat notices delays that
/// the kernel does not count: a suspended computer, a control group that has used up its share, a
/// virtual processor that is not run.
///
/// States: *resting* → `beginWindow` or `awaitCalm` → *beating* → `endWindow`, or calm → *resting*.
package actor LatenessMeter: LatenessGauge {
  /// The interval of the beats.
  private static let interval = TimeAmount.milliseconds(10)
  /// Consecutive beats without lateness that count as calm, and the number of beats after which the
  /// wait for them ends.
  private static let calmBeats = 20
  private static let calmBeatsLimit = 300

  private let loop: any EventLoop
  private let delays: RecentDelays
  private let peers: [Int32]
  private var record = LatenessRecord()
  private var next: Scheduled<Void>?
  private var waiting: (calm: CheckedContinuation<Bool, Never>, beatsLeft: Int)?

  package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.executor.asUnownedSerialExecutor() }

  /// - Parameter peers: the processes at the other end; none if the peer is a board.
  package init(peers: [Int32]) {
    self.init(peers: peers, delays: .ofProcess)
  }

  init(peers: [Int32], delays: RecentDelays) {
    loop = MultiThreadedEventLoopGroup.singleton.next()
    self.delays = delays
    self.peers = peers
  }

  package func beginWindow() {
    record.begin(with: sample(isNow: true))
    schedule()
  }

  package func endWindow() -> Lateness {
    rest()
    record.addBeat(delay: .zero, sample(isNow: true))
    return record.worst
  }

  @discardableResult
  package func awaitCalm() async -> Bool {
    record.begin(with: sample(isNow: true))
    schedule()
    // The loop runs the cancellation after this has suspended, even if it happened earlier.
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // There is one case at a time; if there are two, the first continues.
        waiting?.calm.resume(returning: false)
        waiting = (continuation, Self.calmBeatsLimit)
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.endWait(isCalm: false) } }
    }
  }

  private func endWait(isCalm: Bool) {
    rest()
    waiting?.calm.resume(returning: isCalm)
    waiting = nil
  }

  private func sample(isNow: Bool = false) -> LatenessRecord.Sample {
    var sample = LatenessRecord.Sample(bench: delays.waits(of: getpid(), isNow: isNow))
    for peer in peers { sample.peer.merge(delays.waits(of: peer, isNow: isNow)) { max($0, $1) } }
    return sample
  }

  private func schedule() {
    let due = NIODeadline.now() + Self.interval
    next?.cancel()
    next = loop.scheduleTask(deadline: due) { self.assumeIsolated { $0.beat(due) } }
  }

  private func rest() {
    next?.cancel()
    next = nil
  }

  private func beat(_ due: NIODeadline) {
    record.addBeat(delay: .nanoseconds((NIODeadline.now() - due).nanoseconds), sample())
    schedule()
    guard let waiting else { return }
    let isCalm = record.calmBeats >= Self.calmBeats
    if isCalm || waiting.beatsLeft == 0 {
      endWait(isCalm: isCalm)
    } else {
      self.waiting?.beatsLeft -= 1
    }
  }
}
