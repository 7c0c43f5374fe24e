/// A backend that gets a device token, as a phone's app would give it.
package struct Registration: Hashable, Sendable {
  /// How a backend wants it. Source: docs/GATEWAY.md, Registration.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    case lucifer, dayly
  }

  /// That of the device token.
  package var name: String
  package var kind: Kind
  /// The backend's base address.
  package var address: CallbackAddress
  /// The 64 digits: each start repeats them.
  package var token: String
  /// File with the bearer's token, mode 0600.
  package var bearerPath: String?
  /// File with the authority of the certificate, in PEM.
  package var authorityPath: String?
  package var isRevoked: Bool

  package init(
    name: String, kind: Kind, address: CallbackAddress, token: String, bearerPath: String? = nil,
    authorityPath: String? = nil, isRevoked: Bool = false
  ) {
    self.name = name
    self.kind = kind
    self.address = address
    self.token = token
    self.bearerPath = bearerPath
    self.authorityPath = authorityPath
    self.isRevoked = isRevoked
  }

  /// A request to the backend.
  package struct Call: Hashable, Sendable {
    package var registration: Registration
    package var isRemoval: Bool
    package var method: String
    package var address: CallbackAddress
    package var body: JSONValue?
  }

  var registering: Call {
    let (path, key) =
      switch kind {
      case .lucifer: ("/api/device/register", "token")
      case .dayly: ("/api/devices/register", "device_token")
      }
    return Call(
      registration: self, isRemoval: false, method: "POST", address: address.appending(path),
      body: .object([key: .string(token), "platform": .string("ios")]))
  }

  /// nil: the backend has no request for it.
  var unregistering: Call? {
    guard kind == .dayly else { return nil }
    return Call(
      registration: self, isRemoval: true, method: "DELETE",
      address: address.appending("/api/devices/unregister?device_token=\(token)"), body: nil)
  }
}

