#if Gateway
import Foundation
import GatewayRules
import NIOCore
import NIOHTTP1
import NotibotProtocol

/// One connection of HTTP/1.1: a request at a time.
///
/// *waiting* → *receiving* the body → *answering* → *waiting*, or *ended* after the last answer:
/// the output is closed, and later bytes of the client are ignored, because a close with unread
/// bytes could cost it the answer.
final class HTTPRequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  struct Request {
    var head: HTTPRequestHead
    var body: [UInt8] = []

    /// By what was announced, or by what has come.
    fileprivate var isTooLong: Bool {
      let announced = head.headers["content-length"].first.flatMap { Int($0) } ?? 0
      return max(announced, body.count) > HTTPRequestHandler.bodyLimitBytes
    }
  }

  private enum State {
    case waiting
    case receiving(Request, isLast: Bool)
    case answering(isLast: Bool)
    case ended
  }

  /// One byte more shows that a body is too long; then the request is answered at once.
  private static let bodyLimitBytes = PublishRequest.jsonLimitBytes
  /// Time for the client to close the connection after the last answer.
  private static let endLimit = TimeAmount.seconds(2)
  private static let methods = "GET, HEAD, POST, PUT, DELETE, OPTIONS"

  let service: GatewayService
  private let connections: ConnectionTable
  private let connection: Int
  private let lines: RequestLineHandler
  /// Whether this is the socket of commands.
  private let isCommands: Bool
  private var state = State.waiting

  /// Ends a connection after its present answer. SwiftNIO's own event does so too, but its handler
  /// takes the answers to pipelined requests for a mistake of the program.
  struct End: Sendable {}

  init(
    service: GatewayService, connections: ConnectionTable, connection: Int, lines: RequestLineHandler,
    isCommands: Bool
  ) {
    self.service = service
    (self.connections, self.connection, self.lines) = (connections, connection, lines)
    self.isCommands = isCommands
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch (state, unwrapInboundIn(data)) {
    case (.waiting, .head(let head)):
      connections.recordRequest(on: connection)
      begin(Request(head: head), isLast: head.isLast, context)
    case (.receiving(var request, let isLast), .body(let bytes)):
      state = .waiting
      request.body += bytes.readableBytesView.prefix(Self.bodyLimitBytes + 1 - request.body.count)
      proceed(with: request, isLast: isLast, context)
    case (.receiving(let request, let isLast), .end): handle(request, isLast: isLast, context)
    case (.waiting, _), (.receiving, .head), (.answering, _), (.ended, _): break
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is IdleStateHandler.IdleStateEvent { return context.close(promise: nil) }
    guard event is End else { return context.fireUserInboundEventTriggered(event) }
    switch state {
    case .waiting, .ended: context.close(promise: nil)
    case .receiving(let request, _): state = .receiving(request, isLast: true)
    case .answering: state = .answering(isLast: true)
    }
  }

  /// The decoder closes the connection after this.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch state {
    case .waiting where error is HTTPParserError: connections.recordRequest(on: connection)
    case .receiving where error is HTTPParserError: break
    case .waiting, .receiving, .answering, .ended: return context.close(promise: nil)
    }
    state = .answering(isLast: true)
    refuse(
      PublishProblem(
        .unsupported, "the request is not HTTP/1.1: a header with a control or a folded line is none"),
      replying(context, to: .GET))
  }

  private func proceed(with request: Request, isLast: Bool, _ context: ChannelHandlerContext) {
    if request.isTooLong { return handle(request, isLast: true, context) }
    state = .receiving(request, isLast: isLast)
  }

  /// A client that waits for permission to send the body gets it, unless it announces too much.
  private func begin(_ request: Request, isLast: Bool, _ context: ChannelHandlerContext) {
    let head = request.head
    proceed(with: request, isLast: isLast, context)
    guard case .receiving = state, head.version == .http1_1,
      head.headers[canonicalForm: "expect"].contains(where: { $0.lowercased() == "100-continue" })
    else { return }
    context.writeAndFlush(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: .continue))), promise: nil)
  }

  private func handle(_ request: Request, isLast: Bool, _ context: ChannelHandlerContext) {
    state = .answering(isLast: isLast)
    var target = request.head.uri[...]
    // As a client sends it to a proxy.
    if target.hasPrefix("http://") { target = target.dropFirst(7).drop { $0 != "/" && $0 != "?" } }
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = parts.first.map(String.init) ?? ""
    let query = parts.count == 2 ? String(parts[1]) : ""
    let reply = replying(context, to: request.head.method)
    if let problem = originProblem(request.head) { return refuse(PublishProblem(.webPage, problem), reply) }
    if request.isTooLong {
      let code: PublishProblem.Code = path == "/" ? .jsonTooLarge : .tooLarge
      return refuse(PublishProblem(code, "more than \(Self.bodyLimitBytes) bytes"), reply, path)
    }
    // The headers of HEAD are those of GET.
    switch (request.head.method == .HEAD ? .GET : request.head.method, path) {
    case (.OPTIONS, _): reply(200, "text/plain", "")
    case (.GET, "/healthz"):
      let problem = service.assumeIsolated { $0.healthProblem }
      reply(problem == nil ? 200 : 503, "text/plain", (problem ?? "ok") + "\n")
    case (.GET, "/metrics"): answer(reply) { await $0.metrics() }
    case (.GET, "/v1/status") where isCommands: answer(reply) { await $0.status() + "\n" }
    case (.GET, "/v1/pushes") where isCommands:
      let count = query.hasPrefix("last=") ? Int(query.dropFirst(5)) ?? 0 : PushLog.limit
      answer(reply) { await $0.pushes(last: count) }
    case (.POST, "/v1/push") where isCommands: pushFile(request, query, reply)
    case (.GET, "/v1/actions") where isCommands: poll(query, reply)
    case (.POST, "/v1/reload") where isCommands:
      service.assumeIsolated { service in
        service.reloadRegistrations()
        service.afterCheckingTables { _ in reply(200, "text/plain", "ok\n") }
      }
    case _: publish(request, path, query, reply)
    }
  }

  typealias Reply = @Sendable (_ status: Int, _ type: String, _ body: String) -> Void

  func answer(
    _ reply: @escaping Reply, _ type: String = "text/plain; charset=utf-8",
    _ text: @escaping @Sendable (GatewayService) async -> String
  ) {
    let service = service
    let eventLoop = service.eventLoop
    // Ends with its answer, which is one hop to the outbox away.
    Task {
      let body = await text(service)
      eventLoop.execute { reply(200, type, body) }
    }
  }

  private func poll(_ query: String, _ reply: @escaping Reply) {
    guard let poll = PollQuery(parsing: query) else {
      return reply(400, "text/plain", "use after=NUMBER&wait=SECONDS\n")
    }
    service.assumeIsolated { service in
      service.poll(after: poll.after, wait: poll.wait, topics: nil) { reply(200, "application/json", $0) }
    }
  }

  private func pushFile(_ request: Request, _ query: String, _ reply: @escaping Reply) {
    let topic = query.hasPrefix("topic=") ? String(query.dropFirst(6)) : ""
    guard !topic.isEmpty else { return reply(400, "text/plain", "the topic is missing\n") }
    service.assumeIsolated { service in
      service.push(file: request.body, topic: topic) { answer, outcome in
        let verdict = outcome?.rawValue ?? answer.reason?.rawValue ?? ""
        var members: [String: JSONValue] = ["verdict": .string(verdict)]
        if !answer.remarks.isEmpty { members["remarks"] = .array(answer.remarks.map(\.value)) }
        reply(answer.status, "application/json", JSONValue.object(members).line + "\n")
      }
    }
  }

  /// Commands come over a socket that no browser reaches.
  private func originProblem(_ head: HTTPRequestHead) -> String? {
    isCommands ? nil : LoopbackGate(port: nil, hasPages: false).problem { head.headers[$0] }
  }

  /// When the next attempt makes sense; nil: not said.
  private func retrySeconds(_ status: Int) -> Int? {
    switch status {
    case 503: PushAnswer.retryAfterSeconds
    case 429: service.assumeIsolated { $0.configuration.intake.paceSeconds }
    case _: nil
    }
  }

  private func replying(_ context: ChannelHandlerContext, to method: HTTPMethod) -> Reply {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    return { status, type, body in
      let (handler, context) = bound.value
      handler.answer(status, type, body, to: method, context)
    }
  }

  private func answer(
    _ status: Int, _ type: String, _ body: String, to method: HTTPMethod, _ context: ChannelHandlerContext
  ) {
    guard case .answering(let isLast) = state else { return }
    state = isLast ? .ended : .waiting
    lines.endRequest()
    connections.recordEnd(on: connection)
    if status == 200 { connections.markAccepted(on: connection) }
    guard context.channel.isActive else { return }
    var headers = HTTPHeaders([("content-type", type), ("content-length", "\(body.utf8.count)")])
    if let seconds = retrySeconds(status) { headers.add(name: "retry-after", value: "\(seconds)") }
    if status == 405 || method == .OPTIONS { headers.add(name: "allow", value: Self.methods) }
    if isLast { headers.add(name: "connection", value: "close") }
    let head = HTTPResponseHead(
      version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if method != .HEAD {
      let bytes = context.channel.allocator.buffer(string: body)
      context.write(wrapOutboundOut(.body(.byteBuffer(bytes))), promise: nil)
    }
    let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
    guard isLast else { return }
    connections.noteLast(on: connection)
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    written.whenComplete { _ in Self.end(bound.value) }
  }

  /// Closes the output; the client closes the connection.
  private static func end(_ context: ChannelHandlerContext) {
    try? context.pipeline.syncOperations.addHandler(IgnoredInput(), position: .first)
    context.close(mode: .output, promise: nil)
    let channel = context.channel
    let late = context.eventLoop.scheduleTask(in: endLimit) { channel.close(promise: nil) }
    channel.closeFuture.whenComplete { _ in late.cancel() }
  }
}

/// What comes after the last answer: a decoder would collect it.
private final class IgnoredInput: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
}

extension HTTPRequestHead {
  /// Whether the connection ends with the answer. SwiftNIO reads nothing after a request that asks
  /// for another protocol, and no other protocol is spoken here.
  fileprivate var isLast: Bool { !isKeepAlive || method == .CONNECT || headers.contains(name: "upgrade") }
}
#endif
