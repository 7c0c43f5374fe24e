#if Gateway
import GatewayRules
import NIOCore
import NIOHPACK
import NIOHTTP2

/// One request of APNs: collects it, passes it on, and writes the answer.
///
/// Every answer is a complete response; an honest client never gets RST_STREAM, because aioapns
/// waits forever after one.
final class PushStreamHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias OutboundOut = HTTP2Frame.FramePayload

  enum State {
    case waiting
    case receiving(PushHeaders, body: [UInt8])
    /// Passed on or answered; the rest of the body is skipped, at most `skippedLimitBytes`.
    case answered(skippedBytes: Int)
  }

  /// Time for a whole request.
  static let timeLimit = TimeAmount.seconds(10)
  /// Bytes of a body after the answer, at most; then the stream is reset.
  static let skippedLimitBytes = 65_536
  /// One byte more than any body that is allowed.
  static let bodyLimitBytes = PushHead.voipBodyLimitBytes + 1

  private let service: GatewayService
  private let connections: ConnectionTable
  private let connection: Int
  private var state = State.waiting
  private var timer: Scheduled<Void>?

  init(service: GatewayService, connections: ConnectionTable, connection: Int) {
    self.service = service
    self.connections = connections
    self.connection = connection
  }

  func handlerAdded(context: ChannelHandlerContext) {
    connections.recordRequest(on: connection)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: Self.timeLimit) {
      let (handler, context) = bound.value
      handler.handleTimeout(context)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    connections.recordEnd(on: connection)
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .headers(let frame): receive(frame.headers, isEnd: frame.endStream, context)
    case .data(let frame):
      guard case .byteBuffer(let bytes) = frame.data else { return }
      receive(bytes, isEnd: frame.endStream, context)
    case _: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func receive(_ headers: HPACKHeaders, isEnd: Bool, _ context: ChannelHandlerContext) {
    switch state {
    case .waiting:
      let fields = headers.map { (name: $0.name, value: $0.value) }.filter { !$0.name.hasPrefix(":") }
      let request = PushHeaders(
        method: headers.first(name: ":method") ?? "", path: headers.first(name: ":path") ?? "", fields: fields
      )
      guard request.isWellFormed else { return reset(context) }
      state = .receiving(request, body: [])
      if isEnd { pass(request, [], context) }
    case .receiving(let request, let body):
      // Trailers.
      if isEnd { pass(request, body, context) }
    case .answered: break
    }
  }

  private func receive(_ bytes: ByteBuffer, isEnd: Bool, _ context: ChannelHandlerContext) {
    switch state {
    case .waiting: break
    case .receiving(let request, var body):
      state = .waiting
      body += bytes.readableBytesView.prefix(Self.bodyLimitBytes - body.count)
      state = .receiving(request, body: body)
      if isEnd || body.count >= Self.bodyLimitBytes { pass(request, body, context) }
    case .answered(let skipped):
      state = .answered(skippedBytes: skipped + bytes.readableBytes)
      if skipped + bytes.readableBytes > Self.skippedLimitBytes { reset(context) }
    }
  }

  /// Not within the read that opens the stream: SwiftNIO does not know it as open yet.
  private func reset(_ context: ChannelHandlerContext) {
    state = .answered(skippedBytes: 0)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.eventLoop.execute { bound.value.close(promise: nil) }
  }

  private func pass(_ request: PushHeaders, _ body: [UInt8], _ context: ChannelHandlerContext) {
    state = .answered(skippedBytes: 0)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    let connection = connection
    guard !request.isPoll else {
      return service.assumeIsolated { service in
        service.poll(request, connection: connection) { status, body in
          let (handler, context) = bound.value
          handler.write(status, fields: [], body, context)
        }
      }
    }
    service.assumeIsolated { service in
      service.push(request, body: body, connection: connection) { answer in
        let (handler, context) = bound.value
        handler.write(answer, context)
      }
    }
  }

  private func handleTimeout(_ context: ChannelHandlerContext) {
    switch state {
    case .waiting: context.close(promise: nil)
    case .receiving(let request, _):
      state = .answered(skippedBytes: Self.skippedLimitBytes)
      let answer = PushAnswer(
        reason: .idleTimeout, apnsID: request.echoedID ?? GatewayClock.uuid(),
        remarks: [PushReason.idleTimeout.remark])
      service.assumeIsolated { $0.recordRefusal(answer) }
      write(answer, context)
    case .answered: break
    }
  }

  private func write(_ answer: PushAnswer, _ context: ChannelHandlerContext) {
    var fields = [("apns-id", answer.apnsID)]
    if let detail = answer.detail { fields.append(("notibot-detail", detail)) }
    if let seconds = answer.retryAfterSeconds { fields.append(("retry-after", "\(seconds)")) }
    write(answer.status, fields: fields, answer.body, context)
  }

  private func write(
    _ status: Int, fields: [(String, String)], _ body: String, _ context: ChannelHandlerContext
  ) {
    if status == 200 { connections.markAccepted(on: connection) }
    guard context.channel.isActive else { return }
    var headers = HPACKHeaders([(":status", "\(status)")] + fields)
    if !body.isEmpty { headers.add(name: "content-type", value: "application/json") }
    context.write(
      wrapOutboundOut(.headers(.init(headers: headers, endStream: body.isEmpty))), promise: nil)
    if !body.isEmpty {
      let data = context.channel.allocator.buffer(string: body)
      context.write(wrapOutboundOut(.data(.init(data: .byteBuffer(data), endStream: true))), promise: nil)
    }
    context.flush()
  }
}
#endif
