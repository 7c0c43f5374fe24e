import NIOCore
@_spi(Machines) import NotibotProtocol
import SerialLink

// Drives the machine: bytes and time in, actions out. It makes no decisions about the protocol.
extension Device {
  var now: Instant {
    eventLoop.instant
  }

  // MARK: From the channel

  func attach(_ channel: any NIOCore.Channel) {
    self.channel = channel
  }

  func begin() {
    machine.connect(clock: .now(), now: now)
    drainActions()
  }

  func receive(_ buffer: ByteBuffer) {
    machine.receive(buffer.readableBytesUInt8Span, now: now)
  }

  func handleWritability(_ isWritable: Bool) {
    machine.handleWritability(isWritable, now: now)
    drainActions()
  }

  func recordFailure(_ error: any Error) {
    guard portFailure == nil else { return }
    if let error = error as? PortError {
      portFailure = NotibotError(error)
    } else {
      portFailure = NotibotError(machine.endOfStream, port: port, operation: "read")
      portFailure?.underlying = error
    }
  }

  func receiveEndOfStream() {
    channel = nil
    machine.receiveEndOfStream(now: now)
    drainActions()
    finish(portFailure ?? NotibotError(machine.endOfStream, port: port, operation: "read"))
  }

  // MARK: Actions

  /// Executes all actions of the machine, refills the batches, and arms the timer.
  func drainActions() {
    var hasWritten = false
    repeat {
      while let action = machine.nextAction() {
        switch action {
        case .write(let bytes):
          channel?.write(ByteBuffer(bytes: bytes), promise: nil)
          hasWritten = true
        case .completed(let id, let result): deliver(result, to: id)
        case .event(let event): publish(event)
        case .text(let bytes): if options.includesText { eventSink.yield(.text(bytes)) }
        case .opened(let info): becomeOpen(info)
        case .ended(let reason):
          // The FIN must leave before the channel closes.
          if hasWritten { channel?.flush() }
          hasWritten = false
          endSession(reason)
        }
      }
    } while refillBatches()
    if hasWritten { channel?.flush() }
    armTimer()
  }

  /// Submits as much as the batches have room for. Returns whether anything was submitted.
  private func refillBatches() -> Bool {
    guard !batches.isEmpty else { return false }
    var hasSubmitted = false
    for batch in batches {
      machine.submit(now: now) { id in
        guard let (index, notification) = batch.popNext() else { return nil }
        waiters[id] = .batch(batch, index: index)
        hasSubmitted = true
        return .send(notification)
      }
    }
    batches.removeAll { $0.finishIfDone() }
    return hasSubmitted
  }

  private func deliver(_ result: HostResult, to id: HostRequestID) {
    guard let waiter = waiters.removeValue(forKey: id) else { return }
    switch waiter {
    case .caller(let continuation, let operation):
      switch result {
      case .accepted, .count, .response, .sent: continuation.resume(returning: result)
      case .refused(let error):
        continuation.resume(throwing: NotibotError(error, port: port, operation: operation))
      case .failed(let failure):
        continuation.resume(throwing: NotibotError(failure, port: port, operation: operation))
      }
    case .batch(let batch, let index):
      switch result {
      case .accepted, .count, .response, .sent: batch.receive(.success(()), at: index)
      case .refused(let error):
        batch.receive(.failure(NotibotError(error, port: port, operation: "send to")), at: index)
      case .failed(let failure):
        batch.receive(.failure(NotibotError(failure, port: port, operation: "send to")), at: index)
      }
    case .renewal:
      switch result {
      case .count(let count): eventSink.yield(.count(count))
      // Refused or failed: the end of the session reports the reason.
      case .accepted, .response, .sent, .refused, .failed: break
      }
    }
  }

  private func publish(_ event: HostEvent) {
    switch event {
    case .countChanged(let count): eventSink.yield(.count(count))
    case .device(let event): eventSink.yield(Event(event))
    case .log(let bytes): if options.includesText { eventSink.yield(.text(bytes)) }
    // The host of this device does not sync; exactly-once delivery is the outbox's job.
    case .sync, .suspected, .recovered: break
    }
  }

  // MARK: Sessions

  private func becomeOpen(_ info: DeviceInfo) {
    self.info = info
    switch state {
    case .connecting(let callers):
      state = .open
      callers.forEach { $0.resume() }
    case .reconnecting:
      state = .open
      eventSink.yield(.reconnected(info))
      guard !subscriptions.isEmpty else { return }
      waiters[machine.submit(.subscribe(subscriptions), now: now)] = .renewal
      waiters[machine.submit(.readCount, now: now)] = .renewal
    case .open, .closing, .ended: break
    }
  }

  private func endSession(_ reason: SessionEnd) {
    let operation =
      switch state {
      case .connecting: "connect to"
      case .reconnecting: "reconnect to"
      case .open, .closing, .ended: "keep the session with"
      }
    let error = NotibotError(reason, port: port, operation: operation, why: machine.whyUnanswered)
    switch state {
    case .open where options.reconnection != .never && reason != .portGone:
      state = .reconnecting
      eventSink.yield(.disconnected(error))
      machine.connect(clock: .now(), now: now)
    case .reconnecting where reason.isWorthAnotherTry:
      machine.connect(clock: .now(), now: now)
    case .connecting, .open, .reconnecting, .closing: finish(portFailure ?? error)
    case .ended: break
    }
  }

  /// Sends FIN; ends at once if there is no peer, for example before the channel is active.
  func closeSession() {
    machine.close(now: now)
    drainActions()
    if case .closing = state, machine.isClosed {
      finish(NotibotError(.closed, port: port, operation: "close"))
    }
  }

  /// Ends for good: resumes all waiters with the error, and closes the channel.
  private func finish(_ error: NotibotError) {
    switch state {
    case .connecting(let callers):
      state = .ended(error)
      callers.forEach { $0.resume(throwing: error) }
      eventSink.finish(throwing: error)
    case .open, .reconnecting:
      state = .ended(error)
      eventSink.finish(throwing: error)
    case .closing(let callers):
      state = .ended(nil)
      callers.forEach { $0.resume() }
      eventSink.finish()
    case .ended: break
    }
    timer.cancel()
    channel?.close(promise: nil)
  }

  // MARK: Time

  private func armTimer() {
    guard let deadline = withoutCopy(&machine, { $0.nextDeadline }) else { return }
    timer.arm(for: NIODeadline(deadline), on: eventLoop) { self.assumeIsolated { $0.fire() } }
  }

  private func fire() {
    guard timer.fires(on: eventLoop) else { return }
    machine.handleTimeout(now: now)
    drainActions()
  }
}

extension SessionEnd {
  /// Whether a device that refused to reopen a session can be expected to accept it a moment later.
  fileprivate var isWorthAnotherTry: Bool {
    switch self {
    case .deviceRestarted, .unknownToDevice, .closedByDevice, .silent: true
    case .closed, .noAnswer, .refused, .applicationStalled, .transactionTimedOut, .bearerBroken,
      .profileMissing,
      .portGone, .connectionLost:
      false
    }
  }
}
