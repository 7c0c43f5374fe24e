import CSerialShim
import Glibc
package import NIOCore
import NIOPosix

/// Unix sockets as NIO channels.
package enum UnixSocket {
  /// Bytes of a path, at most. Source: unix(7), `sun_path`.
  package static let pathLimitBytes = 107

  /// Connects to the socket at `path`.
  package static func connect(
    to path: String, on loop: any EventLoop, initializer: @escaping SerialChannel.Initializer
  ) async throws(PortError) -> any Channel {
    // Not with NIO: every started program inherits its sockets, so the peer would not see this one
    // close.
    let connected = serial_shim_connect_unix(path)
    guard connected >= 0 else { throw PortError(errno: -connected, port: path, operation: "open") }
    do {
      return try await bootstrap(on: loop, initializer).withConnectedSocket(connected).get()
    } catch {
      throw PortError(opening: path, error)
    }
  }

  /// Creates a pair and calls `body` with the raw descriptor of one end, which is closed
  /// afterwards; the other end becomes a channel.
  ///
  /// - Returns: the channel, and the result of `body`.
  package static func pair<Result: Sendable>(
    on loop: any EventLoop, initializer: @escaping SerialChannel.Initializer,
    _ body: (Int32) async throws(PortError) -> Result
  ) async throws(PortError) -> (any Channel, Result) {
    var ends: [Int32] = [-1, -1]
    let made = serial_shim_socket_pair(&ends)
    guard made == 0 else { throw PortError(errno: -made, port: "socket pair", operation: "open") }
    let far = OwnedDescriptor(owning: ends[1])
    let near = OwnedDescriptor(owning: ends[0])
    let channel: any Channel
    do {
      channel = try await bootstrap(on: loop, initializer).withConnectedSocket(near.raw).get()
      _ = near.release()
    } catch {
      // NIO has closed it.
      _ = near.release()
      throw PortError(opening: "socket pair", error)
    }
    do throws(PortError) {
      return (channel, try await body(far.raw))
    } catch {
      try? await channel.close()
      throw error
    }
  }

  private static func bootstrap(
    on loop: any EventLoop, _ initializer: @escaping SerialChannel.Initializer
  ) -> ClientBootstrap {
    ClientBootstrap(group: loop)
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: SerialChannel.readSizeBytes)
      )
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try initializer(channel) }
      }
  }
}
