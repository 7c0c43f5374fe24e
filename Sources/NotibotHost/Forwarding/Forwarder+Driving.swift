import NIOCore
import NIOPosix
@_spi(Machines) import NotibotProtocol
import SerialLink
import Synchronization

// Drives the machine: ports, bytes, commits and time in, actions out. It makes no decisions about
// the protocol.
extension Forwarder {
  var now: Instant {
    eventLoop.instant
  }

  /// The present instant, for an input. The machine gets the time of day with each, because it can
  /// be set, and passes while the computer sleeps.
  private func tick() -> Instant {
    let now = now
    machine.setClock(.now(), now: now)
    return now
  }

  func start() {
    let loop = eventLoop
    events.backlog.whenRelieved { [weak self] in
      guard let forwarder = self else { return }
      loop.execute { forwarder.assumeIsolated { $0.drainActions() } }
    }
    journalThread.start()
    machine.start(now: tick())
    drainActions()
  }

  /// Submits queued submissions, executes all actions of the machine, and arms the timer.
  func drainActions() {
    var hasWritten = false
    repeat {
      while let action = machine.nextAction() {
        switch action {
        case .findPorts: findPorts()
        case .open(let path): open(path)
        case .close:
          if hasWritten { line.port?.flush() }
          hasWritten = false
          closeLine()
        case .write(let bytes):
          line.port?.write(ByteBuffer(bytes: bytes), promise: nil)
          hasWritten = true
        case .commit(let changes): commit(changes)
        case .report(let report): publish(ForwardingReport(report))
        case .connection(let change): publish(change)
        case .text(let bytes): options.consoleText(bytes)
        case .finished:
          if hasWritten { line.port?.flush() }
          hasWritten = false
          finish()
        }
      }
    } while refill()
    if hasWritten { line.port?.flush() }
    armTimer()
  }

  /// Submits queued submissions, while there is room for their results. Returns whether anything
  /// was submitted.
  private func refill() -> Bool {
    guard case .running = state, !events.backlog.isFull() else { return false }
    var hasSubmitted = false
    while let item = submissions.next() {
      let request = item.request
      machine.submit(request.submission, key: request.key, token: request.token, now: tick())
      hasSubmitted = true
    }
    return hasSubmitted
  }

  // MARK: Publishing

  private func publish(_ report: ForwardingReport) {
    switch report {
    case .queued(let number, let token):
      _ = submissions.finish(token, .success(Acceptance(number: number)))
    case .duplicate(let number, let token, let keyConflict):
      let acceptance = Acceptance(number: number, isDuplicate: true, hasKeyConflict: keyConflict)
      _ = submissions.finish(token, .success(acceptance))
    case .rejected(let rejection, let token):
      if case .full(let limit) = rejection { handleFull(limit) }
      guard submissions.finish(token, .failure(rejection)) else { return awaitRoom() }
    case .delivered, .refused, .gone, .expired, .removed, .action, .outcomeUnknown, .full, .storeFull,
      .synced, .diverged, .newSource:
      break
    }
    if report.makesRoom { handleRoom() }
    options.journalStep()
    yield(report)
  }

  private func handleFull(_ limit: Int) {
    if !isFull { yield(.full(limit: limit)) }
    isFull = true
  }

  private func handleRoom() {
    submissions.handleRoom()
    waitingForRoom?.cancel()
    waitingForRoom = nil
    if machine.entriesCount <= options.entriesLimit / 2 { isFull = false }
  }

  /// A submission waits for room, within the limit.
  private func awaitRoom() {
    guard waitingForRoom == nil, let limit = options.roomLimit else { return }
    waitingForRoom = eventLoop.scheduleTask(in: .nanoseconds(limit.wholeNanoseconds)) {
      self.assumeIsolated { $0.giveUp("queue all for", "the outbox is full, and nothing makes room in it") }
    }
  }

  func yield(_ report: ForwardingReport) {
    yield(.report(report))
  }

  private func yield(_ event: Event) {
    events.backlog.add()
    reportSink.yield(event)
  }

