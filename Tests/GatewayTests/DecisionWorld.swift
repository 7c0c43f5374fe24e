import GatewayRules
import NotibotProtocol

/// A decision machine with its actions taken apart.
struct DecisionWorld {
  var machine: DecisionMachine
  var now: WallTime
  var records: [Decision] = []
  var calls: [DecisionMachine.Call] = []
  /// `number text [actions]`.
  var shown: [String] = []
  var shows: [DecisionMachine.Show] = []
  /// Whether the outbox takes what is shown.
  var isOutboxUp = true
  private var lastPress: UInt32 = 0

  static let target: [UInt8] = [7]
  static let url = "https://backend.example/answers"

  init(
    callbacks: [String: Callback]? = nil, decisions: [Decision] = [], items: [IntakeContents.Item] = [],
    now: WallTime = WallTime(seconds: 1_700_000_000)
  ) {
    self.now = now
    machine = DecisionMachine(
      callbacks: callbacks ?? ["c": Callback(address: Self.address)], decisions: decisions, items: items,
      now: now)
    drain()
  }

  static var address: CallbackAddress {
    do {
      return try CallbackAddress(parsing: url, "test")
    } catch {
      preconditionFailure("\(error)")
    }
  }

  static func question(_ push: String = "p1", callback: String? = "c") -> Question {
    Question(
      topic: "t", pushID: push, category: "APPROVAL_REQUEST", callback: callback,
      fields: ["requestId": "r-1"],
      answers: [
        Answer(
          name: "APPROVE_ACTION", label: "Approve", approved: true, done: "Continuing…",
          queued: "Approval queued"),
        Answer(name: "DENY_ACTION", label: "Deny", approved: false, done: "Denied", queued: "Denial queued"),
      ], app: "A", title: "T")
  }

  /// With an open question under number 1.
  static func asking(callback: String? = "c") -> DecisionWorld {
    var world = DecisionWorld()
    world.machine.setItem(1, question: question(callback: callback), target: target, now: world.now)
    world.drain()
    return world
  }

  @discardableResult
  mutating func press(
    _ action: Int, number: Int64 = 1, isStale: Bool = false, press: UInt32? = nil, revision: Int? = 0
  ) -> PressVerdict {
    lastPress = press ?? lastPress + 1
    let verdict = machine.press(
      Press(
        number: number, action: action, revision: revision, isStale: isStale,
        identity: Press.Identity(bootID: 9, press: lastPress)),
      now: now)
    drain()
    return verdict
  }

  /// The result of the oldest call.
  mutating func answer(_ result: CallResult) {
    guard !calls.isEmpty else { return }
    machine.complete(calls.removeFirst(), result, now: now)
    drain()
  }

  mutating func answer(_ status: Int) { answer(.status(status, body: [])) }

  mutating func pass(milliseconds: Int64) {
    now = now.adding(milliseconds: milliseconds)
    machine.handleTimeout(now: now)
    drain()
  }

  mutating func drain() {
    while let action = machine.nextAction() {
      switch action {
      case .record(let decision):
        records.removeAll { $0.id == decision.id }
        records.append(decision)
      case .forget(let id): records.removeAll { $0.id == id }
      case .show(let show):
        shows.append(show)
        shown.append("\(show.number) \(show.notification.text) \(show.notification.details.actions)")
        machine.complete(show, isDone: isOutboxUp, now: now)
      case .call(let call): calls.append(call)
      case .announce: break
      }
    }
  }
}
