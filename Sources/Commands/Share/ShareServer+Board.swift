import DeviceEmulator
import NIOCore
import NotibotHost
import NotibotProtocol
import SerialLink

// What the board answers and reports, and who gets it.
extension ShareServer {
  func perform(_ action: HostAction) {
    switch action {
    case .write(let bytes): board?.write(ByteBuffer(bytes: bytes), promise: nil)
    case .completed(let id, let result): deliver(result, to: id)
    case .event(let event): publish(event)
    case .text(let bytes): for id in clients.keys { clients[id]?.print(bytes) }
    case .opened(let info): begin(info)
    case .ended(let reason): end(reason)
    }
  }

  private func begin(_ info: DeviceInfo) {
    var features: Features = [.pipelinedRequests]
    if info.hasIdentity { features.insert(.optionalKeys) }
    if info.hasSync { features.insert(.sync) }
    if info.keepsActions { features.insert(.keptActions) }
    let octets = info.deviceID?.split(separator: ":").compactMap { UInt8($0, radix: 16) }
    self.info = SharedBoard(
      deviceID: octets.flatMap(DeviceID.init(octets:)), firmwareName: info.firmwareName,
      firmwareVersion: info.firmwareVersion, buildHash: info.buildHash,
      capacity: UInt16(clamping: info.capacity ?? 0), features: features, bootID: info.bootID,
      bootCount: info.bootCount ?? 0, resetReason: info.resetReason ?? .unknown)
    for subscription in [Subscriptions.count, .data] {
      _ = machine.submit(.subscribe(subscription), now: now)
    }
    for id in clients.keys { offerLine(to: id) }
    show(.reconnected(info))
  }

  /// Gives an attached client its line, if the board has a session.
  func offerLine(to id: Int) {
    guard let info, clients[id]?.stage == .attached else { return }
    clients[id]?.renew()
    clients[id]?.line = SharedLine(board: info, seed: .random(in: .min ... .max), now: now)
  }

  /// The session with the board is over: so are those of the clients.
  private func end(_ reason: SessionEnd) {
    if info != nil {
      show(
        .disconnected(
          NotibotError(reason, port: name.description, operation: "keep the session with")))
    }
    info = nil
    arbiter.reset()
    tickets = [:]
    shownPresses = [:]
    shownActions = []
    for id in clients.keys {
      guard clients[id]?.stage == .attached else {
        failOperations(of: id, reason)
        continue
      }
      clients[id]?.line?.close(now: now)
      clients[id]?.renew()
      transmit(to: id)
      clients[id]?.line = nil
    }
    guard !isStopping, use == .shared, board?.isActive == true else { return }
    // `run` opens it again.
    if reason == .noAnswer { board?.close(promise: nil) } else { machine.connect(clock: .now(), now: now) }
  }

  private func deliver(_ result: HostResult, to id: HostRequestID) {
    guard let (ticket, session) = tickets.removeValue(forKey: id) else { return }
    arbiter.completed(ticket)
    guard let client = clients[ticket.client], client.session == session else { return }
    if client.stage == .talking { return finish(ticket, result) }
    let answer: ATTPDU
    switch result {
    case .accepted: answer = .writeResponse
    case .count(let count):
      answer = .readResponse([UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8)])
    case .refused(let error): answer = .errorResponse(request: 0x12, handle: 6, error: error)
    case .failed(.badLength): answer = .errorResponse(request: 0x12, handle: 6, error: .invalidValueLength)
    case .failed(.unsupported), .failed(.queueFull), .response, .sent:
      answer = .errorResponse(request: 0x12, handle: 6, error: .unlikelyError)
    // The session is over, and the client's ends without an answer.
    case .failed(.outcomeUnknown), .failed(.notSent): return
    }
    clients[ticket.client]?.answer(answer.encoded(), in: ticket.number)
  }

  private func publish(_ event: HostEvent) {
    switch event {
    case .countChanged(let count):
      for id in clients.keys { clients[id]?.notify(count: count) }
      show(.count(count))
    case .device(let event): publish(event)
    case .sync(let message): publish(message)
    case .log(let bytes): for id in clients.keys { clients[id]?.print(bytes) }
    case .suspected, .recovered: break
    }
  }

  private func publish(_ event: DeviceEvent) {
    if case .gone(_, let key, _) = event, arbiter.syncingSource == key.source {
      // Repeated before SYNCED: only its writer asked for it.
      for id in clients(of: key.source) { clients[id]?.notify(event) }
      return
    }
    if case .actionOf(let key, _, _, _) = event, info?.features.contains(.keptActions) == true,
      // Its writer gets it as ACTION, which the board sends to the source that has synced last.
      !clients(of: key.source).isEmpty, shownActions.count < Self.pressesLimit
    {
      shownActions.append(event.withoutItem)
      arbiter.collect(key.source)
    }
    for id in clients.keys { clients[id]?.notify(event) }
    show(Device.Event(event))
  }

  private func publish(_ message: SyncMessage) {
    switch message {
    case .synced(let answer):
      if let client = arbiter.synced(), clients[client] != nil, arbiter.source(of: client) == answer.source {
        clients[client]?.send(message)
      }
    case .resync:
      for id in clients.keys where arbiter.source(of: id) != nil { clients[id]?.send(message) }
    case .gone(_, let key): for id in clients(of: key.source) { clients[id]?.send(message) }
    case .press(let press):
      for id in clients(of: press.key.source) { clients[id]?.send(message) }
      show(press)
    case .sync, .taken: break
    }
  }

  /// Shows a press to the clients that did not write its notification, once.
  private func show(_ press: KeptPress) {
    guard press.number > shownPresses[press.key.source] ?? 0 else { return }
    if shownPresses.count >= Self.pressesLimit { shownPresses = [:] }
    shownPresses[press.key.source] = press.number
    let event = DeviceEvent.actionOf(press.key, item: 0, act: UInt32(press.act), revision: press.revision)
    if let index = shownActions.firstIndex(of: event) {
      shownActions.remove(at: index)
      return
    }
    let writers = clients(of: press.key.source)
    for id in clients.keys where !writers.contains(id) { clients[id]?.notify(event) }
  }

  private func clients(of source: UInt32) -> [Int] {
    clients.keys.filter { arbiter.source(of: $0) == source }
  }
}

extension DeviceEvent {
  /// The action without its place on the display, which ACTION does not have.
  fileprivate var withoutItem: DeviceEvent {
    guard case .actionOf(let key, _, let act, let revision) = self else { return self }
    return .actionOf(key, item: 0, act: act, revision: revision)
  }
}
