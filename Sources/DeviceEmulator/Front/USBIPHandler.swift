import NIOCore
import SerialLink

/// The emulator has room for bytes again; sent down the pipeline of a USB/IP connection.
struct USBRoomEvent: Sendable {}

/// One USB/IP connection: the messages before an import, then the transfers of a device, which runs
/// on the same event loop.
final class USBIPHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum State {
    /// Before the first message, which is about these.
    case handshake(USBIPHandshake, [EmulatorServer])
    case imported(USBDevice, EmulatorServer)
    case ended
  }

  /// How long a client that got its answer has to close the connection.
  private static let closingLimit = TimeAmount.seconds(1)
  /// How long a client has for its first message.
  static let handshakeLimit = TimeAmount.seconds(10)

  private var state: State
  private let handshakeLimit: TimeAmount
  private var isDraining = false
  private var isSuspended = false

  /// A connection from the network.
  init(exporting servers: [EmulatorServer], handshakeLimit: TimeAmount = handshakeLimit) {
    state = .handshake(USBIPHandshake(), servers)
    self.handshakeLimit = handshakeLimit
  }

  /// A connection that has been imported by other means.
  init(_ identity: USBIdentity, of server: EmulatorServer) {
    state = .imported(USBDevice(identity), server)
    handshakeLimit = Self.handshakeLimit
  }

  // MARK: Events

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    try? channel.syncOptions?.setOption(.autoRead, value: true)
    guard case .handshake = state else { return }
    context.eventLoop.assumeIsolated().scheduleTask(in: handshakeLimit) {
      if case .handshake = self.state { channel.close(promise: nil) }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = Array(unwrapInboundIn(data).readableBytesView)
    switch state {
    case .ended: break
    case .handshake(var handshake, let servers):
      let action = handshake.receive(bytes)
      state = .handshake(handshake, servers)
      if let action { answer(action, rest: handshake.rest, servers, context) }
    case .imported(var device, let server):
      device.receive(bytes)
      state = .imported(device, server)
      drainActions(context)
    }
  }

  /// Bytes that the device sends on its line.
  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let bytes = Array(unwrapOutboundIn(data).readableBytesView)
    changeDevice { $0.send(bytes) }
    promise?.succeed()
    drainActions(context)
  }

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?)
  {
    guard event is USBRoomEvent else {
      return context.triggerUserOutboundEvent(event, promise: promise)
    }
    changeDevice { $0.setRoom(true) }
    promise?.succeed()
    drainActions(context)
  }

  /// A peer that does not read its answers gets no further ones.
  func channelWritabilityChanged(context: ChannelHandlerContext) {
    let channel = context.channel
    try? channel.syncOptions?.setOption(.autoRead, value: channel.isWritable)
    guard channel.isWritable, case .imported(_, let server) = state else { return }
    server.assumeIsolated { $0.drain() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    guard case .imported(_, let server) = state else { return }
    state = .ended
    let channel = context.channel
    server.assumeIsolated { $0.left(channel) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A failed connection has ended; `channelInactive` informs the emulator.
    context.close(promise: nil)
  }

  // MARK: Before the import

  private func answer(
    _ action: USBIPHandshake.Action, rest: [UInt8], _ servers: [EmulatorServer],
    _ context: ChannelHandlerContext
  ) {
    switch action {
    case .fail:
      state = .ended
      context.close(promise: nil)
    case .list:
      let present = servers.compactMap { server in server.assumeIsolated { $0.exported } }
      end(with: USBIPHandshake.list(of: present), context)
    case .importDevice(let busID):
      let channel = context.channel
      for server in servers {
        switch server.assumeIsolated({ $0.admit(channel, importing: busID) }) {
        case nil: continue
        case .refused(let status)?: return end(with: USBIPHandshake.refused(status), context)
        case .admitted(let identity)?:
          put(USBIPHandshake.imported(identity), context)
          var device = USBDevice(identity)
          device.receive(rest)
          state = .imported(device, server)
          return drainActions(context)
        }
      }
      end(with: USBIPHandshake.refused(.noDevice), context)
    }
  }

  /// Sends the last message of this side. Reading goes on, because closing with unread bytes would
  /// discard it.
  private func end(with bytes: [UInt8], _ context: ChannelHandlerContext) {
    let channel = context.channel
    state = .ended
    put(bytes, context)
    context.flush()
    context.close(mode: .output, promise: nil)
    context.eventLoop.assumeIsolated().scheduleTask(in: Self.closingLimit) { channel.close(promise: nil) }
  }

  // MARK: The device

  private func changeDevice(_ change: (inout USBDevice) -> Void) {
    guard case .imported(var device, let server) = state else { return }
    state = .ended
    change(&device)
    state = .imported(device, server)
  }

  /// Carries out the actions of the device; the emulator can call back meanwhile.
  private func drainActions(_ context: ChannelHandlerContext) {
    guard !isDraining else { return }
    isDraining = true
    defer { isDraining = false }
    repeat {
      while let (action, server) = nextAction() { carryOut(action, server, context) }
      context.flush()
    } while suspendOrResume()
  }

  private func nextAction() -> (USBDevice.Action, EmulatorServer)? {
    guard case .imported(_, let server) = state else { return nil }
    var action: USBDevice.Action?
    changeDevice { action = $0.nextAction() }
    return action.map { ($0, server) }
  }

  private func carryOut(
    _ action: USBDevice.Action, _ server: EmulatorServer, _ context: ChannelHandlerContext
  ) {
    switch action {
    case .write(let bytes): put(bytes, context)
    case .deliver(let bytes):
      let hasRoom = server.assumeIsolated { $0.receive(bytes) }
      changeDevice { $0.setRoom(hasRoom) }
    case .perform(let command):
      // A chip that resets takes its USB with it, but has answered before.
      context.flush()
      let modemState = server.assumeIsolated { $0.perform(command) }
      changeDevice { $0.setModemState(modemState) }
    case .setLatency(let latency): server.assumeIsolated { $0.setLatency(latency) }
    case .notice(let presence): server.assumeIsolated { $0.noticed(presence) }
    case .fail: context.close(promise: nil)
    }
  }

  /// Stops and resumes the device with its buffer towards the host. Returns whether that changed.
  private func suspendOrResume() -> Bool {
    guard case .imported(let device, let server) = state, device.isFull != isSuspended else { return false }
    isSuspended = device.isFull
    let suspends = isSuspended
    server.assumeIsolated { $0.suspend(suspends) }
    return true
  }

  private func put(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
    context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)), promise: nil)
  }
}
