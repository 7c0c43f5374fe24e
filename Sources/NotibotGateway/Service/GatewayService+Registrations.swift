#if Gateway
import GatewayRules
import NIOCore

// Device tokens that backends get from the gateway.
extension GatewayService {
  /// Reads the registrations again if a command has changed them, and acts on tokens that were
  /// revoked.
  func reloadRegistrations() {
    guard !isStopping else { return }
    let rows: [Registration]
    do {
      rows = try GatewayTables.readRegistrations(folder.registrations, tokens: tokens)
    } catch {
      return warn("\(error); the registrations stay as they are")
    }
    registrations.setRegistrations(rows, now: clock.now())
    obeyRegistrations()
  }

  private func obeyRegistrations() {
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
        service.obeyRegistrations()
      }
    }
  }

  private func send(_ call: Registration.Call) {
    var request = CallbackClient.Request(
      method: call.method, address: call.address, body: call.body.map { Array($0.line.utf8) } ?? [],
      authorityPath: call.registration.authorityPath.map(folder.path(of:)))
    if call.body != nil { request.fields.append(("content-type", "application/json")) }
    if let path = call.registration.bearerPath {
      do {
        let bearer = String(decoding: try PrivateFile.secret(folder.path(of: path)), as: UTF8.self)
        request.fields.append(("authorization", "Bearer \(bearer)"))
      } catch {
        warn("cannot register '\(call.registration.name)': \(error)")
        // Not at once: the machine is being drained.
        return eventLoop.execute { self.assumeIsolated { $0.complete(call, .noAnswer) } }
      }
    }
    client.send(request).whenSuccess { result in self.assumeIsolated { $0.complete(call, result) } }
  }

  private func complete(_ call: Registration.Call, _ result: CallResult) {
    registrations.complete(call, result, now: clock.now())
    obeyRegistrations()
  }
}
#endif
