import NIOCore
import SerialLink

/// Passes the events of one side of a proxy to the proxy, which runs on the same event loop.
final class ProxyHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Which of the two channels this is.
  enum Side: Equatable, Sendable {
    case board
    case terminal
  }

  private let side: Side
  private let proxy: PortProxy

  init(side: Side, proxy: PortProxy) {
    self.side = side
    self.proxy = proxy
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    let bytes = Array(buffer.readableBytesView)
    let side = side
    proxy.assumeIsolated { $0.received(bytes, from: side) }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard context.channel.isWritable else { return }
    proxy.assumeIsolated { $0.drain() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard let presence = event as? HostPresence else {
      context.fireUserInboundEventTriggered(event)
      return
    }
    proxy.assumeIsolated { $0.noticed(presence) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    let channel = context.channel
    proxy.assumeIsolated { $0.lost(channel) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A failed side is gone; `channelInactive` informs the proxy.
    context.close(promise: nil)
  }
}
