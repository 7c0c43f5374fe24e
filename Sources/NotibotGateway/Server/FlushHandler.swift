#if Gateway
import NIOCore

/// Writes what is flushed in one turn of the event loop with one system call: a batch of answers is
/// a flush for each stream.
final class FlushHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum State {
    case idle
    /// Flushed, and on its way at the end of the turn.
    case due
    case ended
  }

  private var state = State.idle

  func flush(context: ChannelHandlerContext) {
    switch state {
    case .idle:
      state = .due
      let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
      context.eventLoop.execute {
        let (handler, context) = bound.value
        handler.flushNow(context)
      }
    case .due, .ended: break
    }
  }

  /// What was flushed before a close goes out before it.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    flushNow(context)
    context.close(mode: mode, promise: promise)
  }

  func handlerRemoved(context: ChannelHandlerContext) { state = .ended }

  private func flushNow(_ context: ChannelHandlerContext) {
    switch state {
    case .idle, .ended: break
    case .due:
      state = .idle
      context.flush()
    }
  }
}
#endif
