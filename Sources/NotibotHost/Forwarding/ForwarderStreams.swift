import Synchronization

extension Forwarder {
  /// How the connection changed, in order, for one consumer. Ends with the forwarder.
  ///
  /// At most `ForwardingOptions.changesLimit` wait; beyond them the oldest are dropped.
  public struct Changes: AsyncSequence, Sendable {
    public typealias Element = ConnectionChange

    let stream: AsyncStream<ConnectionChange>

    public struct AsyncIterator: AsyncIteratorProtocol {
      var iterator: AsyncStream<ConnectionChange>.Iterator

      /// The next change, or `nil` when the forwarder has ended.
      public mutating func next() async -> ConnectionChange? {
        await iterator.next()
      }
    }

    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(iterator: stream.makeAsyncIterator())
    }
  }

  /// What became of notifications, in order, none left out, for one consumer. Ends with the forwarder.
  ///
  /// Whoever submits must also take the reports: while `ForwardingOptions.reportsLimit` of them wait, nothing more is
  /// taken.
  public struct Reports: AsyncSequence, Sendable {
    public typealias Element = ForwardingReport

    let stream: AsyncStream<ForwardingReport>
    let backlog: ReportBacklog

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

    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(iterator: stream.makeAsyncIterator(), backlog: backlog)
    }
  }
}

/// Counts the reports that wait to be taken, and calls when they have become few again.
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

  /// What is called, on any thread, after `isFull` has said so and half of the reports are taken.
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

  /// Whether there are so many that nothing more is to be taken.
  func isFull() -> Bool {
    state.withLock { state in
      guard state.count >= limit else { return false }
      state.isCallDue = true
      return true
    }
  }
}
