import Glibc
import NIOCore

/// The first handler after the descriptor: keeps a port's lock file until the descriptor is closed,
/// and turns the many ways in which a device can be lost into one event.
///
/// States: `open` → `closing` when this side closes; `open` → `lost` when an error or the end of
/// input came.
///
/// Closing waits briefly for bytes that the kernel has not sent yet, and then discards them:
/// otherwise the close of a USB port whose device has stopped reading would block the event loop
/// for the kernel's 30 s. cdc_acm, cp210x and ftdi_sio of Linux 6.1 discard nothing when asked to,
/// so that the close is interrupted as well.
final class PortLifetimeHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The parts that a serial port has in addition to a socket.
  struct TTY {
    /// Owned by the channel; valid while it is active.
    let descriptor: Int32
    let claim: PortClaim
    /// Bytes that a descriptor has accepted and not sent yet.
    var unsentBytes: @Sendable (Int32) -> Int32 = PortLifetimeHandler.kernelUnsentBytes
  }

  /// How long a close waits for unsent bytes, and how often it checks.
  static let closeDrainLimit = TimeAmount.milliseconds(250)
  static let closeDrainInterval = TimeAmount.milliseconds(5)

  private enum State {
    case open
    case closing
    case lost
  }

  private let port: String
  private var tty: TTY?
  private var state = State.open

  init(port: String, tty: TTY?) {
    self.port = port
    self.tty = tty
  }

  /// Executes a line command. Throws `.notATTY` for a socket, `.noModemLines` for modem lines on a
  /// PTY.
  func perform(_ command: LineCommand) throws(PortError) {
    switch state {
    case .open:
      guard let tty else { throw PortError(.notATTY, port: port, operation: command.operation) }
      try SerialPort.perform(command, on: tty.descriptor, port: port)
    case .closing, .lost:
      throw PortError(.deviceGone, port: port, operation: command.operation)
    }
  }

  /// The latency timer of the port, while it is open; `nil` for a port that has none.
  var latency: LatencyTimer? { tty?.claim.latency }

  /// The state of the modem lines. Throws as `perform` does for them.
  func lines() throws(PortError) -> ModemLines {
    switch state {
    case .open:
      guard let tty else { throw PortError(.noModemLines, port: port, operation: LineCommand.linesOperation) }
      return try SerialPort.lines(of: tty.descriptor, port: port)
    case .closing, .lost:
      throw PortError(.deviceGone, port: port, operation: LineCommand.linesOperation)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    switch error {
    case let error as IOError:
      lose(PortError(errno: error.errnoCode, port: port, operation: "read"), context: context)
    case ChannelError.eof:
      lose(PortError(.deviceGone, port: port, operation: "read"), context: context)
    default:
      context.fireErrorCaught(error)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    // End of input on a tty, and hang-up, come without an error.
    lose(PortError(.deviceGone, port: port, operation: "read"), context: context)
    // The descriptor is closed by now, and with it the flock; so the lock file can be removed.
    tty = nil
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    tty = nil
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    switch state {
    case .open where mode == .all:
      state = .closing
      closeWhenSent(
        context: context, promise: promise, deadline: context.eventLoop.now + Self.closeDrainLimit)
    case .open, .closing, .lost:
      context.close(mode: mode, promise: promise)
    }
  }

  private func closeWhenSent(
    context: ChannelHandlerContext, promise: EventLoopPromise<Void>?, deadline: NIODeadline
  ) {
    guard let tty else {
      // Programs started meanwhile inherit a socket, and would keep the connection: the server must
      // see its end now.
      context.close(mode: .output, promise: nil)
      context.close(mode: .all, promise: promise)
      return
    }
    let isSent = tty.unsentBytes(tty.descriptor) == 0
    guard !isSent, context.eventLoop.now < deadline else {
      tty.claim.latency?.restore(on: tty.descriptor)
      PortDescriptor.unlock(tty.descriptor)
      if isSent {
        context.close(mode: .all, promise: promise)
      } else {
        _ = tcflush(tty.descriptor, TCOFLUSH)
        PortDescriptor.interrupting { context.close(mode: .all, promise: promise) }
      }
      return
    }
    context.eventLoop.assumeIsolated().scheduleTask(in: Self.closeDrainInterval) {
      // The device can have been lost meanwhile, which closed the channel.
      guard context.channel.isActive else {
        promise?.succeed()
        return
      }
      self.closeWhenSent(context: context, promise: promise, deadline: deadline)
    }
  }

  private static func kernelUnsentBytes(_ descriptor: Int32) -> Int32 {
    var count: Int32 = 0
    return ioctl(descriptor, UInt(TIOCOUTQ), &count) == 0 ? count : 0
  }

  private func lose(_ reason: PortError, context: ChannelHandlerContext) {
    switch state {
    case .open:
      state = .lost
      context.fireErrorCaught(reason)
      context.close(mode: .all, promise: nil)
    case .closing, .lost:
      break
    }
  }
}
