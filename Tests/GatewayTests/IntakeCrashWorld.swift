import GatewayRules
import NotibotProtocol

/// A gateway that crashes at any moment, with an outbox and a disk that do not, and senders that
/// repeat a push until it is answered.
struct IntakeCrashWorld {
  /// What a sender wants: an item, with a name or without.
  struct Wish {
    var text: String
    var identifier: String?
    var isAnswered = false
    /// The ticket of the attempt that is under way.
    var ticket: UInt64?
  }

  private(set) var wishes: [Wish]
  /// Notifications by number, as they are now.
  private(set) var outbox: [Int64: String] = [:]
  /// All texts that were ever added.
  private(set) var added: [String] = []
  private var keys: [[UInt8]: Int64] = [:]
  private var lastNumber: Int64 = 0
  private var machine: IntakeMachine
  private var disk: [IntakeRecord] = []
  private var lastTicket: UInt64 = 0
  private var moment = Moment(now: WallTime(seconds: 1_700_000_000), local: LocalTime(day: 1, minute: 0))

  // What a crash loses.
  private var submissions: [(operation: IntakeMachine.Operation, id: UInt64)] = []
  private var results: [(id: UInt64, result: IntakeMachine.Result)] = []
  private var records: [IntakeRecord] = []
  private var answers: [(ticket: UInt64, outcome: IntakeOutcome)] = []

  private static let options = {
    var options = IntakeMachine.Options()
    options.pushesPerMinute = 0
    return options
  }()

  init(wishes: [Wish]) {
    self.wishes = wishes
    machine = IntakeMachine(options: Self.options, IntakeContents())
  }

  var isDone: Bool {
    wishes.allSatisfy(\.isAnswered) && submissions.isEmpty && results.isEmpty && records.isEmpty
  }

  /// A random step.
  mutating func step(crashes: Bool, using random: inout SeededGenerator) {
    switch Int.random(in: 0..<(crashes ? 41 : 40), using: &random) {
    case 0..<12: send(using: &random)
    case 12..<22: commit()
    case 22..<32: deliver()
    case 32..<40: flush()
    case _: crash()
    }
  }

  /// A sender sends a push that is not answered.
  private mutating func send(using random: inout SeededGenerator) {
    let idle = wishes.indices.filter { !wishes[$0].isAnswered && wishes[$0].ticket == nil }
    guard let index = idle.randomElement(using: &random) else { return }
    lastTicket += 1
    wishes[index].ticket = lastTicket
    let item = IntakeWorld.item(wishes[index].text, identifier: wishes[index].identifier)
    machine.receive(
      IntakeWorld.push(UInt8(index), .show(item)), ticket: IntakeMachine.Ticket(lastTicket), at: moment)
    drain()
  }

  /// The outbox takes the oldest change; from then on it is durable.
  private mutating func commit() {
    guard !submissions.isEmpty else { return }
    let (operation, id) = submissions.removeFirst()
    results.append((id, apply(operation)))
  }

  private mutating func apply(_ operation: IntakeMachine.Operation) -> IntakeMachine.Result {
    switch operation {
    case .add(let notification, let key):
      if let key, let number = keys[key] { return .done(number) }
      lastNumber += 1
      outbox[lastNumber] = notification.text
      added.append(notification.text)
      if let key { keys[key] = lastNumber }
      return .done(lastNumber)
    case .update(let number, let notification, let key):
      if let key, let known = keys[key] { return .done(known) }
      guard outbox[number] != nil else { return .unknownNumber }
      outbox[number] = notification.text
      if let key { keys[key] = number }
      return .done(number)
    case .remove(let number):
      return outbox.removeValue(forKey: number) == nil ? .unknownNumber : .done(number)
    }
  }

  /// The intake gets the oldest result.
  private mutating func deliver() {
    guard !results.isEmpty else { return }
    let (id, result) = results.removeFirst()
    machine.complete(id, result, now: moment.now)
    drain()
  }

  /// All records reach the disk, and then the answers their senders.
  private mutating func flush() {
    disk += records
    records = []
    for (ticket, outcome) in answers {
      guard let index = wishes.firstIndex(where: { $0.ticket == ticket }) else { continue }
      wishes[index].ticket = nil
      wishes[index].isAnswered = outcome.reason == nil
    }
    answers = []
  }

  private mutating func crash() {
    (submissions, results, records, answers) = ([], [], [], [])
    for index in wishes.indices { wishes[index].ticket = nil }
    machine = IntakeMachine(options: Self.options, IntakeWorld.contents(of: disk))
  }

  private mutating func drain() {
    while let action = machine.nextAction() {
      switch action {
      case .submit(let operation, let id): submissions.append((operation, id))
      case .record(let record): records.append(record)
      case .answer(let ticket, let outcome, _): answers.append((ticket.rawValue, outcome))
      }
    }
  }
}
