import Conformance
import NIOCore
package import NotibotProtocol
import SerialLink

/// A line to a device on a real port, in real time.
package final class ChannelLine: Line {
  /// How long a device can refuse to accept bytes.
  static let writeLimit = TimeAmount.seconds(10)

  /// An open port.
  struct Port {
    var channel: any NIOCore.Channel
    var inbox: NIOLoopBound<ChannelInbox>
    /// Whether the socket is shut down before the descriptor is closed. swift-nio's sockets are
    /// inherited by every process that this one starts in the meantime, and then closing alone does
    /// not notify the other end.
    var isShutDownFirst = false
  }

  private var port: Port
  private let openPort: () async throws -> Port
  private let origin = ContinuousClock.now
  private var lateness = Duration.zero

  /// - Parameter openPort: opens the port, now and whenever it is reopened.
  init(openPort: @escaping () async throws -> Port) async throws {
    self.openPort = openPort
    port = try await openPort()
  }

  private var channel: any NIOCore.Channel { port.channel }

  /// Closes the port, if it is still open, and opens it again.
  func reopen() async throws {
    await close()
    port = try await openPort()
  }

  package var now: Instant { Instant(nanoseconds: (ContinuousClock.now - origin).wholeNanoseconds) }

  package func write(_ bytes: [UInt8]) async throws {
    let written = channel.eventLoop.makePromise(of: Void.self)
    let limit = channel.eventLoop.scheduleTask(in: Self.writeLimit) {
      written.fail(CaseEnd.fault("the device takes no bytes for 10 s", file: #fileID, line: #line))
    }
    channel.writeAndFlush(channel.allocator.buffer(bytes: bytes)).cascade(to: written)
    defer { limit.cancel() }
    do {
      try await written.futureResult.get()
    } catch let end as CaseEnd {
      throw end
    } catch {
      throw await endOfPort ?? RigTrouble.portIsGone(error)
    }
  }

  /// Why the port has ended, as its input reported it; nil if it has not.
  private var endOfPort: (any Error)? {
    get async {
      let inbox = port.inbox
      return try? await channel.eventLoop.submit { inbox.value.endOfPort }.get()
    }
  }

  package func read(until deadline: Instant) async throws -> [UInt8] {
    let wait = TimeAmount.nanoseconds(max(0, (deadline - now).wholeNanoseconds))
    let inbox = port.inbox
    let loop = channel.eventLoop
    // A cancelled case no longer waits, and notices it before its next read.
    let arrival = try await withTaskCancellationHandler {
      try await loop.flatSubmit { inbox.value.read(for: wait) }.get()
    } onCancel: {
      loop.execute { inbox.value.endWait(at: nil) }
    }
    if let time = arrival.time {
      lateness = max(lateness, .nanoseconds((NIODeadline.now() - time).nanoseconds))
    }
    return arrival.bytes
  }

  package func drainLateness() -> Duration {
    defer { lateness = .zero }
    return lateness
  }

  /// Closes the port and waits until its locks are released.
  package func close() async {
    // The error of a channel that was already closed adds no information.
    if port.isShutDownFirst { _ = try? await channel.close(mode: .output).get() }
    channel.close(promise: nil)
    _ = try? await channel.closeFuture.get()
  }
}

/// Keeps received bytes until the case reads them. Lives on its channel's event loop.
///
/// States: *collecting* → `read` without available bytes → *waiting* → bytes or the deadline →
/// *collecting*; → *ended* when the channel closes, permanently. Nothing more is read from the port
/// while `limitBytes` are queued: 2.8 s at 921 600 baud. An answer of a device that floods the port
/// waits behind as many.
final class ChannelInbox: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  static let limitBytes = 1 << 18

  /// The result of a read.
  struct Arrival: Sendable {
    var bytes: [UInt8]
    /// When a read that had to wait should have ended; nil if it did not have to.
    var time: NIODeadline?
  }

  private enum State {
    case collecting
    case waiting(EventLoopPromise<Arrival>, Scheduled<Void>)
    case ended
  }

  private let loop: any EventLoop
  private var state = State.collecting
  private var received: [UInt8] = []
  private var context: ChannelHandlerContext?
  private var isReadHeldBack = false
  private var cause: any Error = ChannelError.eof

  init(loop: any EventLoop) {
    self.loop = loop
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received += unwrapInboundIn(data).readableBytesView
    guard case .waiting(let promise, let timer) = state else { return }
    timer.cancel()
    state = .collecting
    promise.succeed(Arrival(bytes: drainReceived(), time: loop.now))
  }

  func read(context: ChannelHandlerContext) {
    if received.count < Self.limitBytes { context.read() } else { isReadHeldBack = true }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    cause = error
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    if case .waiting(let promise, let timer) = state {
      timer.cancel()
      promise.fail(trouble)
    }
    state = .ended
    context.fireChannelInactive()
  }

  /// The received bytes, or those that arrive during the wait; empty if there are none.
  func read(for wait: TimeAmount) -> EventLoopFuture<Arrival> {
    if !received.isEmpty { return loop.makeSucceededFuture(Arrival(bytes: drainReceived())) }
    switch state {
    case .ended: return loop.makeFailedFuture(trouble)
    case .waiting:
      return loop.makeFailedFuture(
        RigTrouble("two cases read one line", remedy: "run the cases one after the other"))
    case .collecting: break
    }
    let promise = loop.makePromise(of: Arrival.self)
    let bound = NIOLoopBound(self, eventLoop: loop)
    let deadline = loop.now + wait
    let timer = loop.scheduleTask(deadline: deadline) { bound.value.endWait(at: deadline) }
    state = .waiting(promise, timer)
    return promise.futureResult
  }

  /// Ends a wait, if there is one, without bytes.
  ///
  /// - Parameter deadline: when it should have ended; nil if it ends early.
  func endWait(at deadline: NIODeadline?) {
    guard case .waiting(let promise, let timer) = state else { return }
    timer.cancel()
    state = .collecting
    promise.succeed(Arrival(bytes: [], time: deadline))
  }

  /// The error of a write after the end; nil before.
  var endOfPort: (any Error)? {
    if case .ended = state { trouble } else { nil }
  }

  /// The error of a read after the end: a server that serves another client, or is no port, is not
  /// a pulled cable.
  private var trouble: any Error {
    switch (cause as? PortError)?.code {
    case .serverBusy, .unreachable: cause
    case _: RigTrouble.portIsGone(cause)
    }
  }

  private func drainReceived() -> [UInt8] {
    defer { received = [] }
    if isReadHeldBack {
      isReadHeldBack = false
      context?.read()
    }
    return received
  }
}

extension RigTrouble {
  static func portIsGone(_ cause: any Error) -> RigTrouble {
    RigTrouble("the port is gone: \(cause)", remedy: "check the cable, then run the suite again", part: .port)
  }
}
