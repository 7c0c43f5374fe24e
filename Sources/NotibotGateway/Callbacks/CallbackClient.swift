#if Gateway
import GatewayRules
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import SerialLink
import Synchronization

/// Sends single requests to backends: over TLS with a verified certificate, or in plain text on
/// this computer. Follows no redirection. Used on one event loop.
final class CallbackClient: Sendable {
  /// A header field with the content of a file that only its owner can read.
  struct Secret: Sendable {
    var path: String
    /// What it is for, after "cannot".
    var purpose: String
    var field: @Sendable ([UInt8]) -> (name: String, value: String)
  }

  struct Request: Sendable {
    var method: String
    var address: CallbackAddress
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []
    /// File with the authority, in PEM; nil: those of the system.
    var authorityPath: String?
    var secret: Secret?
  }

  /// What the files of a request hold.
  private struct Contents: Sendable {
    var tls: NIOSSLContext?
    var field: (name: String, value: String)?
  }

  /// Time for a whole request.
  static let timeLimit = TimeAmount.seconds(10)
  /// Bytes of an answer that are read.
  static let answerLimitBytes = 65_536
  /// Bytes of an authority's file, at most.
  private static let authorityLimitBytes = 1 << 20
  /// Contexts of TLS that are kept, at most.
  private static let contextsLimit = 32

  private struct ContextKey: Hashable {
    var path: String
    var version: PrivateFile.Version
  }

  private let eventLoop: any EventLoop
  private let reader: NIOThreadPool
  private let contexts = Mutex<[ContextKey: NIOSSLContext]>([:])
  private let warn: @Sendable (String) -> Void

  /// - Parameter reader: reads files.
  init(eventLoop: any EventLoop, reader: NIOThreadPool, warn: @escaping @Sendable (String) -> Void) {
    self.eventLoop = eventLoop
    self.reader = reader
    self.warn = warn
  }

  /// Never fails: an error is `.noAnswer`. Of an answer that is too long only the status counts.
  func send(_ request: Request) -> EventLoopFuture<CallResult> {
    let answer = eventLoop.makePromise(of: HTTPAnswer.self)
    let timer = eventLoop.scheduleTask(in: Self.timeLimit) { answer.fail(ChannelError.eof) }
    answer.futureResult.whenComplete { _ in timer.cancel() }
    reader.runIfActive(eventLoop: eventLoop) { try self.read(request) }
      .whenComplete { contents in
        switch contents {
        case .failure(let error):
          if let failure = error as? Failure, let purpose = request.secret?.purpose {
            self.warn("cannot \(purpose): \(failure)")
          }
          answer.fail(error)
        case .success(let contents): self.connect(request, contents, answer)
        }
      }
    return answer.futureResult.map { CallResult.status($0.status, body: $0.body) }
      .recover { _ in .noAnswer }
  }

  private func connect(_ request: Request, _ contents: Contents, _ answer: EventLoopPromise<HTTPAnswer>) {
    var request = request
    if let field = contents.field { request.fields.append(field) }
    let host = request.address.host
    let isName = (try? SocketAddress(ipAddress: host, port: 0)) == nil
    ClientBootstrap(group: eventLoop)
      .connectTimeout(Self.timeLimit)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          if let tls = contents.tls {
            try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: isName ? host : nil))
          }
          try pipeline.addHTTPClientHandlers()
          try pipeline.addHandler(AnswerHandler(answer, limit: Self.answerLimitBytes))
        }
      }
      .connect(host: host, port: request.address.port)
      .whenComplete { [request] result in
        switch result {
        case .failure(let error): answer.fail(error)
        case .success(let channel):
          answer.futureResult.whenComplete { _ in channel.close(promise: nil) }
          Self.write(request, to: channel)
        }
      }
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

  /// Blocks.
  private func read(_ request: Request) throws -> Contents {
    var contents = Contents()
    if request.address.isTLS { contents.tls = try context(request.authorityPath) }
    if let secret = request.secret { contents.field = secret.field(try PrivateFile.secret(secret.path)) }
    return contents
  }

  private func context(_ path: String?) throws -> NIOSSLContext {
    let key = ContextKey(path: path ?? "", version: PrivateFile.Version(of: path ?? ""))
    if let known = contexts.withLock({ $0[key] }) { return known }
    var tls = TLSConfiguration.makeClientConfiguration()
    tls.minimumTLSVersion = .tlsv12
    if let path {
      let authority = try PrivateFile.read(path, limitBytes: Self.authorityLimitBytes)
      tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(authority))
    }
    let context = try NIOSSLContext(configuration: tls)
    contexts.withLock { contexts in
      if contexts.count >= Self.contextsLimit { contexts = [:] }
      contexts[key] = context
    }
    return context
  }
}
#endif