  private func publish(_ change: ConnectionChange) {
    var change = change
    let why = machine.host.whyUnanswered
    if change.reason == .noAnswer, !why.isSilence { change.reason = .misbehaved(why.reason) }
    if !options.mergesChanges {
      changeSink.yield(change)
    } else if !events.backlog.isFull() {
      yield(.change(change))
    }
    guard case .ended = change.state, case .openFailed(let failure) = change.reason else { return }
    handleFailure(NotibotError(failure))
  }

  // MARK: The journal

  private func commit(_ changes: [JournalChange]) {
    let (journal, step, willTake) = (journal, options.journalStep, options.willTakePresses)
    let presses = willTake == nil ? [] : machine.pressesInCommit
    let willDismiss = options.willTakeDismissals
    let dismissals = willDismiss == nil ? [] : machine.dismissalsInCommit
    let (willRenew, renewal) = (options.willRenew, renewedSource(in: changes))
    let done = journalThread.runIfActive(eventLoop: eventLoop) { () -> Result<Void, JournalError> in
      step()
      if !presses.isEmpty { try willTake?(presses) }
      if !dismissals.isEmpty { try willDismiss?(dismissals) }
      if let renewal { try willRenew?(renewal) }
      let result = Result { () throws(JournalError) in try journal.apply(changes) }
      step()
      return result
    }
    done.whenComplete { result in
      self.assumeIsolated { $0.handleCommit(result.flatMap { $0.mapError { $0 as any Error } }) }
    }
  }

  /// The source under which the outbox goes on after a commit; nil: the same.
  private func renewedSource(in changes: [JournalChange]) -> UInt32? {
    for case .header(let header) in changes where header.source != source {
      source = header.source
      return source
    }
    return nil
  }

  private func handleCommit(_ result: Result<Void, any Error>) {
    switch result {
    case .success: machine.committed(now: tick())
    case .failure(let error):
      handleFailure(
        (error as? JournalError).map(NotibotError.init)
          ?? NotibotError(.notSent(.closed), port: port, operation: "forward to"))
      machine.commitFailed(now: now)
    }
    drainActions()
  }

  // MARK: Ports

  private func findPorts() {
    let (name, ports) = (name, ports)
    let isPinned = machine.supervisor.deviceID != nil
    // The result of a search that was given up serves the next one.
    guard !isSearching else { return }
    isSearching = true
    NIOSingletons.posixBlockingThreadPool.runIfActive(eventLoop: eventLoop) {
      Result { () throws(PortError) in try ports.candidates(for: name, isPinned: isPinned) }
    }.whenComplete { result in
      self.assumeIsolated { $0.handleFound(result.flatMap { $0.mapError { $0 as any Error } }) }
    }
  }

  private func handleFound(_ result: Result<[PortAddress], any Error>) {
    isSearching = false
    switch result {
    case .success(let addresses): machine.portsFound(addresses.map(\.description), now: now)
    case .failure(let error): machine.openFailed(failure(error), now: now)
    }
    drainActions()
  }

  private func open(_ path: String) {
    let number = line.begin()
    let (former, loop) = (released, eventLoop)
    // The machine identifies ports by their text. A server is the only candidate of its name; all
    // others are serial devices.
    let server = name.isRemote ? name.address : nil
    let address = server ?? .tty(path: path)
    let serialOptions = SerialOptions(bitsPerSecond: options.bitsPerSecond)
    let opening = eventLoop.makeFutureWithTask {
      try await self.awaitTurn(number, after: former)
      return try await SerialChannel.open(address, options: serialOptions, on: loop) { channel in
        try channel.pipeline.syncOperations.addHandler(ForwarderHandler(forwarder: self, number: number))
      }
    }
    released = opening.flatMap(\.closeFuture)
    opening.whenFailure { error in
      self.assumeIsolated { $0.handleOpenFailure(error, number: number) }
    }
  }

