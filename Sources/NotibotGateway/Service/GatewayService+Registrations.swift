#if Gateway
import GatewayRules
import NIOCore
import NIOPosix
import SerialLink

// Device tokens that backends get from the gateway.
extension GatewayService {
  /// Reads the registrations again if a command has changed them, and acts on tokens that were
  /// revoked.
  func reloadRegistrations() {
    guard !isStopping else { return }
    let folder = folder
    reader.runIfActive(eventLoop: eventLoop) {
      Result { () throws(Failure) in
        try GatewayTables.readRegistrations(
          folder.registrations, tokens: try GatewayTables.readTokens(folder.tokens))
      }
    }.whenSuccess { rows in self.assumeIsolated { $0.receive(rows) } }
  }

  private func receive(_ rows: Result<[Registration], Failure>) {
    switch rows {
    case .success(let rows):
      registrations.setRegistrations(rows, now: clock.now())
      drainRegistrations()
    case .failure(let failure): warn("\(failure); the registrations stay as they are")
    }
  }

  private func drainRegistrations() {
    while let action = registrations.nextAction() {
      switch action {
      case .call(let call): send(call)
      case .record(let name, let state, let deviceID):
        records.append(.registration(name: name, state, deviceID: deviceID))
        writeRecords()
      case .warn(let text): warn(text)
      }
    }
    registrationTimer?.cancel()
    registrationTimer = nil
    guard !isStopping, let deadline = registrations.nextDeadline else { return }
    let delay = max(1, min(deadline.milliseconds - clock.now().milliseconds, 600_000))
    registrationTimer = eventLoop.scheduleTask(in: .milliseconds(delay)) {
      self.assumeIsolated { service in
        service.registrations.handleTimeout(now: service.clock.now())
        service.drainRegistrations()
      }
    }
  }

  private func send(_ call: Registration.Call) {
    var request = CallbackClient.Request(
      method: call.method, address: call.address, body: call.body.map { Array($0.line.utf8) } ?? [],
      authorityPath: call.registration.authorityPath.map(folder.path(of:)))
    if call.body != nil { request.fields.append(("content-type", "application/json")) }
    if let path = call.registration.bearerPath {
      request.secret = CallbackClient.Secret(
        path: folder.path(of: path), purpose: "register '\(call.registration.name)'"
      ) { bearer in
        ("authorization", "Bearer \(String(decoding: bearer, as: UTF8.self))")
      }
    }
    client.send(request).whenSuccess { result in self.assumeIsolated { $0.complete(call, result) } }
  }

  private func complete(_ call: Registration.Call, _ result: CallResult) {
    registrations.complete(call, result, now: clock.now())
    drainRegistrations()
  }
}
#endif
