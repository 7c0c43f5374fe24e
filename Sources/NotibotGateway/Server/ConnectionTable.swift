#if Gateway
import NIOCore

/// The open connections of a server. Its event loop is that of all of them.
final class ConnectionTable: Sendable {
  private struct State {
    var channels: [Int: any Channel] = [:]
    var last = 0
    var ended: EventLoopPromise<Void>?
  }

  private let eventLoop: any EventLoop
  private let state: NIOLoopBoundBox<State>

  init(eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: eventLoop)
  }

  /// On the event loop. Returns the connection's number.
  func insert(_ channel: any Channel) -> Int {
    state.value.last += 1
    state.value.channels[state.value.last] = channel
    return state.value.last
  }

  /// On the event loop.
  func remove(_ number: Int) {
    state.value.channels[number] = nil
    if state.value.channels.isEmpty { state.value.ended?.succeed() }
  }

  /// Asks all connections to end after their answers; closes those that do not.
  func quiesce(within limit: TimeAmount) async {
    let ended = eventLoop.makePromise(of: Void.self)
    eventLoop.execute { [self] in
      guard !state.value.channels.isEmpty else { return ended.succeed() }
      state.value.ended = ended
      for channel in state.value.channels.values {
        channel.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
      }
      eventLoop.scheduleTask(in: limit) { [self] in
        for channel in state.value.channels.values { channel.close(promise: nil) }
      }
    }
    try? await ended.futureResult.get()
  }
}
#endif
