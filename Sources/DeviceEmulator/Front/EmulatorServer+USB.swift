package import NIOCore
import NIOPosix
package import SerialLink
import Synchronization

/// The USB device that an emulator is, and where.
package struct USBPort: Sendable {
  package let identity: USBIdentity
  /// The controller of this computer that it is plugged into; nil if hosts import it over USB/IP.
  package let controller: VirtualUSBController?

  package init(_ identity: USBIdentity, controller: VirtualUSBController? = nil) {
    self.identity = identity
    self.controller = controller
  }
}

/// The answer to an import.
enum USBAdmission {
  case admitted(USBIdentity)
  case refused(USBIP.Status)
}

/// The port as a USB device, on the same event loop.
extension EmulatorServer {
  func plug(_ usb: USBPort) async throws(PortError) {
    guard let controller = usb.controller else {
      line = .served(host: nil)
      return drain()
    }
    let identity = usb.identity
    do throws(PortError) {
      let channel = try await controller.attach(
        deviceID: identity.deviceID, speed: USBIdentity.fullSpeed, on: loop
      ) { channel in
        try channel.pipeline.syncOperations.addHandler(USBIPHandler(identity, of: self))
      }
      guard case .plugging = line, channel.isActive else {
        try? await channel.close()
        throw PortError(.deviceGone, port: identity.portName.description, operation: "plug in")
      }
      line = .served(host: channel)
      releaseLines()
    } catch {
      if case .plugging = line { line = .unplugged }
      throw error
    }
    drain()
  }

  /// What this emulator exports now; nil while it is unplugged.
  var exported: USBIdentity? {
    if case .served = line { usb?.identity } else { nil }
  }

  /// A peer imports the device with `busID`; nil if that is another one.
  func admit(_ channel: any NIOCore.Channel, importing busID: String) -> USBAdmission? {
    guard let identity = usb?.identity, identity.busID == busID else { return nil }
    switch line {
    case .unplugged, .withdrawn, .plugging, .plugged, .stopped: return .refused(.noDevice)
    case .served(host: .some): return .refused(.busy)
    case .served(host: nil): break
    }
    line = .served(host: channel)
    unwrittenBytes = 0
    releaseLines()
    return .admitted(identity)
  }

  private func releaseLines() {
    wired.apply(.lines(ModemLines(dtr: false, rts: false)), now: Self.now)
  }

  /// Bytes of a transfer arrived. Returns whether there is room for more.
  func receive(_ bytes: [UInt8]) -> Bool {
    received(bytes)
    drainUnhandled()
    return !wired.isFull
  }

  /// Answers further transfers of the host, once there is room.
  func setRoom(_ hasRoom: Bool) {
    guard hasRoom, let channel = hostChannel else { return }
    channel.triggerUserOutboundEvent(USBRoomEvent(), promise: nil)
  }

  /// The adapter sends an incomplete packet after this time.
  func setLatency(_ latency: Duration) {
    wired.wire.setGatheringTimer(latency)
  }
}

/// Exports emulators over USB/IP: the devices of one hub.
package struct USBIPListener: Sendable {
  /// Connections that the kernel queues until they are accepted.
  static let backlog: CInt = 128
  /// Connections at the same time, in addition to one for each device; more are closed at once.
  static let connectionsLimit = 64
  /// Bytes queued in this process for a peer that does not read; the kernel buffers more.
  static let writeBufferLimitBytes = 65_536

  /// With the port number that was assigned.
  package let address: NetworkAddress
  private let channel: any NIOCore.Channel

  /// Listens until it is closed; `loop` is the one that all `servers` run on. Throws `PortError` if
  /// the address is not available.
  package static func open(
    _ address: NetworkAddress, for servers: [EmulatorServer], on loop: any EventLoop
  ) async throws(PortError) -> USBIPListener {
    try await open(address, for: servers, handshakeLimit: USBIPHandler.handshakeLimit, on: loop)
  }

  static func open(
    _ address: NetworkAddress, for servers: [EmulatorServer], handshakeLimit: TimeAmount,
    on loop: any EventLoop
  ) async throws(PortError) -> USBIPListener {
    let admission = ConnectionAdmission(limit: connectionsLimit + servers.count)
    do {
      let channel = try await ServerBootstrap.pausing(on: loop)
        .serverChannelOption(.backlog, value: backlog)
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelOption(.autoRead, value: false)
        .childChannelOption(.writeBufferWaterMark, value: .init(low: 4096, high: writeBufferLimitBytes))
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try admission.admit(channel)
            try channel.pipeline.syncOperations.addHandler(
              USBIPHandler(exporting: servers, handshakeLimit: handshakeLimit))
          }
        }
        .bind(host: address.host, port: address.port).get()
      var bound = address
      bound.port = channel.localAddress?.port ?? address.port
      return USBIPListener(address: bound, channel: channel)
    } catch {
      throw NetworkListener.failure(error, at: "\(address.host):\(address.port)")
    }
  }

  /// Stops listening.
  package func close() async { try? await channel.close() }
}

/// Counts the connections of a listener.
private final class ConnectionAdmission: Sendable {
  private let limit: Int
  private let count = Mutex(0)

  init(limit: Int) { self.limit = limit }

  /// Throws, so that the channel is closed, if the limit is reached.
  func admit(_ channel: any NIOCore.Channel) throws {
    let isAdmitted = count.withLock { count in
      guard count < limit else { return false }
      count += 1
      return true
    }
    guard isAdmitted else { throw CancellationError() }
    channel.closeFuture.whenComplete { _ in self.count.withLock { $0 -= 1 } }
  }
}
