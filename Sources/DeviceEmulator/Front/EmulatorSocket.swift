import Glibc
package import NIOCore
import NIOPosix
package import SerialLink

/// A Unix socket of the emulator, mode 0600: the control socket or the attribute socket.
package struct EmulatorSocket: Sendable {
  /// Connections that the kernel queues until they are accepted; another one is refused at once
  /// (EAGAIN).
  static let backlog: CInt = 128

  private let channel: any NIOCore.Channel
  private let place: SocketPlace

  /// Listens at `path`. Replaces the socket of a dead process, but no other file.
  /// - Parameters:
  ///   - loop: the event loop of the connections; `initializer` and its handlers run on it.
  ///   - initializer: adds the handlers of a connection, which must call `read`: `autoRead` is off.
  package static func open(
    at path: String, on loop: any EventLoop,
    initializer: @escaping @Sendable (any NIOCore.Channel) throws -> Void
  ) async throws(PortError) -> EmulatorSocket {
    let (place, channel) = try await SocketPlace.acquire(path, on: loop) { draft in
      try await ServerBootstrap.pausing(on: loop)
        .serverChannelOption(.backlog, value: backlog)
        .childChannelOption(.autoRead, value: false)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try initializer(channel) }
        }
        .bind(unixDomainSocketPath: draft).get()
    } close: { channel in
      // The refusal says why it is closed.
      try? await channel.close()
    } refusal: {
      refusal($0, path)
    }
    return EmulatorSocket(channel: channel, place: place)
  }

  /// Stops listening and removes the socket, if it is still this one. Connections stay.
  package func close() async {
    place.leave()
    try? await channel.close()
  }

  private static func refusal(_ obstacle: SocketPlace.Obstacle, _ path: String) -> PortError {
    func error(_ code: PortError.Code) -> PortError { PortError(code, port: path, operation: "listen at") }
    return switch obstacle {
    case .pathTooLong: error(.badPlace("a socket's path has at most \(SocketPlace.pathLimitBytes) bytes"))
    case .notASocket: error(.linkOccupied("a file that is not a socket is there"))
    case .occupied: error(.linkOccupied("another process listens there"))
    case .system(let number): PortError(placing: path, errno: number, operation: "listen at")
    }
  }
}
