import DeviceEmulator
import NIOCore
import NIOPosix
import NotibotHost
import NotibotProtocol
import SerialLink

/// Holds the port of a board and lets several programs use it.
///
/// It has the one session with the board (`HostMachine`), and is the device on a line of its own
/// for each client (`SharedLine`); `ShareArbiter` orders what the clients want. Everything happens
/// on one event loop. The line: *shared* → *leased* to one client, which gets its bytes → *shared*.
actor ShareServer {
  enum Use: Equatable {
    case shared
    case leased(client: Int, request: Int64?)
  }

  static let clientsLimit = 64
  /// Bytes of a client's command line in `status`, at most.
  static let commandLimitBytes = 80
  static let retryInterval = Duration.milliseconds(250)

  nonisolated let unownedExecutor: UnownedSerialExecutor
  nonisolated let loop: any EventLoop
  let name: PortName
  let options: SerialOptions
  var machine: HostMachine
  var board: (any NIOCore.Channel)?
  var info: SharedBoard?
  var use = Use.shared
  var arbiter = ShareArbiter()
  var clients: [Int: ShareClient] = [:]
  var lastClient = 0
  /// The requests at the board: whose they are, in which of the client's sessions.
  var tickets: [HostRequestID: (ShareArbiter.Ticket, session: Int)] = [:]
  /// The highest press of each source that was shown to everybody; at most `pressesLimit` sources.
  var shownPresses: [UInt32: UInt32] = [:]
  /// Actions that were shown before their ACTION came.
  var shownActions: [DeviceEvent] = []
  var isStopping = false
  /// Whether the answer to a lease was sent: the bytes of the board follow it.
  private var isLeaseGranted = false
  private var isDraining = false
  private var mustDrainAgain = false
  private var timer = DriverTimer()

  static let pressesLimit = 64

  init(port name: PortName, options: SerialOptions, on loop: any EventLoop) {
    (self.name, self.options, self.loop) = (name, options, loop)
    unownedExecutor = loop.executor.asUnownedSerialExecutor()
    var configuration = HostConfiguration()
    // A receiver that has gone deaf recovers only when the port is opened again.
    let patience = SupervisorOptions().restartPatience
    (configuration.connectTimeout, configuration.reconnectTimeout) = (patience, patience)
    configuration.lineBitsPerSecond = Int(options.bitsPerSecond)
    machine = HostMachine(configuration: configuration, seed: .random(in: .min ... .max))
  }

  var now: Instant { loop.instant }

  // MARK: The port

  /// Holds the port, and opens it again when it is lost, until the task is cancelled.
  /// - Parameter ready: called when it is open for the first time.
  func run(ready: () throws -> Void) async throws {
    try await open()
    try ready()
    await withTaskCancellationHandler {
      while !Task.isCancelled {
        if let board { try? await board.closeFuture.get() }
        guard !Task.isCancelled else { break }
        do throws(PortError) {
          try await open()
        } catch {
          failLease(error)
          await PortWait.forArrival(at: name.address?.path, upTo: Self.retryInterval, on: loop)
        }
      }
    } onCancel: {
      loop.execute { self.assumeIsolated { $0.stop() } }
    }
    stop()
  }

  private func open() async throws(PortError) {
    let use = use
    let address = try PortList().address(of: name)
    let opened = try await SerialChannel.open(address, options: options, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(ShareBoardHandler(server: self))
    }
    guard !isStopping, opened.isActive else { return opened.close(promise: nil) }
    board = opened
    guard use == self.use else { return opened.close(promise: nil) }
    switch use {
    case .shared:
      // The port before this one can have ended full.
      machine.handleWritability(true, now: now)
      machine.connect(clock: .now(), now: now)
    case .leased(let client, let request):
      if let channel = clients[client]?.channel {
        channel.writeAndFlush(ByteBuffer(bytes: ShareAnswer(id: request).shareLine), promise: nil)
        isLeaseGranted = true
      }
    }
    drainActions()
  }

  /// Ends the session with the board and closes the port; `run` opens it for its next use.
  func change(_ next: Use) {
    use = next
    isLeaseGranted = false
    machine.close(now: now)
    drainActions()
    // Its answer is not awaited.
    machine.receiveEndOfStream(now: now)
    drainActions()
    board?.close(promise: nil)
  }

  private func stop() {
    guard !isStopping else { return }
    isStopping = true
    for id in clients.keys { clients[id]?.line?.close(now: now) }
    drainActions()
    for client in clients.values { client.channel.close(promise: nil) }
    machine.close(now: now)
    drainActions()
    board?.close(promise: nil)
    timer.cancel()
  }

  private func failLease(_ error: PortError) {
    guard case .leased(let client, let request) = use else { return }
    use = .shared
    let answer = ShareAnswer(id: request, error.kind, error.description, hint: error.hint)
    clients[client]?.channel.writeAndFlush(ByteBuffer(bytes: answer.shareLine), promise: nil)
    drop(client, because: error.description)
  }

  // MARK: From the board, on the event loop

  func receiveFromBoard(_ bytes: [UInt8]) {
    switch use {
    case .shared: machine.receive(bytes, now: now)
    case .leased(let client, _):
      guard isLeaseGranted, let channel = clients[client]?.channel else { return }
      guard channel.isWritable else { return drop(client, because: "it does not read") }
      channel.writeAndFlush(ByteBuffer(bytes: bytes), promise: nil)
    }
  }

  func loseBoard() {
    board = nil
    guard !isStopping else { return }
    switch use {
    case .shared:
      guard !machine.isClosed else { break }
      Output.note("the board disappeared; waiting for it to return")
      machine.receiveEndOfStream(now: now)
    case .leased(let client, _): if clients[client]?.stage == .leasing { break }
    }
    drainActions()
  }

  func setWritable(_ isWritable: Bool) {
    machine.handleWritability(isWritable, now: now)
    drainActions()
  }

  // MARK: Driving

  /// Executes all actions of the machine and of the arbiter, serves the clients, arms the timer.
  ///
  /// Writes to a channel can call this again before they return: then it is done once more
  /// afterwards.
  func drainActions() {
    mustDrainAgain = true
    guard !isDraining else { return }
    isDraining = true
    while mustDrainAgain {
      mustDrainAgain = false
      repeat {
        while let action = machine.nextAction() { perform(action) }
        for id in clients.keys { serve(id) }
      } while submitNext()
      board?.flush()
      for id in clients.keys {
        transmit(to: id)
        if let client = clients[id], client.isSlow { drop(id, because: "it does not read") }
      }
    }
    isDraining = false
    armTimer()
  }

  /// Writes as much as a client takes. The channel is used while no client is being changed.
  func transmit(to id: Int) {
    guard let channel = clients[id]?.channel else { return }
    while channel.isWritable, let bytes = clients[id]?.nextBytes(), !bytes.isEmpty {
      channel.write(ByteBuffer(bytes: bytes), promise: nil)
    }
    channel.flush()
    if let client = clients[id], client.isPaused, !client.isFull { readLines(of: id) }
  }

  /// Passes on what the arbiter allows. Returns whether there was anything.
  private func submitNext() -> Bool {
    // Lines of JSON wait for a session.
    guard info != nil else { return false }
    var hasSubmitted = false
    while let action = arbiter.nextAction() {
      hasSubmitted = true
      switch action {
      case .submit(let request, let ticket):
        let id = machine.submit(request, now: now)
        tickets[id] = (ticket, clients[ticket.client]?.session ?? 0)
      case .sync(let request): _ = machine.sendSync(request, now: now)
      case .taken(let source, let press): machine.sendTaken(source: source, press: press, now: now)
      }
    }
    return hasSubmitted
  }

  private func armTimer() {
    guard !isStopping else { return }
    let deadlines = [machine.nextDeadline] + clients.values.map { $0.line?.nextDeadline }
    guard let deadline = deadlines.compactMap(\.self).min() else { return }
    timer.arm(for: NIODeadline(deadline), on: loop) { self.assumeIsolated { $0.fire() } }
  }

  private func fire() {
    guard timer.fires(on: loop) else { return }
    machine.handleTimeout(now: now)
    for id in clients.keys { clients[id]?.line?.handleTimeout(now: now) }
    drainActions()
  }
}

/// The last handler of the board's channel.
private final class ShareBoardHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let server: ShareServer

  init(server: ShareServer) { self.server = server }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = Array(unwrapInboundIn(data).readableBytesView)
    server.assumeIsolated { $0.receiveFromBoard(bytes) }
  }

  func channelReadComplete(context: ChannelHandlerContext) { server.assumeIsolated { $0.drainActions() } }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    let isWritable = context.channel.isWritable
    server.assumeIsolated { $0.setWritable(isWritable) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func channelInactive(context: ChannelHandlerContext) { server.assumeIsolated { $0.loseBoard() } }
}
