#if Gateway
import GatewayRules
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Sends single requests to backends: over TLS with a verified certificate, or in plain text on
/// this computer. Follows no redirection. Used on one event loop.
final class CallbackClient {
  struct Request: Sendable {
    var method: String
    var address: CallbackAddress
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// File with the authority, in PEM; nil: those of the system.
    var authorityPath: String?
  }

  /// Time for a whole request.
  static let timeLimit = TimeAmount.seconds(10)
  /// Bytes of an answer that are read.
  static let answerLimitBytes = 65_536
  /// Contexts of TLS that are kept, at most.
  private static let contextsLimit = 32

  private struct ContextKey: Hashable {
    var path: String
    var version: PrivateFile.Version
  }

  private let eventLoop: any EventLoop
  private var contexts: [ContextKey: NIOSSLContext] = [:]

  init(eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
  }

  /// Never fails: an error is `.noAnswer`. Of an answer that is too long only the status counts.
  func send(_ request: Request) -> EventLoopFuture<CallResult> {
    answer(to: request).map { CallResult.status($0.status, body: $0.body) }
      .recover { _ in .noAnswer }
  }

  private func answer(to request: Request) -> EventLoopFuture<HTTPAnswer> {
    let answer = eventLoop.makePromise(of: HTTPAnswer.self)
    let tls: NIOSSLContext?
    do {
      tls = request.address.isTLS ? try context(request.authorityPath) : nil
    } catch {
      answer.fail(error)
      return answer.futureResult
    }
    let timer = eventLoop.scheduleTask(in: Self.timeLimit) { answer.fail(ChannelError.eof) }
    answer.futureResult.whenComplete { _ in timer.cancel() }
    let host = request.address.host
    let isName = (try? SocketAddress(ipAddress: host, port: 0)) == nil
    ClientBootstrap(group: eventLoop)
      .connectTimeout(Self.timeLimit)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let tls {
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: isName ? host : nil))
          }
          try pipeline.addHTTPClientHandlers()
          try pipeline.addHandler(AnswerHandler(answer, limit: Self.answerLimitBytes))
        }
      }
      .connect(host: host, port: request.address.port)
      .whenComplete { result in
        switch result {
        case .failure(let error): answer.fail(error)
        case .success(let channel):
          answer.futureResult.whenComplete { _ in channel.close(promise: nil) }
          Self.write(request, to: channel)
        }
      }
    return answer.futureResult
  }

  private static func write(_ request: Request, to channel: any Channel) {
    var headers = HTTPHeaders([
      ("host", request.address.hostField), ("connection", "close"), ("user-agent", "notibot-gateway"),
      ("content-length", "\(request.body.count)"),
    ])
    for field in request.fields { headers.add(name: field.name, value: field.value) }
    let head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: request.method), uri: request.address.path,
      headers: headers)
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    if !request.body.isEmpty {
      channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: request.body))), promise: nil)
    }
    channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
  }

  private func context(_ path: String?) throws -> NIOSSLContext {
    let key = ContextKey(path: path ?? "", version: PrivateFile.Version(of: path ?? ""))
    if let known = contexts[key] { return known }
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.minimumTLSVersion = .tlsv12
    if let path { tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(path)) }
    let context = try NIOSSLContext(configuration: tls)
    if contexts.count >= Self.contextsLimit { contexts = [:] }
    contexts[key] = context
    return context
  }
}
#endif
