#if Gateway
import NIOCore

/// The open connections of a listener, at most `limit`. Its event loop is that of all of them.
///
/// One more takes the place of another one, so that no program keeps others out by connections
/// alone: of one without an accepted request if there is one, of one that waits for no answer if
/// possible, and of these of the least recently used.
final class ConnectionTable: Sendable {
  private struct Connection {
    var channel: any Channel
    var close: () -> Void
    /// Counts the uses of all.
    var lastUse: Int
    var isAccepted = false
    /// Requests that wait for their answers.
    var openCount = 0

    /// The lowest one is closed first.
    var rank: (Int, Int) { ((isAccepted ? 2 : 0) + (openCount > 0 ? 1 : 0), lastUse) }
  }

  private struct State {
    var connections: [Int: Connection] = [:]
    var lastNumber = 0
    var uses = 0
    var evictedCount = 0
    var ended: EventLoopPromise<Void>?
  }

  /// For the user, such as "apns".
  let name: String
  let limit: Int
  private let eventLoop: any EventLoop
  private let state: NIOLoopBoundBox<State>

  init(_ name: String, limit: Int, eventLoop: any EventLoop) {
    (self.name, self.limit, self.eventLoop) = (name, limit, eventLoop)
    state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: eventLoop)
  }

  // MARK: On the event loop

  var count: Int { state.value.connections.count }
  var isFull: Bool { count >= limit }
  /// Connections that were closed for another one.
  var evictedCount: Int { state.value.evictedCount }

  /// Returns the connection's number.
  /// - Parameter close: closes it at once, without an end of TLS that its client can delay.
  func insert(_ channel: any Channel, close: @escaping () -> Void) -> Int {
    if isFull, let victim = state.value.connections.min(by: { $0.value.rank < $1.value.rank }) {
      state.value.connections[victim.key] = nil
      state.value.evictedCount += 1
      victim.value.close()
    }
    state.value.lastNumber += 1
    let number = state.value.lastNumber
    state.value.connections[number] = Connection(channel: channel, close: close, lastUse: nextUse())
    return number
  }

  func remove(_ number: Int) {
    state.value.connections[number] = nil
    if state.value.connections.isEmpty { state.value.ended?.succeed() }
  }

  /// A request has begun.
  func recordRequest(on number: Int) {
    let use = nextUse()
    state.value.connections[number]?.openCount += 1
    state.value.connections[number]?.lastUse = use
  }

  /// A request was answered, or has ended without an answer.
  func recordEnd(on number: Int) {
    state.value.connections[number]?.openCount -= 1
    if state.value.ended != nil { closeSoon([number]) }
  }

  func markAccepted(on number: Int) { state.value.connections[number]?.isAccepted = true }

  /// Its last answer is written: it is closed before all that have more to do.
  func noteLast(on number: Int) { state.value.connections[number]?.isAccepted = false }

  private func nextUse() -> Int {
    state.value.uses += 1
    return state.value.uses
  }

  // MARK: The end

  /// Time for a client without a request to close its connection.
  private static let idleLimit = TimeAmount.milliseconds(300)

  /// Asks all connections to end after their answers; closes those that do not.
  ///
  /// - Parameters:
  ///   - limit: time for the answers that are due.
  ///   - event: understood by their pipelines.
  func quiesce(within limit: TimeAmount, _ event: any Sendable = ChannelShouldQuiesceEvent()) async {
    let ended = eventLoop.makePromise(of: Void.self)
    eventLoop.execute { [self] in
      guard !state.value.connections.isEmpty else { return ended.succeed() }
      state.value.ended = ended
      for connection in state.value.connections.values {
        connection.channel.pipeline.fireUserInboundEventTriggered(event)
      }
      closeSoon(Array(state.value.connections.keys))
      eventLoop.scheduleTask(in: limit) { [self] in
        for connection in state.value.connections.values { connection.close() }
      }
    }
    try? await ended.futureResult.get()
  }

  /// Closes those of these that then have no request: a client that reads nothing would keep its
  /// connection for as long as it likes.
  private func closeSoon(_ numbers: [Int]) {
    eventLoop.scheduleTask(in: Self.idleLimit) { [self] in
      for number in numbers {
        guard let connection = state.value.connections[number], connection.openCount <= 0 else { continue }
        connection.close()
      }
    }
  }
}
#endif
