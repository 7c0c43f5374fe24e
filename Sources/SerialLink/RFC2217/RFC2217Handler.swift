import NIOCore

/// Drives an `RFC2217Client` on its channel: data passes in both directions as if this were the
/// port, commands become futures.
///
/// Handlers behind it see the channel become active when the port is open, and see nothing of a
/// port that could not be opened. Bytes written before, or while the server suspends the flow, are
/// queued here, at most `heldLimitBytes`.
final class RFC2217Handler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Bytes queued for a server that has suspended the flow, at most; a write beyond that fails.
  static let heldLimitBytes = 1 << 20

  private struct Held {
    var buffer: ByteBuffer
    var promise: EventLoopPromise<Void>?
  }

  private let port: String
  private let opened: EventLoopPromise<Void>
  private var machine: RFC2217Client
  private var commands: [Int: (LineCommand, EventLoopPromise<Void>)] = [:]
  private var nextID = 0
  /// The last state of the modem lines; a server's driver asserts both when it opens its port.
  private(set) var lines = ModemLines(dtr: true, rts: true)
  private var held: CircularBuffer<Held> = []
  private var heldBytes = 0
  private var isSuspended = false
  private var context: ChannelHandlerContext?
  private var timer = DriverTimer()

  /// - Parameters:
  ///   - port: as the user named it.
  ///   - opened: completed when the port is open, or cannot be opened.
  init(port: String, machine: RFC2217Client, opened: EventLoopPromise<Void>) {
    self.port = port
    self.machine = machine
    self.opened = opened
  }

  /// Executes a line command.
  func perform(_ command: LineCommand) -> EventLoopFuture<Void> {
    guard let context else {
      return opened.futureResult.eventLoop.makeFailedFuture(
        PortError(.deviceGone, port: port, operation: command.operation))
    }
    let promise = context.eventLoop.makePromise(of: Void.self)
    let id = nextID
    nextID += 1
    commands[id] = (command, promise)
    if case .lines(let lines) = command { self.lines = lines }
    machine.submit(command, id: id, now: Self.now)
    drainActions(context)
    return promise.futureResult
  }

  // MARK: The channel

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    finish()
  }

  func channelActive(context: ChannelHandlerContext) {
    machine.start(now: Self.now)
    drainActions(context)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    if machine.isTransparent, !buffer.readableBytesView.contains(Telnet.iac) {
      return context.fireChannelRead(data)
    }
    machine.receive(Array(buffer.readableBytesView), now: Self.now)
    drainActions(context)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let buffer = unwrapOutboundIn(data)
    if machine.isOpen, !isSuspended { return pass(buffer, promise, context) }
    guard heldBytes + buffer.readableBytes <= Self.heldLimitBytes else {
      promise?.fail(PortError(.unconfirmed("the server accepts no data"), port: port, operation: "write to"))
      return
    }
    heldBytes += buffer.readableBytes
    held.append(Held(buffer: buffer, promise: promise))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if machine.isOpen { context.fireErrorCaught(error) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    let wasOpen = machine.isOpen
    machine.end()
    drainActions(context)
    finish()
    if wasOpen { context.fireChannelInactive() }
  }

  // MARK: Actions

  private func drainActions(_ context: ChannelHandlerContext) {
    var hasWritten = false
    while let action = machine.nextAction() {
      switch action {
      case .write(let bytes):
        context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)), promise: nil)
        hasWritten = true
      case .deliver(let bytes):
        context.fireChannelRead(wrapInboundOut(context.channel.allocator.buffer(bytes: bytes)))
      case .opened:
        opened.succeed()
        context.fireChannelActive()
        releaseHeld(context)
      case .refuse(let refusal):
        opened.fail(error(of: refusal))
        context.close(promise: nil)
      case .completed(let id):
        commands.removeValue(forKey: id)?.1.succeed()
      case .failed(let id, let failure):
        guard let (command, promise) = commands.removeValue(forKey: id) else { break }
        promise.fail(error(of: failure, command))
      case .suspended: isSuspended = true
      case .resumed:
        isSuspended = false
        releaseHeld(context)
      case .discardOutput:
        drainHeld().forEach { $0.promise?.succeed() }
      }
    }
    if hasWritten { context.flush() }
    arm(context)
  }

  private func pass(
    _ buffer: ByteBuffer, _ promise: EventLoopPromise<Void>?, _ context: ChannelHandlerContext
  ) {
    guard buffer.readableBytesView.contains(Telnet.iac) else {
      return context.write(wrapOutboundOut(buffer), promise: promise)
    }
    let escaped = Telnet.escaped(Array(buffer.readableBytesView))
    context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: escaped)), promise: promise)
  }

  private func releaseHeld(_ context: ChannelHandlerContext) {
    guard !isSuspended, !held.isEmpty else { return }
    for item in drainHeld() { pass(item.buffer, item.promise, context) }
    context.flush()
  }

  private func drainHeld() -> CircularBuffer<Held> {
    defer {
      held = []
      heldBytes = 0
    }
    return held
  }

  /// The queued writes when the channel has ended.
  private func finish() {
    timer.cancel()
    let gone = PortError(.deviceGone, port: port, operation: "open")
    opened.fail(gone)
    drainHeld().forEach { $0.promise?.fail(ChannelError.ioOnClosedChannel) }
    let waiting = commands.values
    commands = [:]
    for (command, promise) in waiting {
      promise.fail(PortError(.deviceGone, port: port, operation: command.operation))
    }
  }

  // MARK: Time

  private static var now: Duration { .nanoseconds(Int64(clamping: NIODeadline.now().uptimeNanoseconds)) }

  private func arm(_ context: ChannelHandlerContext) {
    guard let deadline = machine.nextDeadline else { return timer.cancel() }
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    timer.arm(for: .now() + TimeAmount(deadline - Self.now), on: context.eventLoop) {
      bound.value.expired()
    }
  }

  private func expired() {
    guard let context, timer.fires(on: context.eventLoop) else { return }
    machine.handleTimeout(now: Self.now)
    drainActions(context)
  }

  // MARK: Errors

  private var seconds: String {
    let text = machine.options.timeout.formattedSeconds
    return "\(text) s"
  }

  private func error(of refusal: RFC2217Client.Refusal) -> PortError {
    let code: PortError.Code =
      switch refusal {
      case .notNegotiated(0): .unreachable("no RFC 2217 server answered within \(seconds)")
      case .notNegotiated(let count):
        .unreachable("received \(count) bytes, but no RFC 2217 negotiation; use socket:// for plain bytes")
      case .notOffered: .unreachable("the server does not offer RFC 2217; use socket:// for plain bytes")
      case .notConfigured: .unreachable("the server did not set rate and format within \(seconds)")
      case .rateRefused(let offered):
        .unsupportedBaud(requested: machine.bitsPerSecond, offered: offered)
      case .formatRefused: .unreachable("the server's port does not support 8 data bits, no parity, 1 stop")
      case .ended(said: let text) where text.isEmpty:
        .serverBusy("the server closed the connection at once, which usually means that its port is in use")
      case .ended(said: let text):
        Self.meaning(of: String(decoding: text, as: UTF8.self).trimmed)
      }
    return PortError(code, port: port, operation: "open")
  }

  /// The meaning of a connection that the server closed at once with this text.
  private static func meaning(of words: String) -> PortError.Code {
    let text = "the server closed the connection at once with the message: \(words)"
    let isTaken = ["in use", "busy"].contains { words.lowercased().contains($0) }
    return isTaken ? .serverBusy(text) : .unreachable(text)
  }

  private func error(of failure: RFC2217Client.Failure, _ command: LineCommand) -> PortError {
    let code: PortError.Code =
      switch failure {
      case .notOpen: .deviceGone
      case .tooMany: .unconfirmed("\(RFC2217Client.pendingLimit) commands wait for the server")
      case .unconfirmed: .unconfirmed("the server did not confirm it within \(seconds)")
      case .unsupported:
        .unconfirmed("an earlier command of this kind was not confirmed; the port may have no modem lines")
      case .contradicted: .unconfirmed("the server reported a different value")
      case .rateRefused(let offered): .unsupportedBaud(requested: command.rate, offered: offered)
      }
    return PortError(code, port: port, operation: command.operation)
  }
}

extension LineCommand {
  /// The requested rate; 0 if none is.
  fileprivate var rate: UInt32 {
    switch self {
    case .rate(let rate): rate
    case .lines, .breakState, .purgeInput, .purgeOutput: 0
    }
  }
}

extension Duration {
  /// Such as "2" or "0.5".
  fileprivate var formattedSeconds: String {
    let milliseconds = components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    return milliseconds % 1000 == 0 ? "\(milliseconds / 1000)" : "\(Double(milliseconds) / 1000)"
  }
}

extension String {
  /// Without surrounding white space and line ends.
  fileprivate var trimmed: String {
    String(drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
  }
}
