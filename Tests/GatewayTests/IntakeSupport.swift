import GatewayRules
import NotibotProtocol

/// An intake with an outbox that answers when a test says so.
struct IntakeWorld {
  var machine: IntakeMachine
  var now = WallTime(seconds: 1_700_000_000)
  var local = LocalTime(day: 1, minute: 720)
  var isBoardUp = true
  /// How far the calendar is ahead.
  var wallLeadMs: Int64 = 0
  var submissions: [(operation: IntakeMachine.Operation, id: UInt64)] = []
  var records: [IntakeRecord] = []
  /// The outcome of each ticket.
  var outcomes: [UInt64: IntakeOutcome] = [:]
  var ids: [UInt64: String] = [:]
  private var lastTicket: UInt64 = 0
  private var lastNumber: Int64 = 0

  init(
    options: IntakeMachine.Options = IntakeMachine.Options(), rules: DisplayRules = DisplayRules(),
    _ contents: IntakeContents = IntakeContents()
  ) {
    machine = IntakeMachine(options: options, rules: rules, contents)
  }

  static func item(
    _ text: String, identifier: String? = nil, thread: String = "",
    level: NotificationDetails.Level = .active,
    isTransient: Bool = false
  ) -> DisplayItem {
    var details = NotificationDetails()
    details.level = level
    return DisplayItem(
      notification: DisplayNotification(app: "A", title: "", text: text, timestamp: 0, details: details),
      identifier: identifier, thread: thread, isTransient: isTransient)
  }

  static func push(
    _ key: UInt8, _ meaning: PushMeaning, topic: String = "t", badge: Int? = nil, expiration: Int64? = nil,
    hasOwnKey: Bool = true, oncePerDay: Bool = false
  ) -> IntakePush {
    IntakePush(
      key: [key], hasOwnKey: hasOwnKey, apnsID: "id-\(key)", topic: topic, token: [1], meaning: meaning,
      badge: badge, expiration: expiration, oncePerDay: oncePerDay)
  }

  /// Gives a push to the machine; returns its ticket.
  @discardableResult
  mutating func receive(_ push: IntakePush) -> UInt64 {
    lastTicket += 1
    machine.receive(push, ticket: IntakeMachine.Ticket(lastTicket), at: moment)
    drain()
    return lastTicket
  }

  var moment: Moment {
    Moment(now: now, wall: now.adding(milliseconds: wallLeadMs), local: local, isBoardUp: isBoardUp)
  }

  /// The same, and the outbox takes everything. Returns the outcome.
  mutating func send(_ push: IntakePush) -> IntakeOutcome? {
    let ticket = receive(push)
    settle()
    return outcomes[ticket]
  }

  /// Completes the oldest change.
  mutating func complete(_ result: IntakeMachine.Result) {
    guard !submissions.isEmpty else { return }
    let (_, id) = submissions.removeFirst()
    machine.complete(id, result, now: now)
    drain()
  }

  /// The outbox takes all changes. Additions are numbered from 1.
  mutating func settle() {
    while let (operation, _) = submissions.first {
      switch operation {
      case .add:
        lastNumber += 1
        complete(.done(lastNumber))
      case .update(let number, _, _), .remove(let number): complete(.done(number))
      }
    }
  }

  mutating func pass(milliseconds: Int64) {
    now = now.adding(milliseconds: milliseconds)
    if let deadline = machine.nextDeadline, deadline <= now { wake() }
  }

  mutating func wake() {
    machine.handleTimeout(at: moment)
    drain()
  }

  mutating func drain() {
    while let action = machine.nextAction() {
      switch action {
      case .submit(let operation, let id): submissions.append((operation, id))
      case .record(let record): records.append(record)
      case .answer(let ticket, let outcome, let id):
        outcomes[ticket.rawValue] = outcome
        ids[ticket.rawValue] = id
      }
    }
  }

  /// The texts of pending changes: `+` adds, `=` updates, `-` removes.
  var pending: [String] {
    submissions.map { submission in
      switch submission.operation {
      case .add(let notification, _): "+\(notification.text)"
      case .update(let number, let notification, _): "=\(number) \(notification.text)"
      case .remove(let number): "-\(number)"
      }
    }
  }

  /// What would be restored after a crash now.
  var contents: IntakeContents { Self.contents(of: records) }

  static func contents(of records: [IntakeRecord]) -> IntakeContents {
    var contents = IntakeContents()
    for record in records {
      switch record {
      case .key(let key, let apnsID, let at, let isOwn):
        contents.keys.append(IntakeContents.Key(bytes: key, apnsID: apnsID, at: at, isOwn: isOwn))
      case .forgetKey(let key): contents.keys.removeAll { $0.bytes == key }
      case .item(let item):
        contents.items.removeAll { $0.number == item.number }
        contents.items.append(item)
      case .forgetItem(let number): contents.items.removeAll { $0.number == number }
      case .suppressed(let target, let until): contents.suppressed[target] = until
      case .badge(let topic, let value): contents.badges[topic] = value
      case .shown(let group, let day): contents.shownDays[group] = day
      case .delayed(let target, let delay): contents.delayed[target] = delay.line
      case .forgetDelayed(let target): contents.delayed[target] = nil
      }
    }
    return contents
  }
}
