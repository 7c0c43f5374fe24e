#if Gateway
import Foundation
import GatewayRules
import NIOCore
import NIOHTTP1
import NIOPosix
import SerialLink

/// The listeners of HTTP/1.1: scripts on loopback, commands on a unix socket.
final class HTTPServer: Sendable {
  /// Time without a byte after which a connection is closed.
  private static let idleLimit = TimeAmount.seconds(30)
  /// Time for the answers that are due when the gateway ends.
  private static let graceLimit = TimeAmount.seconds(1)

  private let listener: any Channel
  private let connections: ConnectionTable
  let address: SocketAddress?
  private let socketPath: String?

  private init(listener: any Channel, connections: ConnectionTable, socketPath: String?) {
    self.listener = listener
    self.connections = connections
    self.socketPath = socketPath
    address = listener.localAddress
  }

  /// For scripts: publishing, health and metrics.
  static func start(at place: GatewayRules.SocketPlace, service: GatewayService) async throws(Failure)
    -> HTTPServer
  {
    let connections = await service.makeTable("http")
    do {
      let listener = try await bootstrap(service, connections, isCommands: false)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .bind(host: place.host, port: place.port).get()
      return HTTPServer(listener: listener, connections: connections, socketPath: nil)
    } catch {
      throw Failure(
        listeningAt: place, error,
        remedy: "choose another address with 'http' in gateway.json, or null for none")
    }
  }

  /// For the commands of this program; the folder is closed to others. The outbox's lock proves
  /// that no other gateway uses the socket.
  static func start(atSocket path: String, service: GatewayService) async throws(Failure) -> HTTPServer {
    let connections = await service.makeTable("commands")
    do {
      let listener = try await bootstrap(service, connections, isCommands: true)
        .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
      return HTTPServer(listener: listener, connections: connections, socketPath: path)
    } catch {
      throw Failure(.unfitEnvironment, "cannot listen on \(path): \(errorText(error))")
    }
  }

  private static func bootstrap(
    _ service: GatewayService, _ connections: ConnectionTable, isCommands: Bool
  ) -> ServerBootstrap {
    ServerBootstrap.pausing(on: service.eventLoop).childChannelInitializer { channel in
      channel.eventLoop.makeCompletedFuture {
        let number = connections.insert(channel) { channel.close(promise: nil) }
        channel.closeFuture.whenComplete { _ in connections.remove(number) }
        let pipeline = channel.pipeline.syncOperations
        try pipeline.addHandler(IdleStateHandler(allTimeout: idleLimit))
        let lines = RequestLineHandler()
        try pipeline.addHandler(lines)
        try pipeline.configureHTTPServerPipeline(withErrorHandling: false)
        try pipeline.addHandler(
          HTTPRequestHandler(
            service: service, connections: connections, connection: number, lines: lines,
            isCommands: isCommands))
      }
    }
  }

  func stop() async {
    try? await listener.close().get()
    await connections.quiesce(within: Self.graceLimit, HTTPRequestHandler.End())
    if let socketPath { unlink(socketPath) }
  }
}
#endif
