import NIOCore
import NIOHTTP1

/// Closes a connection that sends more than one small request has.
final class RequestLimit: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private var receivedBytes = 0

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    receivedBytes += unwrapInboundIn(data).readableBytes
    guard receivedBytes <= ViewServer.requestLimitBytes else { return context.close(promise: nil) }
    context.fireChannelRead(data)
  }
}

/// One request of a connection, and its response.
///
/// *waiting* for the head → *receiving* the body → *answered*, after which input is ignored; the
/// connection ends with the response, that of `events` with the server or the client.
final class ViewHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private enum State {
    case waiting
    case receiving(ViewGate.Route, body: [UInt8])
    case answered
  }

  private let server: ViewServer
  private var state = State.waiting
  private var limit: Scheduled<Void>?
  /// False for HEAD.
  private var hasBody = true

  init(server: ViewServer) {
    self.server = server
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    guard server.assumeIsolated({ $0.connected(channel) }) else { return context.close(promise: nil) }
    closeAfter(ViewServer.requestLimit, context)
  }

  private func closeAfter(_ time: TimeAmount, _ context: ChannelHandlerContext) {
    limit?.cancel()
    let channel = context.channel
    limit = context.eventLoop.scheduleTask(in: time) { channel.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    limit?.cancel()
    let channel = context.channel
    server.assumeIsolated { $0.disconnected(channel) }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard case .answered = state else { return }
    let channel = context.channel
    guard channel.isWritable else { return closeAfter(ViewServer.stallLimit, context) }
    limit?.cancel()
    server.assumeIsolated { $0.continueSending(to: channel) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch (state, unwrapInboundIn(data)) {
    case (.waiting, .head(let head)):
      hasBody = head.method != .HEAD
      switch server.gate.decide(method: head.method.rawValue, path: head.uri, values: { head.headers[$0] }) {
      case .admitted(let route):
        let channel = context.channel
        server.assumeIsolated { $0.admitted(channel) }
        state = .receiving(route, body: [])
        if head.headers[canonicalForm: "expect"].contains(where: { $0.lowercased() == "100-continue" }) {
          context.writeAndFlush(
            wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
        }
      case .refused(let status, let reason):
        respond(status, "text/plain", Array("\(reason)\n".utf8), context)
      }
    case (.receiving(let route, let body), .body(let bytes)):
      state = .receiving(route, body: body + bytes.readableBytesView)
    case (.receiving(let route, let body), .end):
      answer(route, body, context)
    case (.waiting, .body), (.waiting, .end), (.receiving, .head), (.answered, _):
      break
    }
  }

  private func answer(_ route: ViewGate.Route, _ body: [UInt8], _ context: ChannelHandlerContext) {
    switch route {
    case .page: respond(200, "text/html; charset=utf-8", Array(ViewPage.html.utf8), context)
    case .script: respond(200, "text/javascript; charset=utf-8", Array(ViewPage.script.utf8), context)
    case .style: respond(200, "text/css; charset=utf-8", Array(ViewPage.style.utf8), context)
    case .events:
      state = .answered
      limit?.cancel()
      context.write(wrapOutboundOut(.head(head(200, "text/event-stream"))), promise: nil)
      context.flush()
      let channel = context.channel
      server.assumeIsolated { $0.addReader(channel) }
    case .command:
      state = .answered
      let server = server
      context.eventLoop.makeFutureWithTask { await server.answer(to: body) }
        .assumeIsolated().whenSuccess { self.respond(200, "application/json", $0, context) }
    }
  }

  private func respond(
    _ status: Int, _ type: String, _ body: [UInt8], _ context: ChannelHandlerContext
  ) {
    state = .answered
    var head = head(status, type)
    head.headers.add(name: "Content-Length", value: "\(body.count)")
    let channel = context.channel
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if hasBody { context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil) }
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
  }

  private func head(_ status: Int, _ type: String) -> HTTPResponseHead {
    HTTPResponseHead(
      version: .http1_1, status: HTTPResponseStatus(statusCode: status),
      headers: [
        "Content-Type": type, "Connection": "close", "Cache-Control": "no-store",
        "Content-Security-Policy": ViewPage.policy, "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
        "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin",
      ])
  }
}
