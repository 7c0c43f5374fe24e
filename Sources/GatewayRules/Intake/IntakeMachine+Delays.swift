// Messages of scripts that are shown later. They are in the gateway's file from their answer until
// their item is in the outbox, or until a later request with the same name has made them obsolete.

/// Delayed messages by the item that they will be.
package struct Delays: Hashable, Sendable {
  private struct Waiting: Hashable {
    var push: IntakePush
    /// By the calendar; later after a failed attempt.
    var due: WallTime
    /// The request whose success makes it obsolete: its own delivery, a newer text, a removal.
    var ticket: IntakeMachine.Ticket?
  }

  /// The time until the next attempt when the outbox has no room.
  private static let retryMs: Int64 = 10_000

  private var waiting: [[UInt8]: Waiting] = [:]
  private var targets: [IntakeMachine.Ticket: [[UInt8]]] = [:]

  init() {}

  /// `lines`: as the gateway's file has them.
  init(_ lines: [[UInt8]: String]) {
    for (target, line) in lines {
      guard let push = PublishRequest.delayedPush(line: line), let delay = push.delay else { continue }
      waiting[target] = Waiting(push: push, due: delay.due)
    }
  }

  package var count: Int { waiting.count }

  /// When the next one is due, by the calendar.
  var nextDue: WallTime? { waiting.values.lazy.filter { $0.ticket == nil }.map(\.due).min() }

  /// The messages that wait for their time.
  var pushes: [IntakePush] { waiting.values.map(\.push) }

  func has(_ target: [UInt8]) -> Bool { waiting[target] != nil }

  mutating func insert(_ push: IntakePush, _ target: [UInt8], due: WallTime) {
    waiting[target] = Waiting(push: push, due: due)
  }

  /// The targets that are due.
  func due(at wall: WallTime) -> [(target: [UInt8], push: IntakePush)] {
    waiting.filter { $0.value.ticket == nil && $0.value.due <= wall }
      .sorted { ($0.value.due, $0.value.push.apnsID) < ($1.value.due, $1.value.push.apnsID) }
      .map { ($0.key, $0.value.push) }
  }

  /// Makes the messages of these targets obsolete if this request succeeds.
  mutating func settle(_ targets: [[UInt8]], by ticket: IntakeMachine.Ticket) {
    let known = targets.filter { waiting[$0] != nil }
    guard !known.isEmpty else { return }
    for target in known { waiting[target]?.ticket = ticket }
    self.targets[ticket] = known
  }

  /// Ends a request; returns the targets whose messages are obsolete. Those of a failed request
  /// wait again.
  mutating func end(_ ticket: IntakeMachine.Ticket, isTaken: Bool, _ wall: WallTime) -> [[UInt8]] {
    let ended = (targets.removeValue(forKey: ticket) ?? []).filter { waiting[$0]?.ticket == ticket }
    for target in ended {
      guard !isTaken, var message = waiting[target] else {
        waiting[target] = nil
        continue
      }
      (message.ticket, message.due) = (nil, max(message.due, wall.adding(milliseconds: Self.retryMs)))
      waiting[target] = message
    }
    return isTaken ? ended : []
  }
}

extension IntakeMachine {
  /// Keeps a message until it is due, in the place of one with the same name.
  mutating func hold(
    _ push: IntakePush, until delay: IntakePush.Delay, _ target: [UInt8], _ ticket: Ticket, _ moment: Moment
  ) {
    guard delays.has(target) || delays.count < options.delayedLimit else {
      return finish(ticket, .tooManyDelayed, moment.now)
    }
    delays.insert(push, target, due: delay.due)
    act(.record(.delayed(target: target, delay)))
    finish(ticket, .delayed, moment.now)
  }

  /// Shows the messages that are due. Their keys make the outbox take each once, despite a crash.
  mutating func releaseDelayed(at moment: Moment) {
    for (target, var push) in delays.due(at: moment.wall) {
      guard case .show(let item) = push.meaning else { continue }
      push.delay = nil
      lastOwnTicket -= 1
      let ticket = Ticket(lastOwnTicket)
      jobs[ticket] = Job(push: push)
      delays.settle([target], by: ticket)
      show(item, ticket, push, moment)
    }
  }

  /// The live messages of topics, and those that wait for their time.
  package func messages(
    of topics: [String]
  ) -> (
    shown: [(number: Int64, topic: String, message: PublishedMessage)],
    delayed: [(message: PublishedMessage, item: DisplayItem)]
  ) {
    let topics = Set(topics)
    let shown = items.values.filter { topics.contains($0.topic) }.sorted { $0.number < $1.number }
      .compactMap { item in item.message.map { (item.number, item.topic, $0) } }
    let delayed = delays.pushes.compactMap { push -> (PublishedMessage, DisplayItem)? in
      guard topics.contains(push.topic), let message = push.message, case .show(let item) = push.meaning
      else {
        return nil
      }
      return (message, item)
    }
    return (shown, delayed)
  }
}
