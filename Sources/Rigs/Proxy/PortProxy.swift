package import DeviceEmulator
package import NIOCore
import NIOPosix
import NotibotProtocol
package import SerialLink

/// Sits between a host and a port: opens the port, offers a pseudo-terminal behind a link, and
/// passes bytes in both directions through a `FaultyWire`. The host's baud rate is applied to the
/// port.
///
/// States: *passing* → *broken* when the board disappears or a fault pulls the plug; the host then
/// sees its port disappear → *passing* when the board is back, or the fault is over; *passing* →
/// *unplugged* by `unplug` → *broken* by `plug`; *passing* → *restarting* by `silenceBoard`, while
/// nothing reaches the board → *passing* by `reopenBoard`; from each to *stopped* by `stop`.
/// Everything happens on one event loop. While no host has the terminal open, the board's output is
/// discarded.
package actor PortProxy {
  /// An event for the user.
  package enum Event: Equatable, Sendable {
    /// The board disappeared, or a fault pulled the plug; the terminal is gone.
    case broken(Break)
    /// The terminal is available again under its link.
    case restored
    /// The port does not accept the rate that the host set, in bits per second.
    case rateRefused(UInt32)
  }

  /// Why a line broke.
  package enum Break: Equatable, Sendable {
    case boardGone
    case plugPulled
    case terminalGone
  }

  /// Opens the board's side of the line, at a rate in bits per second.
  package typealias Opening =
    @Sendable (UInt32, any EventLoop, @escaping SerialChannel.Initializer) async throws(PortError) ->
    any NIOCore.Channel

  enum State {
    case passing(board: any NIOCore.Channel, terminal: any NIOCore.Channel)
    /// `board` is nil while it is gone.
    case broken(board: (any NIOCore.Channel)?)
    /// `board` is nil while it is gone or restarts.
    case unplugged(board: (any NIOCore.Channel)?)
    /// The board's side is closed; the host keeps its terminal.
    case restarting(terminal: any NIOCore.Channel)
    case stopped
  }

  private enum Host: Equatable {
    case absent
    case present
  }

  /// The maximum number of queued bytes in each direction before the sending side is no longer
  /// read.
  static let queueLimitBytes = 16_384
  /// The delay after a failed attempt to reopen a board that disappeared.
  static let retryInterval = Duration.milliseconds(50)

  package nonisolated let unownedExecutor: UnownedSerialExecutor
  let loop: any EventLoop
  let name: String
  private let openBoard: Opening
  private let linkPath: String
  private let report: @Sendable (Event) -> Void
  private let hostOpened: @Sendable () -> Void
  private let breaks: AsyncStream<Break>.Continuation
  private var repairs: Task<Void, Never>?
  var state = State.broken(board: nil)
  private var link: StableLink?
  private var host = Host.absent
  var wire: FaultyWire
  /// Bytes that were read from the host, including dropped ones.
  package private(set) var takenBytes: UInt64 = 0
  private var bitsPerSecond: UInt32
  /// A rate that the port did not accept, so that it is tried and reported once.
  private var refusedRate: UInt32?
  private var timer = DriverTimer()

  // MARK: Life

  /// Opens the port and offers the terminal.
  /// - Parameters:
  ///   - bitsPerSecond: the rate of the port until a host sets one.
  ///   - link: the path of a symbolic link to the terminal, which stays the same when it is
  ///     unplugged and plugged in again.
  ///   - faults: the faults of the bytes; `reboot` does nothing, because a proxy cannot restart a
  ///     board.
  ///   - seed: decides the faults of a spec without a seed.
  ///   - report: called with each event, on the event loop.
  /// - Throws: `PortError` if the port cannot be opened, or if the terminal or the link cannot be
  ///   created.
  package static func start(
    port name: PortName, bitsPerSecond: UInt32, link: String, faults: FaultSpec, seed: UInt64,
    on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    report: @escaping @Sendable (Event) -> Void = { _ in }
  ) async throws(PortError) -> PortProxy {
    try await start(
      board: name.description, bitsPerSecond: bitsPerSecond, link: link, faults: faults, seed: seed,
      on: group,
      report: report
    ) { rate, loop, initializer throws(PortError) in
      let options = SerialOptions(bitsPerSecond: rate)
      // A board that comes back can be at another path.
      let address = try PortList().address(of: name)
      return try await SerialChannel.open(address, options: options, on: loop, initializer: initializer)
    }
  }

  /// The same for a board that is not a port.
  /// - Parameters:
  ///   - board: its name, for messages.
  ///   - hostOpened: called when a host has opened the terminal, on the event loop.
  ///   - openBoard: opens its side of the line, now and whenever it was lost.
  package static func start(
    board: String, bitsPerSecond: UInt32, link: String, faults: FaultSpec, seed: UInt64,
    on group: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    report: @escaping @Sendable (Event) -> Void = { _ in },
    hostOpened: @escaping @Sendable () -> Void = {}, openBoard: @escaping Opening
  ) async throws(PortError) -> PortProxy {
    let (stream, breaks) = AsyncStream<Break>.makeStream(bufferingPolicy: .bufferingNewest(4))
    let proxy = PortProxy(
      name: board, openBoard: openBoard, bitsPerSecond: bitsPerSecond, linkPath: link,
      wire: FaultyWire(spec: faults, seed: seed), breaks: breaks, loop: group.next(), report: report,
      hostOpened: hostOpened)
    do {
      try await proxy.connect()
    } catch {
      await proxy.stop()
      throw error
    }
    await proxy.startRepairs(of: stream)
    return proxy
  }

  private init(
    name: String, openBoard: @escaping Opening, bitsPerSecond: UInt32, linkPath: String, wire: FaultyWire,
    breaks: AsyncStream<Break>.Continuation, loop: any EventLoop, report: @escaping @Sendable (Event) -> Void,
    hostOpened: @escaping @Sendable () -> Void
  ) {
    self.name = name
    self.openBoard = openBoard
    self.bitsPerSecond = bitsPerSecond
    self.linkPath = linkPath
    self.wire = wire
    self.breaks = breaks
    self.loop = loop
    self.report = report
    self.hostOpened = hostOpened
    unownedExecutor = loop.executor.asUnownedSerialExecutor()
  }

  /// Removes terminal and link and closes the port.
  package func stop() async {
    let before = state
    state = .stopped
    link = nil
    timer.cancel()
    breaks.finish()
    repairs?.cancel()
    switch before {
    case .passing(let board, let terminal):
      try? await terminal.close()
      try? await board.close()
    case .broken(let board), .unplugged(let board):
      try? await board?.close()
    case .restarting(let terminal):
      try? await terminal.close()
    case .stopped:
      break
    }
    await repairs?.value
  }

  /// The faults in use, with their seed.
  package var faultSpec: FaultSpec { wire.spec }

  /// The faults so far.
  package var faultCounts: FaultCounts { wire.counts }

  // MARK: Making the line

  func connect() async throws(PortError) {
    guard case .broken(var board) = state else { return }
    if board == nil {
      let opened = try await openedBoard()
      guard case .broken = state else {
        try? await opened.close()
        return
      }
      board = opened
      state = .broken(board: opened)
    }
    guard let board, board.isActive else {
      throw PortError(.deviceGone, port: name, operation: "open")
    }
    let pair = try PseudoTerminal.open()
    let path = pair.slavePath
    let terminal = try await PseudoTerminalChannel.open(pair, on: loop) {
      try $0.pipeline.syncOperations.addHandler(ProxyHandler(side: .terminal, proxy: self))
    }
    do throws(PortError) {
      guard case .broken(let kept?) = state, kept === board else {
        throw PortError(.deviceGone, port: name, operation: "open")
      }
      host = .absent
      link = try StableLink(at: linkPath, target: path)
      state = .passing(board: board, terminal: terminal)
    } catch {
      try? await terminal.close()
      throw error
    }
  }

  func openedBoard() async throws(PortError) -> any NIOCore.Channel {
    try await openBoard(bitsPerSecond, loop) {
      try $0.pipeline.syncOperations.addHandler(ProxyHandler(side: .board, proxy: self))
    }
  }

  private func startRepairs(of stream: AsyncStream<Break>) {
    repairs = Task {
      for await cause in stream { await self.repair(after: cause) }
    }
  }

  private func repair(after cause: Break) async {
    if cause == .plugPulled { await pause(wire.spec.unplugTime) }
    while !Task.isCancelled, case .broken = state {
      do {
        try await connect()
      } catch {
        // The port is missing, not ready, or not accessible yet: all three happen for a while when
        // a board comes back.
        await pause(Self.retryInterval)
      }
    }
    if case .passing = state { report(.restored) }
  }

  private func pause(_ duration: Duration) async {
    let pause = loop.scheduleTask(in: TimeAmount(duration)) {}
    await withTaskCancellationHandler {
      try? await pause.futureResult.get()
    } onCancel: {
      pause.cancel()
    }
  }

  /// Removes the terminal, and reports the reason.
  private func cut(_ cause: Break) {
    guard case .passing(let board, let terminal) = state else { return }
    dropTerminal(.broken(board: cause == .boardGone ? nil : board))
    terminal.close(promise: nil)
    if cause != .boardGone { setReading(true, board) }
    report(.broken(cause))
    breaks.yield(cause)
  }

  /// The link is removed first, because the number of the terminal can be assigned to another one
  /// at any time.
  func dropTerminal(_ next: State) {
    link = nil
    host = .absent
    state = next
    for direction in PacedWire.Direction.allCases { wire.discard(direction) }
    wire.endSession()
  }

  // MARK: Events of either side, on the event loop

  /// Bytes arrived.
  func received(_ bytes: [UInt8], from side: ProxyHandler.Side) {
    if side == .terminal { takenBytes += UInt64(bytes.count) }
    guard case .passing = state else { return }
    switch (side, host) {
    case (.terminal, _):
      followHostRate()
      wire.send(bytes, .toDevice)
    case (.board, .present):
      followHostRate()
      wire.send(bytes, .toHost)
    case (.board, .absent):
      break
    }
    drain()
  }

  /// A host opened or closed the terminal.
  func noticed(_ presence: HostPresence) {
    let terminal: any NIOCore.Channel
    switch state {
    case .passing(_, let open), .restarting(let open): terminal = open
    case .broken, .unplugged, .stopped: return
    }
    switch presence {
    case .attached:
      host = .present
      hostOpened()
    case .replaced:
      wire.endSession()
      hostOpened()
    case .detached:
      host = .absent
      wire.discard(.toHost)
      wire.endSession()
      // The next host must not receive bytes that were meant for this one; a terminal that fails
      // here is closing.
      try? PseudoTerminalChannel.discardUnreadOutput(of: terminal)
    }
    drain()
  }

  /// A channel ended.
  func lost(_ channel: any NIOCore.Channel) {
    switch state {
    case .passing(let board, _) where board === channel: cut(.boardGone)
    case .passing(_, let terminal) where terminal === channel: cut(.terminalGone)
    case .broken(let board?) where board === channel: state = .broken(board: nil)
    case .unplugged(let board?) where board === channel: state = .unplugged(board: nil)
    case .restarting(let terminal) where terminal === channel:
      dropTerminal(.broken(board: nil))
      report(.broken(.terminalGone))
      breaks.yield(.terminalGone)
    case .passing, .broken, .unplugged, .restarting, .stopped: break
    }
  }

  /// The port runs at the rate that the host set last.
  private func followHostRate() {
    guard case .passing(let board, let terminal) = state,
      let wanted = try? PseudoTerminalChannel.hostBitsPerSecond(of: terminal),
      wanted != bitsPerSecond, wanted != refusedRate
    else { return }
    let before = bitsPerSecond
    bitsPerSecond = wanted
    refusedRate = nil
    SerialChannel.startOnLoop(.rate(wanted), on: board).assumeIsolated().whenFailure { _ in
      self.assumeIsolated { $0.refuseRate(wanted, keeping: before) }
    }
  }

  /// The port did not accept a rate.
  private func refuseRate(_ rate: UInt32, keeping before: UInt32) {
    guard bitsPerSecond == rate else { return }
    bitsPerSecond = before
    refusedRate = rate
    report(.rateRefused(rate))
  }

  /// Passes on the bytes that came through, as far as the other side accepts them, and sets the
  /// timer.
  func drain() {
    guard case .passing(let board, let terminal) = state else { return }
    let now = Instant(nanoseconds: Int64(clamping: NIODeadline.now().uptimeNanoseconds))
    guard pass(.toDevice, to: board, now: now), pass(.toHost, to: terminal, now: now) else {
      return cut(.plugPulled)
    }
    setReading(wire.queuedBytes(.toDevice) < Self.queueLimitBytes, terminal)
    setReading(wire.queuedBytes(.toHost) < Self.queueLimitBytes, board)
    arm(now: now)
  }

  /// Writes pending bytes in a direction; returns false if a fault has pulled the plug.
  private func pass(
    _ direction: PacedWire.Direction, to channel: any NIOCore.Channel, now: Instant
  ) -> Bool {
    defer { channel.flush() }
    while channel.isWritable, let output = wire.next(direction, now: now) {
      switch output {
      case .bytes(let bytes): channel.write(channel.allocator.buffer(bytes: bytes), promise: nil)
      case .reboot: break
      case .unplug: return false
      }
    }
    return true
  }

  func setReading(_ isReading: Bool, _ channel: any NIOCore.Channel) {
    guard let options = channel.syncOptions, (try? options.getOption(.autoRead)) != isReading else { return }
    try? options.setOption(.autoRead, value: isReading)
  }

  private func arm(now: Instant) {
    guard let deadline = wire.nextDeadline, deadline > now else { return }
    let at = NIODeadline.uptimeNanoseconds(UInt64(clamping: deadline.nanoseconds))
    timer.arm(for: at, on: loop) { self.assumeIsolated { $0.expired() } }
  }

  private func expired() {
    guard timer.fires(on: loop) else { return }
    drain()
  }
}
