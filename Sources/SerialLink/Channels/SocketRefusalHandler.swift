import NIOCore

/// Recognises the message with which a server of plain bytes refuses a second client, so that it is
/// not taken for output of the device: `Port already in use`, then the end of the connection.
/// Source: ser2net, `port_in_use`; NetworkListener.
///
/// States: `holding` → `passing` when other bytes were received, or the connection is still open
/// after `holdLimit`. Bytes are held only while they can still become this message.
final class SocketRefusalHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  static let words = Array("Port already in use".utf8)
  /// How long bytes are held, at most.
  static let holdLimit = TimeAmount.milliseconds(500)

  private enum State {
    case holding(ByteBuffer, timer: Scheduled<Void>?)
    case passing
  }

  private let port: String
  private var state = State.holding(ByteBuffer(), timer: nil)

  /// - Parameter port: as the user named it.
  init(port: String) {
    self.port = port
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch state {
    case .passing: context.fireChannelRead(data)
    case .holding(var held, let timer):
      var bytes = unwrapInboundIn(data)
      held.writeBuffer(&bytes)
      state = .holding(held, timer: timer ?? release(in: context))
      if !Self.maySay(held.readableBytesView) { release(context) }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard case .holding(let held, let timer) = state, held.readableBytes >= Self.words.count else {
      release(context)
      return context.fireErrorCaught(error)
    }
    timer?.cancel()
    state = .passing
    let words = String(decoding: Self.words, as: UTF8.self)
    let code = PortError.Code.serverBusy(
      "the server closed the connection at once with the message: \(words)")
    context.fireErrorCaught(PortError(code, port: port, operation: "open"))
  }

  func channelInactive(context: ChannelHandlerContext) {
    release(context)
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    if case .holding(_, let timer) = state { timer?.cancel() }
  }

  /// Whether these bytes are the message, with or without a line end, or the beginning of it.
  static func maySay(_ bytes: some Collection<UInt8>) -> Bool {
    bytes.prefix(words.count).elementsEqual(words.prefix(bytes.count))
      && bytes.dropFirst(words.count).allSatisfy { $0 == 0x0D || $0 == 0x0A }
  }

  private func release(in context: ChannelHandlerContext) -> Scheduled<Void> {
    let (loop, bound) = (context.eventLoop, NIOLoopBound(context, eventLoop: context.eventLoop))
    return loop.assumeIsolated().scheduleTask(in: Self.holdLimit) { self.release(bound.value) }
  }

  private func release(_ context: ChannelHandlerContext) {
    guard case .holding(let held, let timer) = state else { return }
    timer?.cancel()
    state = .passing
    if held.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(held)) }
  }
}
