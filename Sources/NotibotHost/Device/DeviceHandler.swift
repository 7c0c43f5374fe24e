import NIOCore

/// The last handler of a device's pipeline: passes everything on to the device.
final class DeviceHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let device: Device

  init(device: Device) {
    self.device = device
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let channel = context.channel
    device.assumeIsolated { $0.attach(channel) }
    if channel.isActive { device.assumeIsolated { $0.begin() } }
  }

  func channelActive(context: ChannelHandlerContext) {
    device.assumeIsolated { $0.begin() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    device.assumeIsolated { $0.receive(buffer) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    device.assumeIsolated { $0.drainActions() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    let isWritable = context.channel.isWritable
    device.assumeIsolated { $0.handleWritability(isWritable) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    device.assumeIsolated { $0.recordFailure(error) }
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    device.assumeIsolated { $0.receiveEndOfStream() }
  }
}
