package import NIOCore
import NIOPosix
package import SerialLink

/// Whether a client that connects becomes the host.
package enum NetworkAdmission {
  /// With the machine that speaks RFC 2217 to it; nil if bytes pass without a protocol.
  case accepted(RFC2217Server?)
  /// Another client is the host.
  case taken
  /// Refused for this reason.
  case refused(String)
}

/// A device behind a `NetworkListener`, which calls it on the event loop that it runs on.
package protocol NetworkDevice: Actor {
  /// A client has connected.
  func admit(_ channel: any NIOCore.Channel, over service: NetworkAddress.Service) -> NetworkAdmission
  /// The host opened the port.
  func noticed(_ presence: HostPresence)
  /// Bytes arrived from the host.
  func received(_ bytes: [UInt8])
  /// The host changes the line. Returns the modem lines that the device then drives, as in
  /// NOTIFY-MODEMSTATE.
  func perform(_ command: LineCommand) -> UInt8
  /// The host stops accepting bytes, or accepts them again.
  func suspend(_ suspends: Bool)
  /// The channel accepts bytes again.
  func drain()
  /// The host has disconnected, and its driver released both lines.
  func left(_ channel: any NIOCore.Channel)
}

/// Listens on TCP for the single host of a device. A client that connects while the device is
/// unplugged or in use gets the reason, and is disconnected.
package struct NetworkListener: Sendable {
  /// Connections that the kernel queues until they are accepted; fewer if net.core.somaxconn is
  /// lower. With 8, a crowd of clients waits a second or more until the kernel retries.
  static let backlog: CInt = 4096
  /// Bytes queued in this process for a host that does not read; the kernel buffers more.
  static let writeBufferLimitBytes = 32_768

  /// With the port number that was assigned.
  package let address: NetworkAddress
  private let channel: any NIOCore.Channel

  /// Listens until it is closed; `loop` is the one that `server` runs on. Throws `PortError` if the
  /// address is not available.
  package static func open(
    _ address: NetworkAddress, for server: some NetworkDevice, on loop: any EventLoop
  ) async throws(PortError) -> NetworkListener {
    let service = address.service
    do {
      let channel = try await ServerBootstrap.pausing(on: loop)
        .serverChannelOption(.backlog, value: backlog)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelOption(.autoRead, value: false)
        .childChannelOption(
          .writeBufferWaterMark, value: .init(low: 4096, high: writeBufferLimitBytes)
        )
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(NetworkHandler(server: server, service: service))
          }
        }
        .bind(host: address.host, port: address.port).get()
      var bound = address
      bound.port = channel.localAddress?.port ?? address.port
      return NetworkListener(address: bound, channel: channel)
    } catch {
      throw failure(error, at: address.portAddress.description)
    }
  }

  static func failure(_ error: any Error, at name: String) -> PortError {
    let code: PortError.Code =
      if let error = error as? IOError { .system(errno: error.errnoCode) } else {
        .badPlace("no such address")
      }
    return PortError(code, port: name, operation: "listen at")
  }

  /// Stops listening.
  package func close() async { try? await channel.close() }
}

/// Passes the events of one connection of a network port to the device, which runs on the same
/// event loop.
final class NetworkHandler<Server: NetworkDevice>: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Answers queued for a client that does not read; a client that sends more requests is
  /// disconnected.
  static var unsentAnswersLimitBytes: Int { 16_384 }

  /// How long a new host waits for the previous one to disconnect, and how often that is checked.
  /// The time is this long because a child that the host's process is starting keeps its socket
  /// until it has executed another program.
  static var takenLimit: TimeAmount { .milliseconds(500) }
  static var takenPause: TimeAmount { .milliseconds(20) }
  /// How long a client that was refused has to close the connection.
  static var closingLimit: TimeAmount { .seconds(1) }

  private let server: Server
  private let service: NetworkAddress.Service
  /// nil before the connection is accepted, and if raw bytes are passed.
  private var telnet: RFC2217Server?
  private var isAccepted = false
  private var unsentAnswerBytes = 0

  init(server: Server, service: NetworkAddress.Service) {
    self.server = server
    self.service = service
  }

  func channelActive(context: ChannelHandlerContext) {
    enter(context, waitingUntil: context.eventLoop.now + Self.takenLimit)
  }

  /// If a host closes its port and opens it again, the connection can be seen before the
  /// disconnection. So a host that finds the port in use is admitted again until the limit.
  private func enter(_ context: ChannelHandlerContext, waitingUntil deadline: NIODeadline) {
    let channel = context.channel
    let service = service
    let admission = server.assumeIsolated { $0.admit(channel, over: service) }
    switch admission {
    case .taken where context.eventLoop.now < deadline:
      context.eventLoop.assumeIsolated().scheduleTask(in: Self.takenPause) {
        if channel.isActive { self.enter(context, waitingUntil: deadline) }
      }
    case .taken: refuse("Port already in use", context)
    case .refused(let reason): refuse(reason, context)
    case .accepted(let machine):
      isAccepted = true
      telnet = machine
      telnet?.start()
      drainActions(context)
      try? channel.syncOptions?.setOption(.autoRead, value: true)
      server.assumeIsolated { $0.noticed(.attached) }
    }
  }

  /// Reads the received bytes and sends the reason of the refusal before it closes the connection:
  /// closing with unread bytes would discard that text.
  private func refuse(_ reason: String, _ context: ChannelHandlerContext) {
    let channel = context.channel
    try? channel.syncOptions?.setOption(.autoRead, value: true)
    context.writeAndFlush(wrapOutboundOut(channel.allocator.buffer(string: reason + "\r\n")), promise: nil)
    context.close(mode: .output, promise: nil)
    context.eventLoop.assumeIsolated().scheduleTask(in: Self.closingLimit) { channel.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard isAccepted else { return }
    let bytes = Array(unwrapInboundIn(data).readableBytesView)
    guard telnet != nil else { return server.assumeIsolated { $0.received(bytes) } }
    telnet?.receive(bytes)
    drainActions(context)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let buffer = unwrapOutboundIn(data)
    guard telnet != nil, buffer.readableBytesView.contains(Telnet.iac) else {
      return context.write(data, promise: promise)
    }
    let escaped = Telnet.escaped(Array(buffer.readableBytesView))
    context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: escaped)), promise: promise)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard context.channel.isWritable else { return }
    server.assumeIsolated { $0.drain() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    guard isAccepted else { return }
    let channel = context.channel
    server.assumeIsolated { $0.left(channel) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A failed connection has ended; `channelInactive` informs the device.
    context.close(promise: nil)
  }

  private func drainActions(_ context: ChannelHandlerContext) {
    while let action = telnet?.nextAction() {
      switch action {
      case .write(let bytes): answer(bytes, context)
      case .deliver(let bytes): server.assumeIsolated { $0.received(bytes) }
      case .perform(let command):
        let state = server.assumeIsolated { $0.perform(command) }
        telnet?.setModemState(state)
      case .suspend(let suspends): server.assumeIsolated { $0.suspend(suspends) }
      }
    }
    context.flush()
  }

  private func answer(_ bytes: [UInt8], _ context: ChannelHandlerContext) {
    unsentAnswerBytes += bytes.count
    guard unsentAnswerBytes <= Self.unsentAnswersLimitBytes else { return context.close(promise: nil) }
    let count = bytes.count
    context.write(wrapOutboundOut(context.channel.allocator.buffer(bytes: bytes)))
      .assumeIsolated().whenComplete { _ in self.unsentAnswerBytes -= count }
  }
}
