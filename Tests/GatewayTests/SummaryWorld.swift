import GatewayRules
import NotibotProtocol

/// Items of groups, with an outbox and a disk that outlive a crash of the summaries.
struct SummaryWorld {
  private(set) var machine: SummaryMachine
  var now = WallTime(seconds: 1_700_000_000)
  /// Items by number, as the intake has them.
  private(set) var items: [Int64: GroupMember] = [:]
  private(set) var answered: Set<Int64> = []

  // What outlives a crash.
  /// Texts by number.
  private(set) var outbox: [Int64: String] = [:]
  private(set) var notifications: [Int64: DisplayNotification] = [:]
  private var keys: [[UInt8]: Int64] = [:]
  private(set) var disk: [[UInt8]: Summary] = [:]
  private var lastNumber: Int64 = 1000

  // What a crash loses.
  private(set) var submissions: [(operation: IntakeMachine.Operation, group: [UInt8])] = []
  private var results: [(group: [UInt8], result: IntakeMachine.Result)] = []
  private var records: [SummaryMachine.Action] = []
  var isOutboxUp = true

  init() {
    machine = SummaryMachine(now: now)
  }

  static func member(_ group: UInt8 = 1, text: String = "{count} requests") -> GroupMember {
    GroupMember(group: Array(repeating: group, count: 32), app: "A", displayGroup: "g\(group)", text: text)
  }

  // MARK: Steps

  mutating func set(_ number: Int64, _ member: GroupMember? = member()) {
    items[number] = member
    answered.remove(number)
    machine.setItem(number, member: member, now: now)
    drain()
  }

  mutating func forget(_ number: Int64) {
    items[number] = nil
    machine.forgetItem(number, now: now)
    drain()
  }

  mutating func answer(_ number: Int64) {
    answered.insert(number)
    machine.handleAnswered(number, now: now)
    drain()
  }

  /// The user dismisses a summary.
  mutating func dismiss(_ number: Int64) {
    outbox[number] = nil
    machine.handleGone(number, now: now)
    drain()
  }

  /// It leaves, and nobody reports it.
  mutating func lose(_ number: Int64) { outbox[number] = nil }

  mutating func pass(milliseconds: Int64) {
    now = now.adding(milliseconds: milliseconds)
    machine.handleTimeout(now: now)
    drain()
  }

  /// Records reach the disk, and what follows them the queue to the outbox.
  mutating func flush() {
    for action in records {
      switch action {
      case .record(.summary(let summary)): disk[summary.group] = summary
      case .record(.forget(let group)): disk[group] = nil
      case .submit(let operation, let group): submissions.append((operation, group))
      }
    }
    records = []
  }

  /// The outbox takes the oldest change.
  mutating func commit() {
    guard !submissions.isEmpty else { return }
    let (operation, group) = submissions.removeFirst()
    results.append((group, isOutboxUp ? apply(operation) : .failed))
  }

  /// The machine gets the oldest result.
  mutating func deliver() {
    guard !results.isEmpty else { return }
    let (group, result) = results.removeFirst()
    machine.complete(group, result, now: now)
    drain()
  }

  mutating func crash() {
    (submissions, results, records) = ([], [], [])
    // A restart takes its time.
    now = now.adding(milliseconds: 1000)
    let contents = items.map { number, member in
      IntakeContents.Item(number: number, topic: "t", target: nil, member: member)
    }
    machine = SummaryMachine(summaries: Array(disk.values), items: contents, answered: answered, now: now)
    drain()
  }

  /// Everything that is due.
  mutating func settle() {
    while !records.isEmpty || !submissions.isEmpty || !results.isEmpty {
      flush()
      commit()
      deliver()
    }
  }

  var texts: [String] { outbox.sorted { $0.key < $1.key }.map(\.value) }

  private mutating func apply(_ operation: IntakeMachine.Operation) -> IntakeMachine.Result {
    switch operation {
    case .add(let notification, let key):
      if let key, let number = keys[key] { return .done(number) }
      lastNumber += 1
      (outbox[lastNumber], notifications[lastNumber]) = (notification.text, notification)
      if let key { keys[key] = lastNumber }
      return .done(lastNumber)
    case .update(let number, let notification, _):
      guard outbox[number] != nil else { return .unknownNumber }
      (outbox[number], notifications[number]) = (notification.text, notification)
      return .done(number)
    case .remove(let number):
      return outbox.removeValue(forKey: number) == nil ? .unknownNumber : .done(number)
    }
  }

  private mutating func drain() {
    while let action = machine.nextAction() { records.append(action) }
  }
}
