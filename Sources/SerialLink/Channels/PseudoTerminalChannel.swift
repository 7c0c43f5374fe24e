import Glibc
package import NIOCore

/// Whether a host has the slave of a pseudo-terminal open; an inbound user event of the master's
/// channel.
package enum HostPresence: Hashable, Sendable {
  /// A host opened the port. Its settings follow with later system calls; its first bytes can be
  /// read before this event, because the kernel reports both separately.
  case attached
  /// The last host closed it. Bytes that it did not read stay in the line for the next one.
  case detached
  /// The last host closed it, and another one has it open already and can be reading: what is in
  /// the line must not be discarded under it.
  case replaced
}

/// Serves the device's end of a pseudo-terminal as a NIO channel.
package enum PseudoTerminalChannel {
  /// Creates a channel for the master of `terminal`, and keeps the spare slave open until the
  /// channel closes.
  ///
  /// Attaching and detaching of a host is reported as `HostPresence`, never as the end of the
  /// channel. To a host, closing the channel looks like unplugging: its reads end, and the path
  /// vanishes.
  package static func open(
    _ terminal: consuming PseudoTerminal, on loop: any EventLoop,
    initializer: @escaping SerialChannel.Initializer
  ) async throws(PortError) -> any Channel {
    let path = terminal.slavePath
    let (master, slave) = terminal.release()
    let spareSlave = SpareSlave(owning: slave)
    let channel: any Channel
    do {
      channel = try await DescriptorChannel.open(master, .inputAndOutput, on: loop) { channel in
        let handler = PseudoTerminalHandler(path: path, master: master, spareSlave: spareSlave)
        try channel.pipeline.syncOperations.addHandler(handler)
        try initializer(channel)
      }
    } catch {
      throw PortError(opening: path, error)
    }
    do {
      try await HostPresenceHandler.watch(path, reportingTo: channel)
    } catch {
      channel.close(promise: nil)
      throw PortError(opening: path, error)
    }
    return channel
  }

  /// The rate that the host set last, in bits per second. On the channel's event loop only; one
  /// system call.
  package static func hostBitsPerSecond(of channel: any Channel) throws -> UInt32 {
    try channel.pipeline.syncOperations.handler(type: PseudoTerminalHandler.self).hostBitsPerSecond()
  }

  /// Discards bytes that were written to the host and not read by it. On the channel's event loop
  /// only.
  package static func discardUnreadOutput(of channel: any Channel) throws {
    try channel.pipeline.syncOperations.handler(type: PseudoTerminalHandler.self).discardUnreadOutput()
  }
}

/// The first handler after the master: keeps the spare slave open and reads the rate that the host
/// set.
final class PseudoTerminalHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private enum State {
    /// Both descriptors are open; the channel owns the master, this handler the spare slave.
    case open(master: Int32, spareSlave: SpareSlave)
    case closed
  }

  private let path: String
  private var state: State

  init(path: String, master: Int32, spareSlave: SpareSlave) {
    self.path = path
    self.state = .open(master: master, spareSlave: spareSlave)
  }

  func hostBitsPerSecond() throws(PortError) -> UInt32 {
    switch state {
    case .open(let master, _): try SerialPort.rate(of: master, port: path)
    case .closed: throw PortError(.deviceGone, port: path, operation: "read the rate of")
    }
  }

  func discardUnreadOutput() {
    switch state {
    case .open(_, let spareSlave): _ = tcflush(spareSlave.descriptor.raw, TCIFLUSH)
    case .closed: break
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    state = .closed
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    state = .closed
  }
}

/// The slave that a served terminal keeps open; closed with its last reference. A class, because it
/// crosses threads on its way to the handler.
final class SpareSlave: Sendable {
  let descriptor: OwnedDescriptor

  init(owning raw: Int32) {
    descriptor = OwnedDescriptor(owning: raw)
  }
}
