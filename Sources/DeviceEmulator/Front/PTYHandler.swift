import NIOCore
import SerialLink

/// Passes the events of the master of a pseudo-terminal to the emulator, which runs on the same
/// event loop.
final class PTYHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let server: EmulatorServer

  init(server: EmulatorServer) {
    self.server = server
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    let bytes = Array(buffer.readableBytesView)
    server.assumeIsolated { $0.received(bytes) }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard context.channel.isWritable else { return }
    server.assumeIsolated { $0.drain() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard let presence = event as? HostPresence else {
      context.fireUserInboundEventTriggered(event)
      return
    }
    server.assumeIsolated { $0.noticed(presence) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    let channel = context.channel
    server.assumeIsolated { $0.lost(channel) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A failed master is a cut line; `channelInactive` informs the emulator.
    context.close(promise: nil)
  }
}
