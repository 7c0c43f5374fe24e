import NIOCore
public import NotibotProtocol
package import SerialLink

/// A Notibot at the other end of a port. Get one from `withDevice`.
///
/// Runs on the event loop of its channel: handler, machine, timer and these methods share one
/// thread. States: *connecting* → *open* ⇄ *reconnecting* → *closing* → *ended*; any of them →
/// *ended* when the port is lost.
public actor Device {
  enum State {
    case connecting([CheckedContinuation<Void, any Error>])
    case open
    case reconnecting
    case closing([CheckedContinuation<Void, Never>])
    /// `nil`: this side closed it.
    case ended(NotibotError?)
  }

  /// The waiter for the result of a request.
  enum Waiter {
    case caller(CheckedContinuation<HostResult, any Error>, operation: String)
    case batch(SendBatch, index: Int)
    /// The device's own: the subscription and the count after a reconnection.
    case renewal
  }

  /// What a channel carries.
  package enum Carrier: Sendable {
    /// Frames, in sessions.
    case sessions
    /// Records of one PDU, as over BLE.
    case connection
  }

  nonisolated let eventLoop: any EventLoop
  /// The port as the user named it.
  public nonisolated let port: String
  /// Whether its channel carries frames, or the records of a connection.
  package nonisolated let carrier: Carrier
  /// The opened address; `nil` for a channel that was already open.
  package nonisolated let address: PortAddress?
  /// Events of the device and of the connection, for one consumer: a second one gets the events
  /// that the first one does not get.
  public nonisolated let events: Events

  let options: DeviceOptions
  let eventSink: AsyncThrowingStream<Event, any Error>.Continuation
  var machine: any DeviceMachine
  var channel: (any NIOCore.Channel)?
  var state = State.connecting([])
  var timer = DriverTimer()
  var waiters: [HostRequestID: Waiter] = [:]
  var batches: [SendBatch] = []
  var subscriptions: Subscriptions = []
  /// The first error of the port, reported when the session ends.
  var portFailure: NotibotError?

  /// The device's description of itself in the current session, or in the last one.
  public internal(set) var info = DeviceInfo.unknown

  /// The channel's event loop, on which everything of this device runs.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    eventLoop.executor.asUnownedSerialExecutor()
  }

  /// - Parameter seed: for nonces; must differ from run to run.
  init(
    port: String, address: PortAddress?, carrier: Carrier = .sessions, options: DeviceOptions,
    eventLoop: any EventLoop, seed: UInt64
  ) {
    self.eventLoop = eventLoop
    self.port = port
    self.address = address
    self.carrier = carrier
    self.options = options
    var configuration = HostConfiguration()
    configuration.connectTimeout = options.connectTimeout
    configuration.lineBitsPerSecond = address?.hasRate == true ? Int(options.bitsPerSecond) : nil
    configuration.limits.requests = UInt8(clamping: options.requestsLimit)
    switch options.reconnection {
    case .never, .always: configuration.reconnectTimeout = nil
    case .within(let limit): configuration.reconnectTimeout = limit
    }
    machine =
      switch carrier {
      case .sessions: HostMachine(configuration: configuration, seed: seed)
      case .connection: ConnectionMachine(configuration: configuration)
      }
    let (stream, sink) = AsyncThrowingStream<Event, any Error>.makeStream(
      bufferingPolicy: .bufferingNewest(options.eventsLimit))
    events = Events(stream: stream)
    eventSink = sink
  }

  // MARK: Requests

  /// Reads how many notifications the device holds.
  public func count() async throws -> Int {
    switch try await request(.readCount, "read the count of") {
    case .count(let count): Int(count)
    case .accepted, .response, .sent, .refused, .failed: throw unexpectedResult("read the count of")
    }
  }

  /// Sends a notification, cut to the device's limits if need be, and returns when the device has
  /// accepted it. Throws `NotibotError`: `refused` if the device rejected it; `isOutcomeUnknown` is
  /// set if the link failed before the answer.
  public func send(_ notification: DisplayNotification) async throws {
    _ = try await request(.send(notification), "send to")
  }

  /// Sends a notification of these fields; `timestamp` in whole seconds since 1970-01-01 UTC
  /// (default: now). Otherwise as `send(_:)`.
  public func send(app: String, title: String, text: String, timestamp: UInt32? = nil) async throws {
    let timestamp = timestamp ?? UInt32(clamping: HostClock.now().seconds)
    try await send(DisplayNotification(app: app, title: title, text: text, timestamp: timestamp))
  }

  /// Sends notifications in order, with many in flight, and returns when all are answered.
  ///
  /// - Parameters:
  ///   - notifications: taken one at a time, on the device's thread, as the line has room.
  ///   - window: notifications in flight, 1...512.
  ///   - report: called on the device's thread for each, with its index from 0 and its result.
  /// - Throws: `NotibotError` when the session ended before all were answered. A refusal throws
  ///   nothing: it is reported and counted. `usage` if `window` is out of range.
  ///   `CancellationError` after a cancellation; notifications in flight are then reported with an
  ///   unknown outcome.
  public func send(
    contentsOf notifications: some Sequence<DisplayNotification> & Sendable, window: Int = 64,
    report: @escaping @Sendable (Int, Result<Void, NotibotError>) -> Void = { _, _ in }
  ) async throws -> SendSummary {
    try OptionRange.window.check(window, port: port, operation: "send to")
    try checkUsable("send to")
    var iterator = notifications.makeIterator()
    let key = BatchKey()
    return try await withTaskCancellationHandler {
      try Task.checkCancellation()
      return try await withCheckedThrowingContinuation { continuation in
        let batch = SendBatch(
          key: key, window: window, report: report, continuation: continuation
        ) { iterator.next() }
        batches.append(batch)
        drainActions()
      }
    } onCancel: {
      eventLoop.execute { self.assumeIsolated { $0.cancelBatch(key) } }
    }
  }

  /// Subscribes to the device's notifications: from now on, and after each reconnection, they are
  /// among `events`. Only changes are notified: read the present count with `count()` afterwards.
  public func subscribe() async throws {
    _ = try await request(.subscribe(.all), "subscribe to")
    subscriptions = .all
  }

  /// Sends an attribute PDU as it is and returns the answer; `nil` when none is due.
  package func exchange(_ pdu: [UInt8]) async throws -> [UInt8]? {
    switch try await request(.rawATT(pdu), "send a PDU to") {
    case .response(let answer): answer
    case .sent: nil
    case .accepted, .count, .refused, .failed: throw unexpectedResult("send a PDU to")
    }
  }

  /// The counters of the machine.
  package var statistics: HostStatistics { machine.statistics }

  /// How long the port's FTDI bridge can hold back bytes, in milliseconds; `nil` for any other
  /// port.
  package var latencyTimerMs: Int? {
    get async {
      guard let channel else { return nil }
      return await SerialChannel.latency(of: channel)?.milliseconds
    }
  }

  // MARK: Waiting for results

  private func request(_ request: HostRequest, _ operation: String) async throws -> HostResult {
    try checkUsable(operation)
    try Task.checkCancellation()
    let id = machine.submit(request, now: now)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        waiters[id] = .caller(continuation, operation: operation)
        drainActions()
      }
    } onCancel: {
      // The request may already be in flight; only the wait for it ends here.
      eventLoop.execute { self.assumeIsolated { $0.cancelWait(for: id) } }
    }
  }

  private func cancelWait(for id: HostRequestID) {
    guard case .caller(let continuation, _)? = waiters.removeValue(forKey: id) else { return }
    continuation.resume(throwing: CancellationError())
  }

  private func cancelBatch(_ key: BatchKey) {
    guard let batch = batches.first(where: { $0.key === key }) else { return }
    var error = NotibotError(.outcomeUnknown(.closed), port: port, operation: "send to")
    error.reason = "the wait for its answer was cancelled"
    batch.cancel(error)
    batches.removeAll { $0 === batch }
  }

  private func checkUsable(_ operation: String) throws {
    switch state {
    case .connecting, .open, .reconnecting: break
    case .closing: throw NotibotError(.notSent(.closed), port: port, operation: operation)
    case .ended(let error):
      var error = error ?? NotibotError(.notSent(.closed), port: port, operation: operation)
      error.operation = operation
      throw error
    }
  }

  private func unexpectedResult(_ operation: String) -> NotibotError {
    NotibotError(.unsupported, port: port, operation: operation)
  }
}
