package import NIOCore

/// Keeps the last output of a port, and waits for a condition on it. Lives on its channel's event
/// loop; for one waiter at a time.
///
/// States: *collecting* → `wait` → *waiting* → found, too late, or the end of the port →
/// *collecting*; → *ended* with the channel.
package final class BootWatch: ChannelInboundHandler {
  package typealias InboundIn = ByteBuffer

  /// Bytes kept, at most; the last ones.
  package static let limitBytes = 16_384

  private enum State {
    case collecting
    case waiting(@Sendable ([UInt8]) -> Bool, EventLoopPromise<Bool>, Scheduled<Void>)
    case ended
  }

  private let loop: any EventLoop
  private var state = State.collecting
  private var said: [UInt8] = []

  package init(loop: any EventLoop) {
    self.loop = loop
  }

  /// The last output of the port.
  package var text: [UInt8] { said }

  /// Whether the port is gone.
  package var hasEnded: Bool {
    switch state {
    case .ended: true
    case .collecting, .waiting: false
    }
  }

  /// Discards the output of the port.
  package func clear() { said = [] }

  /// Whether `condition` holds for the output of the port, at once or within `limit`.
  package func wait(
    upTo limit: TimeAmount, for condition: @escaping @Sendable ([UInt8]) -> Bool
  ) -> EventLoopFuture<Bool> {
    if condition(said) { return loop.makeSucceededFuture(true) }
    switch state {
    case .ended, .waiting: return loop.makeSucceededFuture(false)
    case .collecting: break
    }
    let promise = loop.makePromise(of: Bool.self)
    let timer = loop.assumeIsolated().scheduleTask(in: limit) { self.finish(false) }
    state = .waiting(condition, promise, timer)
    return promise.futureResult
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    said += unwrapInboundIn(data).readableBytesView
    said.removeFirst(max(0, said.count - Self.limitBytes))
    guard case .waiting(let condition, _, _) = state, condition(said) else { return }
    finish(true)
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    finish(false)
    state = .ended
    context.fireChannelInactive()
  }

  private func finish(_ found: Bool) {
    guard case .waiting(_, let promise, let timer) = state else { return }
    state = .collecting
    timer.cancel()
    promise.succeed(found)
  }
}
