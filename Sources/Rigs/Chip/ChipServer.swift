import CChip
import Conformance
package import DeviceEmulator
package import NIOCore
import NIOPosix
import NotibotProtocol
package import SerialLink

/// A model of the ESP32-C3 in real time, on a TCP port of this computer that speaks RFC 2217:
/// bytes, rate and modem lines as on a board.
///
/// States: *off* → *running* when a host opens the port, so that it receives the first byte →
/// *broken* when the program breaks a rule of the chip, which is silent from then on; from each to
/// *stopped* by `stop`. Everything happens on one event loop.
package actor ChipServer: NetworkDevice {
  /// How often the chip catches up with the clock.
  private static let tick = TimeAmount.milliseconds(1)
  /// A chip that is further behind, after a pause of this process or on a slow computer, does not
  /// catch up.
  private static let lagLimit = Duration.milliseconds(200)
  /// DSR and CD of a powered adapter, and CTS.
  private static let modemState: UInt8 = 0xB0

  private enum State {
    case off
    /// `start`: when the chip's time was 0.
    case running(RepeatedTask, start: NIODeadline)
    case broken(Failure)
    case stopped
  }

  package nonisolated let unownedExecutor: UnownedSerialExecutor
  private let loop: any EventLoop
  private let line: chip_line_t
  private let chip: SimulatedChip
  private var listener: NetworkListener?
  private var state = State.off
  private var host: (any NIOCore.Channel)?
  private var isSuspended = false
  /// Bytes of the host that the chip's line has no room for. While there are some, the host is not
  /// read.
  private var waiting: [UInt8] = []

  /// Creates the chip and listens on a free port of the loopback address.
  ///
  /// - Throws: `RigTrouble` if there is no memory for it, `PortError` if it cannot listen.
  package static func start(
    image: ChipImage, line: PortName.ChipLine, seed: UInt64,
    on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton
  ) async throws -> ChipServer {
    let loop = group.next()
    let server = try ChipServer(image: image, line: line, seed: seed, loop: loop)
    try await server.listen()
    return server
  }

  private init(
    image: ChipImage, line: PortName.ChipLine, seed: UInt64, loop: any EventLoop
  ) throws(RigTrouble) {
    self.loop = loop
    unownedExecutor = loop.executor.asUnownedSerialExecutor()
    self.line = line == .usb ? CHIP_LINE_USB : CHIP_LINE_UART0
    chip = try SimulatedChip(image: image, seed: UInt32(truncatingIfNeeded: seed))
  }

  private func listen() async throws(PortError) {
    let any = NetworkAddress(.rfc2217, host: "127.0.0.1", port: 0)
    listener = try await NetworkListener.open(any, for: self, on: loop)
  }

  /// The address that a host opens; nil after `stop`.
  package var address: PortAddress? { listener?.address.portAddress }

  /// Closes the port. Returns why the program ended, if it broke a rule.
  package func stop() async -> Failure? {
    var fault: Failure?
    switch state {
    case .off, .stopped: break
    case .running(let task, _): task.cancel()
    case .broken(let cause): fault = cause
    }
    state = .stopped
    let (channel, listener) = (host, listener)
    (host, self.listener) = (nil, nil)
    await listener?.close()
    try? await channel?.close()
    return fault
  }

  // MARK: The port, on the event loop

  package func admit(
    _ channel: any NIOCore.Channel, over service: NetworkAddress.Service
  ) -> NetworkAdmission {
    if case .stopped = state { return .refused("The port is not served here") }
    guard host == nil else { return .taken }
    (host, isSuspended, waiting) = (channel, false, [])
    if line == CHIP_LINE_USB { chip.setUSBHost(CHIP_USB_OPEN) }
    setLines(ModemLines(dtr: true, rts: true))
    return .accepted(
      RFC2217Server(bitsPerSecond: PortSelection.standardBitsPerSecond, modemState: Self.modemState))
  }

  package func noticed(_ presence: HostPresence) {
    guard case .off = state, presence == .attached else { return }
    let task = loop.scheduleRepeatedTask(initialDelay: Self.tick, delay: Self.tick) { _ in
      self.assumeIsolated { $0.drain() }
    }
    // Nothing has run yet: the chip's time is 0.
    state = .running(task, start: .now())
  }

  package func received(_ bytes: [UInt8]) {
    catchUp()
    waiting += bytes
    feed()
  }

  package func perform(_ command: LineCommand) -> UInt8 {
    catchUp()
    switch command {
    case .rate(let bitsPerSecond): chip.setRate(bitsPerSecond, of: line)
    case .lines(let lines): setLines(lines)
    case .purgeOutput:
      chip.dropInput(on: line)
      waiting = []
    case .breakState, .purgeInput: break
    }
    return Self.modemState
  }

  package func suspend(_ suspends: Bool) {
    isSuspended = suspends
    drain()
  }

  package func left(_ channel: any NIOCore.Channel) {
    guard host === channel else { return }
    catchUp()
    (host, waiting) = (nil, [])
    if line == CHIP_LINE_USB { chip.setUSBHost(CHIP_USB_UNREAD) }
    setLines(ModemLines(dtr: false, rts: false))
  }

  /// Runs the chip up to now, and passes its bytes on.
  package func drain() {
    catchUp()
    feed()
  }

  // MARK: The chip

  private func setLines(_ lines: ModemLines) { chip.setLines(dtr: lines.dtr, rts: lines.rts, of: line) }

  private func feed() {
    waiting.removeFirst(chip.feed(waiting[...], on: line))
    guard let options = host?.syncOptions, (try? options.getOption(.autoRead)) != waiting.isEmpty else {
      return
    }
    try? options.setOption(.autoRead, value: waiting.isEmpty)
  }

  private func catchUp() {
    guard case .running(let task, var start) = state else { return }
    let clock = NIODeadline.now()
    let due = Instant(nanoseconds: (clock - start).nanoseconds)
    let from = chip.now
    if due - from > Self.lagLimit {
      start = clock - .nanoseconds(from.nanoseconds)
      state = .running(task, start: start)
      return
    }
    do {
      while try chip.run(until: due, stopsAtOutput: false) == .output { pass() }
      pass()
    } catch {
      task.cancel()
      state = .broken(error as? Failure ?? Failure(.deviceRestarted, "\(error)"))
      pass()
      // Like a board without power behind an adapter that has lost it.
      host?.close(promise: nil)
    }
  }

  /// Takes what the chip has sent. A UART does not wait for its host: what it does not read is
  /// lost.
  private func pass() {
    for other in [CHIP_LINE_UART0, CHIP_LINE_UART1, CHIP_LINE_USB] where other != line {
      _ = chip.drain(from: other)
    }
    let isReading = host.map { $0.isWritable && !isSuspended } ?? false
    if line == CHIP_LINE_USB, host != nil { chip.setUSBHost(isReading ? CHIP_USB_OPEN : CHIP_USB_UNREAD) }
    let bytes = chip.drain(from: line)
    guard isReading, let host, !bytes.isEmpty else { return }
    host.writeAndFlush(host.allocator.buffer(bytes: bytes), promise: nil)
  }
}
