import GatewayRules
import Testing

struct RegistrationMachineTests {
  private let now = WallTime(seconds: 1_700_000_000)
  private static let token = String(repeating: "0a", count: 32)
  private static let accepted = CallResult.status(
    200, body: Array(#"{"success":true,"device":{"id":"dt_123456","platform":"ios"}}"#.utf8))

  private func registration(_ kind: Registration.Kind, isRevoked: Bool = false) throws -> Registration {
    Registration(
      name: "desk", kind: kind, address: try CallbackAddress(parsing: "https://b.example/base/", "'url'"),
      token: Self.token, isRevoked: isRevoked)
  }

  private func begun(
    _ kind: Registration.Kind, isRevoked: Bool = false, removed: Set<String> = []
  ) throws -> RegistrationMachine {
    var machine = RegistrationMachine(removed: removed)
    machine.setRegistrations([try registration(kind, isRevoked: isRevoked)], now: now)
    return machine
  }

  private func call(_ machine: inout RegistrationMachine) throws -> Registration.Call {
    guard case .call(let call) = machine.nextAction() else {
      Issue.record("no call")
      throw CancellationError()
    }
    return call
  }

  @Test func `each backend gets the request that it documents`() throws {
    var lucifer = try begun(.lucifer)
    let first = try call(&lucifer)
    #expect(first.method == "POST")
    #expect(first.address.path == "/base/api/device/register")
    #expect(first.body?.line == #"{"platform":"ios","token":"\#(Self.token)"}"#)
    var dayly = try begun(.dayly)
    let second = try call(&dayly)
    #expect(second.address.path == "/base/api/devices/register")
    #expect(second.body?.line == #"{"device_token":"\#(Self.token)","platform":"ios"}"#)
  }

  @Test func `an accepted registration is recorded with the name of the device`() throws {
    var machine = try begun(.lucifer)
    machine.complete(try call(&machine), Self.accepted, now: now)
    #expect(machine.nextAction() == .record(name: "desk", .registered, deviceID: "dt_123456"))
    #expect(machine.nextAction() == nil)
    #expect(machine.nextDeadline == nil)
  }

  @Test func `failures are repeated with a back-off, and reported once`() throws {
    var machine = try begun(.lucifer)
    var time = now
    let failures: [CallResult] = [
      .noAnswer, .status(500, body: []), .status(200, body: Array(#"{"success":false}"#.utf8)),
      .status(200, body: [0]),
    ]
    var warnings = 0
    for failure in failures {
      machine.complete(try call(&machine), failure, now: time)
      if case .warn(let text) = machine.nextAction() {
        warnings += 1
        #expect(!text.contains(Self.token))
      }
      let deadline = try #require(machine.nextDeadline)
      machine.handleTimeout(now: deadline.adding(milliseconds: -1))
      #expect(machine.nextAction() == nil)
      machine.handleTimeout(now: deadline)
      time = deadline
    }
    #expect(warnings == 1)
    machine.complete(try call(&machine), Self.accepted, now: time)
    #expect(machine.states == ["desk": .registered])
  }

  @Test func `a wrong bearer is asked again after minutes, not at once`() throws {
    var machine = try begun(.dayly)
    machine.complete(try call(&machine), .status(401, body: []), now: now)
    guard case .warn = machine.nextAction() else { throw CancellationError() }
    #expect(machine.nextDeadline == now.adding(milliseconds: BackOff.longestMs))
  }

  @Test func `a revoked token is unregistered once`() throws {
    var machine = try begun(.dayly)
    machine.complete(try call(&machine), Self.accepted, now: now)
    _ = machine.nextAction()
    machine.setRegistrations([try registration(.dayly, isRevoked: true)], now: now)
    let removal = try call(&machine)
    #expect(removal.method == "DELETE")
    #expect(removal.address.path == "/base/api/devices/unregister?device_token=\(Self.token)")
    machine.complete(removal, .status(404, body: []), now: now)
    #expect(machine.nextAction() == .record(name: "desk", .unregistered, deviceID: "dt_123456"))
    var later = try begun(.dayly, isRevoked: true, removed: ["desk"])
    #expect(later.nextAction() == nil)
  }

  @Test func `a token that is revoked during the request is registered and then unregistered`() throws {
    var machine = try begun(.dayly)
    let first = try call(&machine)
    machine.setRegistrations([try registration(.dayly, isRevoked: true)], now: now)
    #expect(machine.nextAction() == nil)
    machine.complete(first, Self.accepted, now: now)
    #expect(try call(&machine).isRemoval)
  }

  @Test func `a backend without a request for it is left alone`() throws {
    var machine = try begun(.lucifer, isRevoked: true)
    #expect(machine.nextAction() == .record(name: "desk", .unregistered, deviceID: nil))
  }
}