/// Registers device tokens with backends at each start, and takes revoked ones back.
///
/// Each registration is *registering* → *registered* → *unregistering* → *unregistered*; a start
/// begins with the first or the third. Attempts are repeated with a back-off, without an end: a
/// backend that refuses is asked every 5 minutes, and reported once.
package struct RegistrationMachine: Hashable, Sendable {
  package enum State: String, Hashable, Sendable {
    case registering, registered, unregistering, unregistered
  }

  package enum Action: Hashable, Sendable {
    case call(Registration.Call)
    /// Durable, so that a start does not repeat what is done.
    case record(name: String, State, deviceID: String?)
    /// For the user, without a token.
    case warn(String)
  }

  /// Registrations, at most.
  package static let limit = 100
  /// Bytes of the backend's name of the device, at most.
  private static let deviceIDLimitBytes = 256

  private struct Entry: Hashable {
    var registration: Registration
    var state: State
    var deviceID: String?
    var failures = 0
    var nextAt: WallTime?
    var isInFlight = false
    var hasWarned = false
  }

  private var entries: [String: Entry] = [:]
  private let removed: Set<String>
  private var actions = ActionQueue<Action>()

  /// - Parameter removed: names that are recorded as unregistered.
  package init(removed: Set<String> = []) {
    self.removed = removed
  }

  // MARK: Outputs

  package mutating func nextAction() -> Action? { actions.next() }

  package var nextDeadline: WallTime? { entries.values.compactMap(\.nextAt).min() }

  /// States by name, for the status.
  package var states: [String: State] { entries.mapValues(\.state) }

  // MARK: Inputs

  /// The registrations of the configuration; new ones and newly revoked ones begin.
  package mutating func setRegistrations(_ registrations: [Registration], now: WallTime) {
    for name in entries.keys where !registrations.contains(where: { $0.name == name }) { entries[name] = nil }
    for registration in registrations.prefix(Self.limit) {
      guard let known = entries[registration.name] else {
        let isGone = registration.isRevoked && removed.contains(registration.name)
        let state: State = isGone ? .unregistered : registration.isRevoked ? .unregistering : .registering
        entries[registration.name] = Entry(registration: registration, state: state)
        advance(registration.name, now)
        continue
      }
      guard known.registration != registration else { continue }
      let isInFlight = known.isInFlight
      entries[registration.name] = Entry(
        registration: registration, state: registration.isRevoked ? .unregistering : .registering,
        deviceID: known.deviceID, isInFlight: isInFlight)
      if !isInFlight { advance(registration.name, now) }
    }
  }

  /// The result of a call.
  package mutating func complete(_ call: Registration.Call, _ result: CallResult, now: WallTime) {
    let name = call.registration.name
    guard var entry = entries[name], entry.isInFlight else { return }
    entry.isInFlight = false
    entries[name] = entry
    // It was changed or revoked meanwhile.
    guard entry.registration == call.registration else { return advance(name, now) }
    switch (call.isRemoval, Self.verdict(of: call, result)) {
    case (false, .accepted):
      entry.state = .registered
      entry.deviceID = Self.deviceID(in: result)
      settle(entry)
    case (true, .accepted), (true, .late):
      entry.state = .unregistered
      settle(entry)
    case (_, .again): retry(entry, now, delayMs: nil, "does not answer")
    case (_, .refused), (false, .late): retry(entry, now, delayMs: BackOff.longestMs, "refuses")
    }
  }

  package mutating func handleTimeout(now: WallTime) {
    for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
      guard let nextAt = entry.nextAt, now >= nextAt else { continue }
      entries[name]?.nextAt = nil
      advance(name, now)
    }
  }

  // MARK: Parts

  private mutating func advance(_ name: String, _ now: WallTime) {
    guard var entry = entries[name], !entry.isInFlight, entry.nextAt == nil else { return }
    switch entry.state {
    case .registered, .unregistered: return
    case .registering: actions.append(.call(entry.registration.registering))
    case .unregistering:
      guard let call = entry.registration.unregistering else {
        entry.state = .unregistered
        return settle(entry)
      }
      actions.append(.call(call))
    }
    entries[name]?.isInFlight = true
  }

  private mutating func settle(_ entry: Entry) {
    var entry = entry
    entry.failures = 0
    entry.hasWarned = false
    entries[entry.registration.name] = entry
    actions.append(.record(name: entry.registration.name, entry.state, deviceID: entry.deviceID))
  }

  private mutating func retry(_ entry: Entry, _ now: WallTime, delayMs: Int64?, _ words: String) {
    var entry = entry
    entry.failures += 1
    let name = entry.registration.name
    let delay = delayMs ?? BackOff.delayMs(failures: entry.failures, salt: name)
    entry.nextAt = now.adding(milliseconds: delay)
    if !entry.hasWarned {
      let verb = entry.state == .registering ? "register" : "unregister"
      actions.append(.warn("cannot \(verb) '\(name)': the backend \(words); trying again"))
    }
    entry.hasWarned = true
    entries[name] = entry
  }

  /// A backend that answers 200 and `"success": false` has not accepted.
  private static func verdict(of call: Registration.Call, _ result: CallResult) -> CallVerdict {
    let verdict = CallVerdict(result)
    guard case .status(let status, let body) = result else { return verdict }
    if call.isRemoval, status == 404 { return .accepted }
    guard verdict == .accepted, !call.isRemoval else { return verdict }
    let answer = try? JSONValue(parsing: body, limitBytes: 65_536)
    return answer?["success"]?.bool == true ? .accepted : .again
  }

  private static func deviceID(in result: CallResult) -> String? {
    guard case .status(_, let body) = result,
      let id = (try? JSONValue(parsing: body, limitBytes: 65_536))?["device"]?["id"]?.string,
      id.utf8.count <= deviceIDLimitBytes
    else { return nil }
    return id
  }
}
