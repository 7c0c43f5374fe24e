package import NIOCore
import NIOPosix
@_spi(Machines) import NotibotProtocol
package import SerialLink

/// An emulated display in this process, behind a pseudo-terminal or a TCP port.
///
/// States of the line: *unplugged* (the device keeps running, as one with a battery does) →
/// *plugging* → *plugged* (there is a PTY, and the link points to it) or *served* (a host can
/// connect) → *unplugged*; *plugged* → *withdrawn* while a fault has pulled the plug or a chip that
/// is its own USB device restarts → *plugging*; from each to *stopped* by `stop`. Everything
/// happens on one event loop.
package actor EmulatorServer {
  enum PortState {
    case unplugged
    /// The device took the port away and will bring it back.
    case withdrawn
    /// The PTY is being created.
    case plugging
    case plugged(any NIOCore.Channel, path: String)
    /// Over TCP; with a host or without.
    case served(host: (any NIOCore.Channel)?)
    case stopped
  }

  /// Whether a host has the port open.
  private enum Host: Equatable {
    case absent
    case present
    /// It accepts no bytes for now.
    case suspended
  }

  /// The most bytes queued for a host that stopped reading; the kernel buffers about 20 KiB more.
  static let writeBufferLimitBytes = 32_768

  /// How often the device is polled while its host does not read.
  static let unwritablePause = Duration.milliseconds(5)

  let loop: any EventLoop
  package nonisolated let unownedExecutor: UnownedSerialExecutor
  /// The seed of the device's random numbers.
  package nonisolated let seed: UInt64
  private let linkPath: String?
  var wired: WiredDevice
  /// nil for a board whose flash cannot be written.
  let flashFile: FlashFile?
  var line = PortState.unplugged { didSet { showChanges() } }
  private var link: StableLink?
  /// The address of the port if it is not a PTY.
  let address: NetworkAddress?
  /// The USB device that the emulator is; nil if it is none.
  let usb: USBPort?
  var listener: NetworkListener?
  private var control: ControlServer?
  var attSocket: ATTSocket?
  /// The bearers other than the line; at most `EmulatedDevice.connectionsLimit`.
  var connections: [Connection] = []
  private var host = Host.absent
  /// Bytes received in this turn of the loop.
  private var unhandled: [UInt8] = []
  var unwrittenBytes = 0
  /// Reinserts the plug after the line was withdrawn.
  private var replugging: Task<Void, Never>?
  private var timer = DriverTimer()
  var viewing = Viewing()
  var waiters: [Waiter] = []
  /// How many have waited so far.
  var waitersBefore: UInt64 = 0

  private init(
    profile: DeviceProfile, faults: FaultSpec, flash: FlashOptions?, seed: UInt64, linkPath: String?,
    address: NetworkAddress?, usb: USBPort?, loop: any EventLoop
  ) throws(PortError) {
    self.loop = loop
    unownedExecutor = loop.executor.asUnownedSerialExecutor()
    self.seed = seed
    self.linkPath = linkPath
    self.address = address
    self.usb = usb
    let opened = try Self.open(flash, of: profile)
    flashFile = opened?.file
    wired = WiredDevice(profile: profile, seed: seed, faults: faults, loader: opened?.loader, now: Self.now)
    wired.device.loaderEntry = address?.service == .rfc2217 || usb != nil ? .modemLines : .sync
    if usb != nil { wired.device.transmitLimitBytes = 1 }
  }

  // MARK: Life

  /// Powers a device on and plugs it in.
  /// - Parameters:
  ///   - faults: the faults of the line; `seed` is used if the spec has none.
  ///   - flash: the chip and the file of its flash; nil for a flash that cannot be written.
  ///   - link: the path of a symbolic link to the port; it stays through unplugging; nil: none.
  ///   - address: where to listen for a host on TCP, instead of a PTY; nil for a PTY.
  ///   - usb: the USB device to be, instead of a PTY; nil for a PTY.
  ///   - controlSocket: the path of a unix socket that takes commands; nil for none.
  ///   - attSocket: the path of a unix socket for the attribute protocol as over BLE; nil for none.
  ///   - seed: decides boot ids and session ids.
  /// - Throws: `PortError` if the PTY, the link or a socket cannot be created; it leaves nothing.
  package static func start(
    profile: DeviceProfile, faults: FaultSpec = .off, flash: FlashOptions? = nil, link: String? = nil,
    address: NetworkAddress? = nil, usb: USBPort? = nil, controlSocket: String? = nil,
    attSocket: String? = nil, seed: UInt64,
    on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) async throws(PortError) -> EmulatorServer {
    let loop = group.next()
    let server = try EmulatorServer(
      profile: profile, faults: faults, flash: flash, seed: seed, linkPath: link, address: address, usb: usb,
      loop: loop)
    do {
      if let address { try await server.listen(at: address) }
      try await server.plug()
      if let controlSocket { try await server.openControl(at: controlSocket) }
      if let attSocket { try await server.openAttributes(at: attSocket) }
    } catch {
      await server.stop()
      throw error
    }
    return server
  }

  /// Removes link, sockets and PTY. A host sees the device disappear; later commands are refused.
  package func stop() async {
    let channel = cutLine(.stopped)
    timer.cancel()
    refuseWaiters()
    endViews()
    let control = control
    self.control = nil
    await control?.close()
    await stopConnections()
    await listener?.close()
    try? await channel?.close()
    await replugging?.value
  }

  /// The port to open: link, PTY, or a name such as `socket://127.0.0.1:4000`; nil while unplugged.
  package var portPath: String? {
    switch line {
    case .unplugged, .withdrawn, .plugging, .stopped: nil
    case .plugged(_, let path): linkPath ?? path
    case .served: usb?.identity.portName.description ?? listener?.address.portAddress.description
    }
  }

  /// The state and the counters of the device.
  package var statistics: DeviceStatistics { wired.statistics }

  /// Whether a host has the port open, as far as the kernel has reported.
  var isHostPresent: Bool { host != .absent }

  /// Whether the device and its faults leave the port in place.
  var isLinePresent: Bool { wired.isPresent }

  // MARK: Commands

  /// Performs a command on the line or the device.
  package func perform(_ command: DeviceCommand) async -> ControlReply {
    switch (command, line) {
    case (_, .stopped):
      return .refused("the emulator has stopped")
    case (.unplug, .plugged), (.unplug, .served):
      try? await cutLine(.unplugged)?.close()
      return ControlReply()
    case (.unplug, .withdrawn):
      line = .unplugged
      return ControlReply()
    case (.plug, .withdrawn):
      return .refused("the device has taken its port away, and brings it back on its own")
    case (.unplug, .unplugged), (.unplug, .plugging):
      return .refused("the device is unplugged already")
    case (.plug, .unplugged):
      do {
        try await plug()
      } catch {
        return .refused("\(error)")
      }
      return ControlReply(port: portPath)
    case (.plug, .plugged), (.plug, .served), (.plug, .plugging):
      return .refused("the device is plugged in already")
    case (_, .unplugged), (_, .withdrawn), (_, .plugging), (_, .plugged), (_, .served):
      let reply = wired.perform(command, now: Self.now)
      drain()
      return ControlReply(reply)
    }
  }

  private func plug() async throws(PortError) {
    line = .plugging
    host = .absent
    unwrittenBytes = 0
    if let usb { return try await plug(usb) }
    guard address == nil else {
      line = .served(host: nil)
      return drain()
    }
    do throws(PortError) {
      let terminal = try PseudoTerminal.open()
      let path = terminal.slavePath
      let channel = try await PseudoTerminalChannel.open(terminal, on: loop) { channel in
        try channel.pipeline.syncOperations.addHandler(PTYHandler(server: self))
        try channel.syncOptions?.setOption(
          .writeBufferWaterMark, value: .init(low: 4096, high: Self.writeBufferLimitBytes))
      }
      do throws(PortError) {
        guard case .plugging = line else {
          throw PortError(.deviceGone, port: linkPath ?? path, operation: "plug in")
        }
        if let linkPath { link = try StableLink(at: linkPath, target: path) }
      } catch {
        try? await channel.close()
        throw error
      }
      line = .plugged(channel, path: path)
    } catch {
      if case .plugging = line { line = .unplugged }
      throw error
    }
    drain()
  }

  /// Removes the line and returns the channel that must be closed. The link is removed first,
  /// because the number of the PTY can be assigned to another terminal at any time.
  private func cutLine(_ next: PortState) -> (any NIOCore.Channel)? {
    link = nil
    host = .absent
    unhandled = []
    defer { line = next }
    switch line {
    case .unplugged, .withdrawn, .plugging, .stopped: return nil
    case .plugged(let channel, _): return channel
    case .served(let host): return host
    }
  }

  /// Takes commands for this emulator, or for `servers`, which run on the same event loop, until
  /// this one stops.
  package func openControl(at path: String, for servers: [EmulatorServer]? = nil) async throws(PortError) {
    control = try await ControlServer.open(at: path, for: servers ?? [self], on: loop)
  }

  private func openAttributes(at path: String) async throws(PortError) {
    attSocket = try await ATTSocket.open(at: path, for: self, on: loop)
  }

  // MARK: The line, on the event loop

  /// Bytes arrived from a host. They are handled at the end of this turn of the loop: the kernel
  /// reports closing, opening and bytes through two descriptors, in either order, and an answer
  /// must not go to the host that has just left.
  package func received(_ bytes: [UInt8]) {
    if unhandled.isEmpty { loop.assumeIsolated().execute { self.assumeIsolated { $0.drainUnhandled() } } }
    unhandled += bytes
  }

  func drainUnhandled() {
    guard !unhandled.isEmpty else { return }
    followHostRate()
    show(unhandled, .fromHost)
    wired.receive(unhandled, now: Self.now)
    unhandled.removeAll(keepingCapacity: true)
    if wired.isFull { setReading(false) }
    drain()
  }

  /// A host opened or closed the port.
  package func noticed(_ presence: HostPresence) {
    switch presence {
    case .attached:
      host = .present
      followHostRate()
      wired.noticeHost(isPresent: true, now: Self.now)
    case .replaced:
      wired.noticeHost(isPresent: false, now: Self.now)
      noticed(.attached)
    case .detached:
      host = .absent
      wired.noticeHost(isPresent: false, now: Self.now)
      discardUnread()
    }
    drain()
  }

  /// The host stops accepting bytes, or accepts them again.
  package func suspend(_ suspends: Bool) {
    guard host != .absent else { return }
    host = suspends ? .suspended : .present
    if !suspends { drain() }
  }

  /// The channel closed on its own: the terminal is lost, as if the plug were pulled.
  func lost(_ channel: any NIOCore.Channel) {
    guard case .plugged(let current, _) = line, current === channel else { return }
    _ = cutLine(.unplugged)
  }

  /// Sends pending output on the line and to the other bearers, and sets the timer.
  package func drain() {
    guard !hasStopped else { return }
    followPlug()
    // A request of one bearer's client can cause notifications to others.
    repeat { drainLine() } while drainConnections()
    storeFlash()
    answerWaiters()
    showChanges()
    arm()
  }

  /// Whether the emulator has stopped.
  var hasStopped: Bool {
    switch line {
    case .stopped: true
    case .unplugged, .withdrawn, .plugging, .plugged, .served: false
    }
  }

  /// Writes pending output to the line, in one write per turn.
  private func drainLine() {
    switch (line, host) {
    case (.stopped, _):
      return
    case (.unplugged, _), (.withdrawn, _), (.plugging, _), (.plugged, .absent), (.served, .absent),
      (.served(host: nil), _):
      wired.discardOutput(now: Self.now)
    case (.plugged, .suspended), (.served, .suspended):
      if !wired.isFull { setReading(true) }
    case (.plugged(let channel, _), .present), (.served(let channel?), .present):
      var hasWritten = false
      while host == .present, channel.isWritable, let bytes = wired.nextTransmit() {
        show(bytes, .fromDevice)
        unwrittenBytes += bytes.count
        let count = bytes.count
        channel.write(channel.allocator.buffer(bytes: bytes)).assumeIsolated().whenComplete { _ in
          self.assumeIsolated { $0.wrote(count, on: channel) }
        }
        hasWritten = true
      }
      if hasWritten { channel.flush() }
      if !wired.isFull { setReading(true) }
      // The last byte sent may have triggered a fault of the whole line.
      if !wired.isPresent { followPlug() }
    }
  }

  /// Removes and restores the port together with the device.
  private func followPlug() {
    switch line {
    case .plugged where !wired.isPresent, .served where !wired.isPresent:
      cutLine(.withdrawn)?.close(promise: nil)
    case .withdrawn where wired.isPresent:
      line = .plugging
      replugging = Task {
        // A port that cannot be created stays missing; `plug` then reports the reason.
        try? await self.plug()
      }
    case .plugged, .served, .withdrawn, .unplugged, .plugging, .stopped:
      break
    }
  }

  private func wrote(_ count: Int, on channel: any NIOCore.Channel) {
    guard hostChannel === channel else { return }
    unwrittenBytes -= count
    if unwrittenBytes == 0, host == .absent { discardUnread() }
  }

  /// The next host must not receive bytes that were meant for the previous one.
  private func discardUnread() {
    guard case .plugged(let channel, _) = line else { return }
    try? PseudoTerminalChannel.discardUnreadOutput(of: channel)
  }

  // MARK: Time

  /// Sets the timer to the next deadline of the machine.
  private func arm() {
    guard var deadline = withoutCopy(&wired, { $0.nextDeadline }) else { return }
    // Output that cannot be written waits for the host, not for the timer.
    if let channel = hostChannel, !channel.isWritable || host == .suspended {
      deadline = max(deadline, Self.now + Self.unwritablePause)
    }
    let at = NIODeadline.uptimeNanoseconds(UInt64(clamping: deadline.nanoseconds))
    timer.arm(for: at, on: loop) { self.assumeIsolated { $0.expired() } }
  }

  private func expired() {
    guard timer.fires(on: loop) else { return }
    wired.handleTimeout(now: Self.now)
    drain()
  }
}
