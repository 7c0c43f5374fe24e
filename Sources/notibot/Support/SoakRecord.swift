import Histogram
import NotibotHost
import Synchronization

/// What a soak has heard of its notifications and of the connection: told by the forwarder's streams, read by the command.
final class SoakRecord: Sendable {
  /// How much was heard.
  struct Counts: Equatable {
    var queued = 0
    var delivered = 0
    var removed = 0
    var refused = 0
    /// Left the display though nobody here asked for it.
    var gone = 0
    var storeFull = 0
    /// Results that were told twice, or of what was never queued.
    var doubled = 0
    var sessions = 0
    var restarts = 0
    /// Times that host and device did not agree after all that was tried, or agreed only after sending again to a device that
    /// had not restarted and had been in step.
    var differences = 0
  }

  private struct State {
    var counts = Counts()
    /// When each that is not delivered yet was queued.
    var waiting: [Int64: ContinuousClock.Instant] = [:]
    /// On the display, oldest first; and asked to be taken back.
    var held: [Int64] = []
    var leaving: Set<Int64> = []
    /// From queued to delivered, in microseconds, three digits, up to an hour.
    var latencies = Histogram<UInt64>(highestTrackableValue: 3_600_000_000)
    var bootID: UInt32?
    var upSince: ContinuousClock.Instant?
    /// Since when no session is open; `nil` while one is.
    var downSince: ContinuousClock.Instant?
    /// Of the next notification.
    var nextIndex = 0
    var upTime = Duration.zero
    var capacity: Int?
    var lacksIdentity = false
    var check: AsyncStream<Void>.Continuation?
    var steps: AsyncStream<Void>.Continuation?
    /// How many are in the outbox for sure, heard of or not.
    var taken = 0
    /// Whether the next comparison must find both sides alike at once.
    var isCheckDue = false
  }

  private let state = Mutex(State())

  var counts: Counts { state.withLock(\.counts) }
  var undelivered: Int { state.withLock { $0.waiting.count } }
  /// Numbers of those on the display, oldest first.
  var held: [Int64] { state.withLock(\.held) }
  /// Whether the device knows no identities, so that nothing could be taken back.
  var lacksIdentity: Bool { state.withLock(\.lacksIdentity) }

  /// Takes the oldest that are more than `limit`, or than half of what the device has room for: they are to be taken back.
  func takeExcess(over limit: Int) -> [Int64] {
    state.withLock { state in
      let limit = min(limit, max(1, (state.capacity ?? .max) / 2))
      let excess = Array(state.held.prefix(max(0, state.held.count - limit)))
      state.held.removeFirst(excess.count)
      state.leaving.formUnion(excess)
      return excess
    }
  }

  /// Numbers for so many new notifications; none is given twice.
  func takeIndices(_ count: Int) -> Range<Int> {
    state.withLock { state in
      defer { state.nextIndex += count }
      return state.nextIndex..<state.nextIndex + count
    }
  }

  /// From now on it counts how long no session is open.
  func beginListening(at now: ContinuousClock.Instant) {
    state.withLock { $0.downSince = $0.upSince == nil ? now : nil }
  }

  /// How long no session has been open by now.
  func silence(at now: ContinuousClock.Instant) -> Duration {
    state.withLock { state in state.downSince.map { now - $0 } ?? .zero }
  }

  /// So many more are in the outbox.
  func noteTaken(_ count: Int) { state.withLock { $0.taken += count } }

  /// Whether something has become of all that was taken.
  var isSettled: Bool {
    state.withLock { state in
      state.waiting.isEmpty && state.counts.queued >= state.taken
    }
  }

  /// Tells of each thing that is heard from now on, the first time at once; for one consumer.
  func steps() -> AsyncStream<Void> {
    let (stream, sink) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { $0.steps = sink }
    sink.yield()
    return stream
  }

  /// From now on nothing is under way, so that the next comparison must find both sides alike. The stream tells of it.
  func beginCheck() -> AsyncStream<Void> {
    let (stream, sink) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    state.withLock { state in
      state.isCheckDue = true
      state.check = sink
    }
    return stream
  }

  // MARK: Hearing

  func note(_ report: ForwardingReport) {
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
      case .gone(let number, _), .outcomeUnknown(let number):
        state.counts.gone += 1
        state.waiting[number] = nil
        state.leaving.remove(number)
        state.held.removeAll { $0 == number }
      case .refused(let number, _):
        state.counts.refused += 1
        state.waiting[number] = nil
      case .storeFull: state.counts.storeFull += 1
      case .synced(let rounds):
        if state.isCheckDue, rounds > 0 { state.counts.differences += 1 }
        state.isCheckDue = false
        state.check?.yield()
      case .diverged, .newSource:
        state.counts.differences += 1
        state.check?.yield()
      case .rejected, .action: break
      }
      state.steps?.yield()
    }
  }

  func note(_ change: ConnectionChange) {
    let now = ContinuousClock.now
    state.withLock { state in
      switch change.state {
      case .up(_, let info):
        // After a silence that ended it is up again without another session.
        if change.reason != .recovered { state.counts.sessions += 1 }
        if let bootID = state.bootID, bootID != info.bootID {
          state.counts.restarts += 1
          // What it held is sent again, as it should be.
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

  /// How long a session was open, of all the time until now.
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
}
