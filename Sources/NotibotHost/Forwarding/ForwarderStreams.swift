import Synchronization

extension Forwarder {
  /// The changes of the connection, in order, for one consumer. Ends with the forwarder.
  ///
  /// At most `ForwardingOptions.changesLimit` changes are queued; beyond that the oldest are
  /// dropped.
  public struct Changes: AsyncSequence, Sendable {
    /// One change.
    public typealias Element = ConnectionChange

    let stream: AsyncStream<ConnectionChange>

    /// Iterates over the changes; `next()` returns `nil` when the forwarder has ended.
    public struct AsyncIterator: AsyncIteratorProtocol {
      var iterator: AsyncStream<ConnectionChange>.Iterator

      /// The next change, or `nil` when the forwarder has ended.
      public mutating func next() async -> ConnectionChange? {
        await iterator.next()
      }
    }

    /// An iterator over the changes.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(iterator: stream.makeAsyncIterator())
    }
  }

  /// The results of notifications, in order and complete, for one consumer. Ends with the
  /// forwarder.
  ///
  /// A program that submits must also take the reports: while `ForwardingOptions.reportsLimit` of
  /// them are queued, no submission is accepted.
  public struct Reports: AsyncSequence, Sendable {
    /// One report.
    public typealias Element = ForwardingReport

    let stream: AsyncStream<ForwardingReport>
    let backlog: ReportBacklog

    /// Iterates over the reports; `next()` returns `nil` when the forwarder has ended.
    public struct AsyncIterator: AsyncIteratorProtocol {
      var iterator: AsyncStream<ForwardingReport>.Iterator
      let backlog: ReportBacklog

      /// The next report, or `nil` when the forwarder has ended.
      public mutating func next() async -> ForwardingReport? {
        guard let report = await iterator.next() else { return nil }
        backlog.take()
        return report
      }
    }

    /// An iterator over the reports.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(iterator: stream.makeAsyncIterator(), backlog: backlog)
    }
  }
}

/// Counts the queued reports, and calls back when half of them are taken.
final class ReportBacklog: Sendable {
  private struct State {
    var count = 0
    var isCallDue = false
    var call: @Sendable () -> Void = {}
  }

  private let limit: Int
  private let state = Mutex(State())

  init(limit: Int) {
    self.limit = limit
  }

  /// Called, on any thread, when half of the reports are taken after `isFull` returned true.
  func whenRelieved(_ call: @escaping @Sendable () -> Void) {
    state.withLock { $0.call = call }
  }

  func add() { state.withLock { $0.count += 1 } }

  func take() {
    let call = state.withLock { state -> (@Sendable () -> Void)? in
      state.count -= 1
      guard state.isCallDue, state.count <= limit / 2 else { return nil }
      state.isCallDue = false
      return state.call
    }
    call?()
  }

  /// Whether the limit is reached, so that no submission can be accepted.
  func isFull() -> Bool {
    state.withLock { state in
      guard state.count >= limit else { return false }
      state.isCallDue = true
      return true
    }
  }
}