  /// Never opens a port twice from this process, and none for an attempt that was given up.
  private func awaitTurn(_ number: Int, after former: EventLoopFuture<Void>?) async throws {
    try? await former?.get()
    guard line.isOpening, line.number == number else { throw CancellationError() }
  }

  private func handleOpenFailure(_ error: any Error, number: Int) {
    guard line.fail(number) else { return }
    machine.openFailed(failure(error), now: now)
    drainActions()
  }

  private func failure(_ error: any Error) -> PortFailure {
    PortFailure((error as? PortError) ?? PortError(.deviceGone, port: port, operation: "open"))
  }

  func closeLine() {
    // A server can take long to refuse; a port that opens too late is closed.
    if line.isOpening, name.isRemote { released = nil }
    line.close()?.close(promise: nil)
  }

  /// Waits until the port is closed: a close takes 250 ms at most, and an opening that a driver of
  /// the kernel blocks is not awaited.
  func portIsReleased() async {
    guard let released else { return }
    let wait = eventLoop.makePromise(of: Void.self)
    let limit = eventLoop.scheduleTask(in: .seconds(2)) { wait.succeed() }
    released.whenComplete { _ in wait.succeed() }
    try? await wait.futureResult.get()
    limit.cancel()
  }

  /// Tries again as soon as something appears where a port would. If the folder cannot be watched,
  /// the back-off finds the port later.
  func watchArrivals() async {
    guard !name.isRemote else { return }
    let arrivals = try? await PortArrivals.watch(path: name.address?.path, on: eventLoop) { [weak self] _ in
      self?.assumeIsolated { $0.handlePortsChanged() }
    }
    self.arrivals = arrivals
  }

  private func handlePortsChanged() {
    guard case .running = state else { return }
    machine.portsChanged(now: tick())
    drainActions()
  }

  // MARK: From the channel

  func attach(_ channel: any NIOCore.Channel, number: Int) {
    guard line.attach(channel, number) else {
      channel.close(promise: nil)
      return
    }
    machine.portOpened(now: tick())
    drainActions()
  }

  func receive(_ buffer: ByteBuffer, number: Int) {
    guard line.isOpen(number) else { return }
    machine.receive(buffer.readableBytesUInt8Span, now: tick())
  }

  func handleReadComplete(number: Int) {
    guard line.isOpen(number) else { return }
    drainActions()
  }

  func handleWritability(_ isWritable: Bool, number: Int) {
    guard line.isOpen(number) else { return }
    machine.handleWritability(isWritable, now: now)
    drainActions()
  }

  func receiveEndOfStream(number: Int) {
    guard line.end(number) else { return }
    machine.receiveEndOfStream(now: now)
    drainActions()
  }

  // MARK: Time

  private func armTimer() {
    guard let deadline = withoutCopy(&machine, { $0.nextDeadline }) else { return }
    if case .ended = state { return }
    timer.arm(for: NIODeadline(deadline), on: eventLoop) { self.assumeIsolated { $0.fire() } }
  }

  private func fire() {
    guard timer.fires(on: eventLoop) else { return }
    if case .ended = state { return }
    machine.handleTimeout(now: tick())
    drainActions()
  }
}

/// The last handler of a port's pipeline: passes everything on to the forwarder.
private final class ForwarderHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let forwarder: Forwarder
  private let number: Int

  init(forwarder: Forwarder, number: Int) {
    self.forwarder = forwarder
    self.number = number
  }

  func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { channelActive(context: context) }
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    forwarder.assumeIsolated { [number] in
      $0.attach(channel, number: number)
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    forwarder.assumeIsolated { [number] in
      $0.receive(buffer, number: number)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    forwarder.assumeIsolated { [number] in
      $0.handleReadComplete(number: number)
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    let isWritable = context.channel.isWritable
    forwarder.assumeIsolated { [number] in
      $0.handleWritability(isWritable, number: number)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The end of the channel follows and reports the reason.
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    forwarder.assumeIsolated { [number] in
      $0.receiveEndOfStream(number: number)
    }
  }
}
