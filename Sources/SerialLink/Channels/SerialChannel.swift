import Glibc
package import NIOCore
import NIOPosix

/// Opens byte links as NIO channels.
///
/// A channel reports the loss of its device once: `errorCaught` with a `PortError` whose code is
/// `.deviceGone`, then `channelInactive`. A close requested by this side reports no error. A write
/// that fails because of the loss fails its promise with NIO's own error; the reason is in
/// `errorCaught`. A port's locks are released when `closeFuture` completes.
package enum SerialChannel {
  /// Adds a caller's handlers; runs on the channel's event loop before the first byte is read.
  package typealias Initializer = @Sendable (any Channel) throws -> Void

  /// Bursts arrive in one read: a PTY holds 20 KiB, a USB adapter less.
  static let readSizeBytes = 32_768

  /// Opens a serial device by path. The blocking part runs on a thread of its own pool, not on
  /// `loop`.
  package static func open(
    path: String, options: SerialOptions = SerialOptions(), on loop: any EventLoop,
    initializer: @escaping Initializer
  ) async throws(PortError) -> any Channel {
    let pool = NIOSingletons.posixBlockingThreadPool
    let opened: Result<Released, PortError>
    do {
      opened = try await pool.runIfActive { Released.opening(path, options: options) }
    } catch {
      throw PortError(.system(errno: ECANCELED), port: path, operation: "open")
    }
    return try await adopt(opened.get(), on: loop, initializer: initializer)
  }

  /// Creates a channel for an open port.
  package static func open(
    _ port: consuming SerialPort, on loop: any EventLoop, initializer: @escaping Initializer
  ) async throws(PortError) -> any Channel {
    try await adopt(Released(port), on: loop, initializer: initializer)
  }

  static func adopt(
    _ port: Released, on loop: any EventLoop, initializer: @escaping Initializer
  ) async throws(PortError) -> any Channel {
    do {
      return try await DescriptorChannel.open(port.descriptor, .inputAndOutput, on: loop) { channel in
        let tty = PortLifetimeHandler.TTY(descriptor: port.descriptor, claim: port.claim)
        try channel.pipeline.syncOperations.addHandler(PortLifetimeHandler(port: port.name, tty: tty))
        try initializer(channel)
      }
    } catch {
      throw PortError(opening: port.name, error)
    }
  }

  /// An open port during the transfer between two owners, across threads.
  struct Released: Sendable {
    let name: String
    let descriptor: Int32
    let claim: PortClaim

    init(name: String, descriptor: Int32, claim: PortClaim) {
      self.name = name
      self.descriptor = descriptor
      self.claim = claim
    }

    init(_ port: consuming SerialPort) {
      name = port.name
      (descriptor, claim) = port.release()
    }

    static func opening(_ path: String, options: SerialOptions) -> Result<Released, PortError> {
      do throws(PortError) {
        return .success(Released(try SerialPort.open(path, options: options)))
      } catch {
        return .failure(error)
      }
    }
  }
}
