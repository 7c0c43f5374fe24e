import Histogram
import NotibotHost
import Reports
import Synchronization

/// The reports of a soak's notifications and connection: added by the forwarder's streams, read by
/// the command.
final class SoakRecord: Sendable {
  /// Counters.
  struct Counts: Equatable {
    var queued = 0
    var delivered = 0
    var removed = 0
    var refused = 0
    /// Left the display without a request of this host.
    var gone = 0
    var storeFull = 0
    /// Duplicate results, and results of notifications that were never queued.
    var doubled = 0
    var sessions = 0
    var restarts = 0
    /// Comparisons in which host and device did not agree, or agreed only after a retransmission to
    /// a device that had not restarted and had been in sync.
    var differences = 0

    /// Notifications that were delivered, removed or refused, or are gone.
    var results: Int { delivered + removed + refused + gone }
  }

  private struct State {
    var counts = Counts()
    /// Queueing times of the notifications that are not delivered yet.
    var waiting: [Int64: ContinuousClock.Instant] = [:]
    /// On the display, oldest first; and being removed.
    var held: [Int64] = []
    var leaving: Set<Int64> = []
    /// From queued to delivered, in microseconds, three digits, up to an hour.
    var latencies = Histogram<UInt64>(highestTrackableValue: 3_600_000_000)
    var bootID: UInt32?
    var upSince: ContinuousClock.Instant?
    /// Start of the time without a session; `nil` while a session is open.
    var downSince: ContinuousClock.Instant?
    /// Token of the next notification.
    var nextIndex = 0
    var upTime = Duration.zero
    var capacity: Int?
    var lacksIdentity = false
    var check: AsyncStream<Void>.Continuation?
    var steps: AsyncStream<Void>.Continuation?
    /// Notifications that are certainly in the outbox, reported or not.
    var accepted = 0
    /// Whether the next comparison must find both sides equal immediately.
    var isCheckDue = false
    var timeline = SoakTimeline()
  }

  private let state = Mutex(State())

  var counts: Counts { state.withLock(\.counts) }
  var undelivered: Int { state.withLock { $0.waiting.count } }
  /// Numbers of the notifications on the display, oldest first.
  var held: [Int64] { state.withLock(\.held) }
  /// Whether the device does not support identities, so that notifications cannot be removed.
  var lacksIdentity: Bool { state.withLock(\.lacksIdentity) }

  /// The oldest notifications beyond `limit`, or beyond half of the device's capacity, which then
  /// count as leaving.
  func drainExcess(over limit: Int) -> [Int64] {
    state.withLock { state in
      let limit = min(limit, max(1, (state.capacity ?? .max) / 2))
      let excess = Array(state.held.prefix(max(0, state.held.count - limit)))
      state.held.removeFirst(excess.count)
      state.leaving.formUnion(excess)
      return excess
    }
  }

  /// Unique tokens for new notifications.
  func acquireIndices(_ count: Int) -> Range<Int> {
    state.withLock { state in
      defer { state.nextIndex += count }
      return state.nextIndex..<state.nextIndex + count
    }
  }

  /// Starts to measure the time without a session.
  func beginListening(at now: ContinuousClock.Instant) {
    state.withLock { $0.downSince = $0.upSince == nil ? now : nil }
  }

  /// The current time without a session.
  func silence(at now: ContinuousClock.Instant) -> Duration {
    state.withLock { state in state.downSince.map { now - $0 } ?? .zero }
  }

  /// Adds to the number of notifications in the outbox.
  func addAccepted(_ count: Int) { state.withLock { $0.accepted += count } }

  /// Whether all submitted notifications have a result.
  var isSettled: Bool {
    state.withLock { state in
      state.waiting.isEmpty && state.counts.queued >= state.accepted
    }
  }

  /// Yields immediately and after each report from now on; for one consumer.
  func steps() -> AsyncStream<Void> {
    let (stream, sink) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { $0.steps = sink }
    sink.yield()
    return stream
  }

  /// The stream yields after the next comparison.
  /// - Parameter mustAgree: nothing is in flight, so that it must find both sides equal.
  func beginCheck(mustAgree: Bool) -> AsyncStream<Void> {
    let (stream, sink) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { state in
      state.isCheckDue = mustAgree
      state.check = sink
    }
    return stream
  }

