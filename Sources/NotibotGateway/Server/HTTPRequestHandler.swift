#if Gateway
import Foundation
import GatewayRules
import NIOCore
import NIOHTTP1
import NotibotProtocol

/// One connection of HTTP/1.1: a request at a time.
final class HTTPRequestHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private struct Request {
    var head: HTTPRequestHead
    var body: [UInt8] = []
  }

  private let service: GatewayService
  private let connections: ConnectionTable
  private let connection: Int
  /// Whether this is the socket of commands.
  private let isCommands: Bool
  private var request: Request?
  private var isAnswering = false
  private var isEnding = false

  /// Ends a connection after its present answer. SwiftNIO's own event does so too, but its handler
  /// takes the answers to pipelined requests for a mistake of the program.
  struct End: Sendable {}

  init(service: GatewayService, connections: ConnectionTable, connection: Int, isCommands: Bool) {
    self.service = service
    (self.connections, self.connection) = (connections, connection)
    self.isCommands = isCommands
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      guard !isEnding else { return }
      isAnswering = true
      connections.noteRequest(on: connection)
      request = Request(head: head)
    case .body(let bytes):
      guard var current = request else { return }
      request = nil
      current.body += bytes.readableBytesView.prefix(PushHead.bodyLimitBytes + 1 - current.body.count)
      request = current
    case .end:
      guard let current = request else { return }
      request = nil
      handle(current, context)
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is End { isEnding = true }
    if event is IdleStateHandler.IdleStateEvent || (isEnding && !isAnswering) {
      return context.close(promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func handle(_ request: Request, _ context: ChannelHandlerContext) {
    let parts = request.head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let path = String(parts[0])
    let query = parts.count == 2 ? String(parts[1]) : ""
    let reply = replying(context, isKeptAlive: request.head.isKeepAlive)
    if let problem = originProblem(request.head) { return reply(403, "text/plain", problem + "\n") }
    switch (request.head.method, path) {
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
    case _: publish(request, path, reply)
    }
  }

  private typealias Reply = @Sendable (_ status: Int, _ type: String, _ body: String) -> Void

  private func answer(_ reply: @escaping Reply, _ text: @escaping @Sendable (GatewayService) async -> String)
  {
    let service = service
    let eventLoop = service.eventLoop
    // Ends with its answer, which is one hop to the outbox away.
    Task {
      let body = await text(service)
      eventLoop.execute { reply(200, "text/plain; charset=utf-8", body) }
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
        reply(answer.status, "application/json", JSONValue.object(["verdict": .string(verdict)]).line + "\n")
      }
    }
  }

  private func publish(_ request: Request, _ path: String, _ reply: @escaping Reply) {
    let fields = request.head.headers.map { (name: $0.name.lowercased(), value: $0.value) }
    let publication: PublishRequest
    do {
      publication = try PublishRequest(
        method: request.head.method.rawValue, path: path, fields: fields, body: request.body)
    } catch {
      let body = JSONValue.object(["http": .whole(error.status), "error": .string(error.text)])
      return reply(error.status, "application/json", body.line + "\n")
    }
    service.assumeIsolated { service in
      service.publish(publication) { answer, now in
        guard answer.reason == nil else {
          let error = JSONValue.object([
            "http": .whole(answer.status), "error": .string(answer.reason?.rawValue ?? ""),
          ])
          return reply(answer.status, "application/json", error.line + "\n")
        }
        var members: [String: JSONValue] = [
          "id": .string(answer.apnsID), "time": .whole(now.seconds),
          "event": .string(publication.isRemoval ? "message_delete" : "message"),
          "topic": .string(publication.topic),
        ]
        if !publication.isRemoval { members["message"] = .string(publication.text) }
        reply(200, "application/json", JSONValue.object(members).line + "\n")
      }
    }
  }

  /// Commands come over a socket that no browser reaches.
  private func originProblem(_ head: HTTPRequestHead) -> String? {
    isCommands ? nil : LoopbackGate(port: nil, hasPages: false).problem { head.headers[$0] }
  }

  private func replying(_ context: ChannelHandlerContext, isKeptAlive: Bool) -> Reply {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    return { status, type, body in
      let (handler, context) = bound.value
      handler.connections.noteEnd(on: handler.connection)
      handler.isAnswering = false
      let isKeptAlive = isKeptAlive && !handler.isEnding
      if status == 200 { handler.connections.noteAccepted(on: handler.connection) }
      guard context.channel.isActive else { return }
      var headers = HTTPHeaders([("content-type", type), ("content-length", "\(body.utf8.count)")])
      if status == 503 { headers.add(name: "retry-after", value: "\(PushAnswer.retryAfterSeconds)") }
      if !isKeptAlive { headers.add(name: "connection", value: "close") }
      let head = HTTPResponseHead(
        version: .http1_1, status: HTTPResponseStatus(statusCode: status), headers: headers)
      context.write(handler.wrapOutboundOut(.head(head)), promise: nil)
      context.write(
        handler.wrapOutboundOut(.body(.byteBuffer(context.channel.allocator.buffer(string: body)))),
        promise: nil)
      let ended = context.writeAndFlush(handler.wrapOutboundOut(.end(nil)))
      if !isKeptAlive { ended.whenComplete { _ in bound.value.1.close(promise: nil) } }
    }
  }
}
#endif
