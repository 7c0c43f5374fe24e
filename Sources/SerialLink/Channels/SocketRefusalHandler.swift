import NIOCore

/// Recognises the first bytes of a server that is not a port of plain bytes, or refuses a second
/// client, so that they are not taken for output of the device: options of telnet, the greeting of
/// another protocol; `Port already in use`, then the end of the connection. Source: RFC 854;
/// ser2net, `port_in_use`; NetworkListener.
///
/// States: `holding` → `passing` when other bytes were received, or the connection is still open
/// after `holdLimit`. Bytes are held only while they can still become one of these.
final class SocketRefusalHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  static let words = Array("Port already in use".utf8)
  /// The first bytes of servers that are no serial ports.
  static let greetings = [("SSH", "SSH-"), ("HTTP", "HTTP/1."), ("VNC", "RFB 003.")]
    .map { (protocolName: $0.0, bytes: Array($0.1.utf8)) }
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
      let view = held.readableBytesView
      if let name = Self.protocolName(of: view) { return refuse(name, context) }
      let mayGreet = Self.greetings.contains { $0.bytes.starts(with: view) }
      if !Self.maySay(view), !mayGreet, !Self.mayNegotiate(view) { release(context) }
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

  /// The protocol that begins with these bytes: with two options of telnet, or with a greeting.
  static func protocolName(of bytes: some Collection<UInt8>) -> String? {
    if bytes.count >= 5, mayNegotiate(bytes) { return "telnet" }
    return greetings.first { bytes.starts(with: $0.bytes) }?.protocolName
  }

  /// Whether these bytes are two options of telnet, or the beginning of them.
  static func mayNegotiate(_ bytes: some Collection<UInt8>) -> Bool {
    zip(0..<5, bytes).allSatisfy { index, byte in
      switch index {
      case 0, 3: byte == Telnet.iac
      case 1, 4: TelnetVerb(rawValue: byte) != nil || byte == Telnet.subnegotiationBegin
      case _: true
      }
    }
  }

  private func refuse(_ protocolName: String, _ context: ChannelHandlerContext) {
    if case .holding(_, let timer) = state { timer?.cancel() }
    state = .passing
    let place = port.hasPrefix("socket://") ? String(port.dropFirst("socket://".count)) : port
    let advice = protocolName == "telnet" ? "use rfc2217://\(place)" : "it is not a serial port"
    let code = PortError.Code.unreachable("this server speaks \(protocolName): \(advice)")
    context.fireErrorCaught(PortError(code, port: port, operation: "open"))
    context.close(promise: nil)
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