  // MARK: Reports

  func add(_ report: ForwardingReport) {
    let now = ContinuousClock.now
    state.withLock { state in
      switch report {
      case .queued(let number, _):
        if state.leaving.contains(number) { break }
        state.counts.queued += 1
        state.waiting[number] = now
      case .delivered(let number):
        guard let queuedAt = state.waiting.removeValue(forKey: number) else {
          state.counts.doubled += 1
          break
        }
        state.counts.delivered += 1
        state.latencies.record(UInt64(max(0, (now - queuedAt).inSeconds * 1e6)))
        state.held.append(number)
      case .removed(let number):
        if state.leaving.remove(number) == nil {
          state.counts.doubled += 1
        } else {
          state.counts.removed += 1
        }
      case .gone(let number, _), .expired(let number), .outcomeUnknown(let number):
        state.counts.gone += 1
        state.waiting[number] = nil
        state.leaving.remove(number)
        state.held.removeAll { $0 == number }
      case .refused(let number, _):
        state.counts.refused += 1
        state.waiting[number] = nil
      case .full: break
      case .storeFull: state.counts.storeFull += 1
      case .synced(let rounds):
        if state.isCheckDue, rounds > 0 { state.counts.differences += 1 }
        state.isCheckDue = false
        state.check?.yield()
      case .diverged, .newSource:
        state.counts.differences += 1
        state.check?.yield()
      case .rejected, .duplicate, .action: break
      }
      state.steps?.yield()
    }
  }

  func add(_ change: ConnectionChange) {
    let now = ContinuousClock.now
    state.withLock { state in
      state.timeline.add(SoakTimeline.words(change), at: now)
      switch change.state {
      case .up(_, let info):
        // After a silence the connection is up again without a new session.
        if change.reason != .recovered { state.counts.sessions += 1 }
        if let bootID = state.bootID, bootID != info.bootID {
          state.counts.restarts += 1
          // Its notifications are sent again, as required.
          state.isCheckDue = false
        }
        state.bootID = info.bootID
        state.capacity = info.capacity
        state.lacksIdentity = !(info.hasIdentity && info.hasSync)
        state.upSince = state.upSince ?? now
        state.downSince = nil
      case .connecting, .suspect, .down, .ended:
        if let since = state.upSince { state.upTime += now - since }
        state.upSince = nil
        state.downSince = state.downSince ?? now
      }
    }
  }

  // MARK: The end

  /// Share of the time with an open session.
  func upTime(at now: ContinuousClock.Instant) -> Duration {
    state.withLock { state in state.upTime + (state.upSince.map { now - $0 } ?? .zero) }
  }

  func latencies() -> SoakReport.Latencies? {
    state.withLock { state in
      guard state.counts.delivered > 0 else { return nil }
      return SoakReport.Latencies(
        p50: Double(state.latencies.valueAtPercentile(50)) / 1000,
        p99: Double(state.latencies.valueAtPercentile(99)) / 1000,
        max: Double(state.latencies.maxRecorded) / 1000)
    }
  }

  /// Delivery times in milliseconds.
  func histogram() -> [Bucket] {
    state.withLock { Buckets.logarithmic($0.latencies, unitsPerValue: 1000) }
  }

  // MARK: Over time

  /// Samples of a run, about.
  static let samplesLimit = 240

  var samples: [RunSample] { state.withLock(\.timeline.samples) }
  var events: [RunEvent] { state.withLock(\.timeline.events) }

  func addConsole(_ bytes: [UInt8]) {
    let now = ContinuousClock.now
    state.withLock { $0.timeline.addConsole(bytes, at: now) }
  }

  /// Adds the frames that an earlier forwarder has sent again.
  func addResends(_ count: Int) { state.withLock { $0.timeline.earlierResends += count } }

  func isSampleDue(at now: ContinuousClock.Instant, every interval: Duration) -> Bool {
    state.withLock { $0.timeline.isSampleDue(at: now, every: interval) }
  }

  /// - Parameter resends: of the current forwarder.
  func addSample(at now: ContinuousClock.Instant, resends: Int) {
    let memory = ProcessUsage.residentBytes()
    state.withLock { state in
      state.timeline.addSample(
        at: now, delivered: state.counts.delivered, resends: resends, residentBytes: memory)
    }
  }
}
