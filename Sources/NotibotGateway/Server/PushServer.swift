#if Gateway
import GatewayRules
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import SerialLink

/// The listener of APNs: TLS and HTTP/2, with the limits of a server on a network.
final class PushServer: Sendable {
  /// Time without a stream after which a connection is closed.
  private static let idleLimit = TimeAmount.minutes(5)
  /// Time for the answers that are due when the gateway ends.
  private static let graceLimit = TimeAmount.seconds(5)
  private static let streamsLimit = 1000
  private static let headersLimitBytes = 16_384

  private let listener: any Channel
  private let connections: ConnectionTable
  /// As bound, with its real port.
  let address: SocketAddress?

  private init(listener: any Channel, connections: ConnectionTable) {
    self.listener = listener
    self.connections = connections
    address = listener.localAddress
  }

  static func start(
    at place: GatewayRules.SocketPlace, keeper: CertificateKeeper, service: GatewayService
  ) async throws(Failure) -> PushServer {
    let connections = await service.makeTable("apns")
    let bootstrap = ServerBootstrap.pausing(on: service.eventLoop)
      .serverChannelOption(.backlog, value: 64)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try Self.prepare(channel, keeper.assumeIsolated { $0.context }, service, connections)
        }
      }
    do {
      let listener = try await bootstrap.bind(host: place.host, port: place.port).get()
      return PushServer(listener: listener, connections: connections)
    } catch {
      throw Failure(
        listeningAt: place, error, remedy: "choose another address with 'apns' in gateway.json")
    }
  }

  private static func prepare(
    _ channel: any Channel, _ context: NIOSSLContext, _ service: GatewayService,
    _ connections: ConnectionTable
  ) throws {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandlers(NIOSSLServerHandler(context: context), FlushHandler())
    let tls = try pipeline.context(handlerType: NIOSSLServerHandler.self)
    let number = connections.insert(channel) { tls.close(promise: nil) }
    channel.closeFuture.whenComplete { _ in
      connections.remove(number)
      service.assumeIsolated { $0.handleClosed(connection: number) }
    }
    try pipeline.addHandler(
      PrefaceHandler(
        upgrade: { channel in try upgrade(channel, service, connections, number) },
        refused: { refusal in service.assumeIsolated { $0.record(refusal) } }))
  }

  private static func upgrade(
    _ channel: any Channel, _ service: GatewayService, _ connections: ConnectionTable, _ number: Int
  ) throws {
    var configuration = NIOHTTP2Handler.ConnectionConfiguration()
    configuration.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: streamsLimit),
      HTTP2Setting(parameter: .maxHeaderListSize, value: headersLimitBytes),
    ]
    // A device token with a space in it gets an answer, not a reset: PushStreamHandler validates
    // headers.
    configuration.headerBlockValidation = .disabled
    let management = NIOHTTP2ServerConnectionManagementHandler(
      eventLoop: channel.eventLoop,
      configuration: .init(maxIdleTime: idleLimit, maxAge: nil, maxGraceTime: graceLimit, keepalive: nil))
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(EarlySettingsHandler())
    _ = try pipeline.configureHTTP2Pipeline(
      mode: .server, connectionConfiguration: configuration, streamConfiguration: .init(),
      streamDelegate: management.http2StreamDelegate
    ) { stream in
      stream.eventLoop.makeCompletedFuture {
        try stream.pipeline.syncOperations.addHandler(
          PushStreamHandler(service: service, connections: connections, connection: number))
      }
    }
    try pipeline.addHandlers(management, ConnectionErrorHandler())
  }

  /// Accepts nothing more, sends GOAWAY, and returns when all connections are closed.
  func stop() async {
    try? await listener.close().get()
    await connections.quiesce(within: Self.graceLimit + .seconds(1))
  }
}

/// Ends a connection after an error of HTTP/2 or TLS. An error of one stream, which was reset,
/// leaves the others alone.
private final class ConnectionErrorHandler: ChannelInboundHandler {
  typealias InboundIn = Any

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isOfOneStream(error) else { return }
    // A GOAWAY that says why is on its way.
    context.close(promise: nil)
  }

  private func isOfOneStream(_ error: any Error) -> Bool {
    switch error {
    case is NIOHTTP2Errors.StreamError, is NIOHTTP2Errors.StreamClosed, is NIOHTTP2Errors.NoSuchStream,
      is NIOHTTP2Errors.MissingPseudoHeader, is NIOHTTP2Errors.DuplicatePseudoHeader,
      is NIOHTTP2Errors.PseudoHeaderAfterRegularHeader, is NIOHTTP2Errors.UnknownPseudoHeader,
      is NIOHTTP2Errors.UnsupportedPseudoHeader, is NIOHTTP2Errors.InvalidPseudoHeaders,
      is NIOHTTP2Errors.InvalidPseudoHeaderValue, is NIOHTTP2Errors.EmptyPathHeader,
      is NIOHTTP2Errors.InvalidHTTP2HeaderFieldName, is NIOHTTP2Errors.InvalidHTTP2HeaderFieldValue,
      is NIOHTTP2Errors.ForbiddenHeaderField, is NIOHTTP2Errors.TrailersWithoutEndStream,
      is NIOHTTP2Errors.ContentLengthViolated, is NIOHTTP2Errors.ContentLengthHeadersMismatch,
      is NIOHTTP2Errors.ContentLengthHeaderNegative, is NIOHTTP2Errors.ContentLengthHeaderMalformedValue:
      true
    case _: false
    }
  }
}
#endif
