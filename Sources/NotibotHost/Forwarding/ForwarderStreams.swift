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

    let events: Events

    /// Iterates over the reports; `next()` returns `nil` when the forwarder has ended.
    public struct AsyncIterator: AsyncIteratorProtocol {
      var iterator: Events.AsyncIterator

      /// The next report, or `nil` when the forwarder has ended.
      public mutating func next() async -> ForwardingReport? {
        while let event = await iterator.next() {
          if case .report(let report) = event { return report }
        }
        return nil
      }
    }

    /// An iterator over the reports.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(iterator: events.makeAsyncIterator())
    }
  }

  /// A change of the connection or the result of a notification.
  package enum Event: Sendable {
    /// Only with `ForwardingOptions.mergesChanges`.
    case change(ConnectionChange)
    case report(ForwardingReport)
  }

  /// Both in one order, for one consumer that takes the place of that of `reports`.
  package struct Events: AsyncSequence, Sendable {
    let stream: AsyncStream<Event>
    let backlog: ReportBacklog

    package struct AsyncIterator: AsyncIteratorProtocol {
      var iterator: AsyncStream<Event>.Iterator
      let backlog: ReportBacklog

      package mutating func next() async -> Event? {
        guard let event = await iterator.next() else { return nil }
        backlog.remove()
        return event
      }
    }

    package func makeAsyncIterator() -> AsyncIterator {
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

  func remove() {
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
