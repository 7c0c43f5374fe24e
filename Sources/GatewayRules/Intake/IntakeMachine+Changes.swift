import NotibotProtocol

// From the meaning of a push to changes of the outbox.
extension IntakeMachine {
  mutating func show(_ item: DisplayItem, _ ticket: Ticket, _ push: IntakePush, _ moment: Moment) {
    guard !item.isTransient || moment.isBoardUp else { return finish(ticket, .notStored, moment.now) }
    let verdict = rules.verdict(item, topic: push.topic, oncePerDay: push.oncePerDay, moment)
    guard case .show(let notification) = verdict else {
      return finish(ticket, verdict == .muted ? .muted : .oncePerDay, moment.now)
    }
    let key = item.identifier.map { push.target($0) }
    if let key, let until = suppressed[key], moment.now < until {
      return finish(ticket, .clearedBefore, moment.now)
    }
    if push.oncePerDay {
      let group = DisplayRules.group(push.topic, item.thread)
      jobs[ticket]?.shownBefore = ShownBefore(
        group: group, day: rules.recordShown(group, day: moment.local.day))
      act(.record(.shown(group: group, day: moment.local.day)))
    }
    guard let key else {
      jobs[ticket]?.open = 1
      return submit(
        .add(notification, key: push.ownKey), Flight(kind: .add(notification), tickets: [ticket]))
    }
    enqueue(Target.Work(kind: .show(notification), ticket: ticket), on: key, moment.now)
  }

  /// A state with the time of the newest one is newer: senders give whole seconds. After the end of
  /// an activity only another start is.
  mutating func show(
    _ item: DisplayItem, timestampMs: Int64, isStart: Bool, _ ticket: Ticket, _ push: IntakePush,
    _ moment: Moment
  ) {
    let verdict = rules.verdict(item, topic: push.topic, oncePerDay: false, moment)
    guard case .show(let notification) = verdict else { return finish(ticket, .muted, moment.now) }
    let key = push.target(item.identifier ?? "")
    var target = targets[key] ?? Target()
    guard target.activity.takes(timestampMs, isStart: isStart) else {
      return finish(ticket, .outdated, moment.now)
    }
    target.activity.timestampMs = timestampMs
    target.activity.isEnded = false
    let earlier = target.activity.held?.tickets ?? []
    guard earlier.count < Target.waitingLimit else { return finish(ticket, .unavailable, moment.now) }
    jobs[ticket]?.open = 1
    target.activity.held = Target.Activity.Held(notification: notification, tickets: earlier + [ticket])
    targets[key] = target
    holding.insert(key)
    if target.isDue(moment.now, options.activityIntervalMs) { releaseHeld(key, moment.now) }
  }

  /// Writes the held state of a Live Activity.
  mutating func releaseHeld(_ key: [UInt8], _ now: WallTime) {
    guard var target = targets[key], let held = target.activity.held, !target.isChanging,
      let ticket = held.tickets.last, let push = jobs[ticket]?.push
    else { return }
    holding.remove(key)
    target.activity.held = nil
    target.activity.lastWrite = now
    target.isChanging = true
    targets[key] = target
    change(to: held.notification, target.number, key, held.tickets, push.ownKey)
  }

  mutating func clear(
    _ identifiers: [String], _ timestampMs: Int64?, _ ticket: Ticket, _ push: IntakePush, _ now: WallTime
  ) {
    jobs[ticket]?.open = identifiers.count
    for identifier in identifiers {
      let key = push.target(identifier)
      if let timestamp = timestampMs {
        var activity = targets[key]?.activity ?? Target.Activity()
        guard timestamp == 0 || timestamp >= activity.timestampMs else {
          part(ticket, .outdated, now)
          continue
        }
        (activity.timestampMs, activity.isEnded) = (timestamp, true)
        targets[key, default: Target()].activity = activity
        dropHeld(key, now)
      } else if targets[key] == nil, push.source == .sender {
        suppress(key, now)
      }
      enqueue(Target.Work(kind: .clear, ticket: ticket), on: key, now)
    }
  }

  mutating func clearTopic(_ ticket: Ticket, _ push: IntakePush, _ now: WallTime) {
    let numbers = items.values.filter { $0.topic == push.topic }.map(\.number).sorted()
    guard !numbers.isEmpty else { return finish(ticket, .nothing, now) }
    jobs[ticket]?.open = numbers.count
    for number in numbers { submit(.remove(number), Flight(kind: .remove(number), tickets: [ticket])) }
  }

  private mutating func suppress(_ key: [UInt8], _ now: WallTime) {
    if suppressed.count >= options.suppressedLimit { suppressed = suppressed.filter { now < $0.value } }
    if suppressed.count >= options.suppressedLimit {
      let middle = suppressed.values.sorted()[options.suppressedLimit / 2]
      suppressed = suppressed.filter { $0.value > middle }
    }
    let until = now.adding(milliseconds: options.suppressMs)
    suppressed[key] = until
    act(.record(.suppressed(key, until: wall(until))))
  }

  private mutating func dropHeld(_ key: [UInt8], _ now: WallTime) {
    let tickets = targets[key]?.activity.held?.tickets ?? []
    targets[key]?.activity.held = nil
    holding.remove(key)
    for ticket in tickets { finish(ticket, .superseded, now) }
  }

  // MARK: One change at a time

  private mutating func enqueue(_ work: Target.Work, on key: [UInt8], _ now: WallTime) {
    var target = targets[key] ?? Target()
    guard target.waiting.count < Target.waitingLimit else { return part(work.ticket, .unavailable, now) }
    if case .show = work.kind { jobs[work.ticket]?.open = 1 }
    target.waiting.append(work)
    targets[key] = target
    advance(key, now)
  }

  /// Begins the next change of a target, if none is in progress.
  private mutating func advance(_ key: [UInt8], _ now: WallTime) {
    while var target = targets[key], !target.isChanging, !target.waiting.isEmpty {
      let work = target.waiting.removeFirst()
      switch work.kind {
      case .show(let notification):
        guard let push = jobs[work.ticket]?.push else {
          targets[key] = target
          continue
        }
        target.isChanging = true
        targets[key] = target
        change(to: notification, target.number, key, [work.ticket], push.ownKey)
      case .clear:
        if let number = target.number {
          target.isChanging = true
          targets[key] = target
          submit(.remove(number), Flight(kind: .remove(number), target: key, tickets: [work.ticket]))
        } else {
          targets[key] = target
          part(work.ticket, .nothing, now)
        }
      }
    }
    if targets[key]?.isDue(now, options.activityIntervalMs) == true { releaseHeld(key, now) }
    tidy(key)
  }

  private mutating func change(
    to notification: DisplayNotification, _ number: Int64?, _ target: [UInt8], _ tickets: [Ticket],
    _ key: [UInt8]?
  ) {
    if let number {
      submit(
        .update(number, notification, key: key),
        Flight(kind: .update(number, notification), target: target, tickets: tickets))
    } else {
      submit(
        .add(notification, key: key),
        Flight(kind: .add(notification), target: target, tickets: tickets))
    }
  }

  // MARK: Results

  /// The result of a change.
  package mutating func complete(_ id: UInt64, _ result: Result, now: WallTime) {
    guard let flight = flights.removeValue(forKey: id) else { return }
    switch (flight.kind, result) {
    case (.add, .done(let number)):
      let topic = push(of: flight)?.topic ?? ""
      guard !hasLeft(number) else { return end(flight, .shown, now) }
      record(
        IntakeContents.Item(
          number: number, topic: topic, target: flight.target, question: question(of: flight),
          member: push(of: flight)?.member, message: push(of: flight)?.message))
      if let key = flight.target { targets[key]?.number = number }
      end(flight, .shown, now)
    case (.update(let number, _), .done(let known)) where known != number:
      // A crash came between the commit of this push and its record, and another push of the same
      // name was first afterwards: the item has two notifications. The one of this push goes, and
      // only then is the push answered.
      var removal = flight
      removal.kind = .removeSecond(known)
      submit(.remove(known), removal)
    case (.update(let number, _), .done):
      if var item = items[number] {
        let former = item
        (item.question, item.member) = (question(of: flight), push(of: flight)?.member)
        item.message = push(of: flight)?.message
        if item != former { record(item) }
      }
      end(flight, .replaced, now)
    case (.update(let number, let notification), .unknownNumber):
      // It left the display meanwhile: the new content is a new item.
      forget(number)
      if let key = flight.target, let push = push(of: flight) {
        change(to: notification, nil, key, flight.tickets, push.ownKey)
      } else {
        end(flight, .unavailable, now)
      }
    case (.remove(let number), .done), (.remove(let number), .unknownNumber):
      forget(number)
      end(flight, .removed, now)
    case (.removeSecond, .done), (.removeSecond, .unknownNumber): end(flight, .superseded, now)
    case (.add, .unknownNumber), (.removeSecond, .failed), (.add, .failed), (.update, .failed),
      (.remove, .failed):
      end(flight, .unavailable, now)
    }
  }

  private func question(of flight: Flight) -> Question? {
    guard let question = push(of: flight)?.question else { return nil }
    switch flight.kind {
    case .add(let notification), .update(_, let notification): return question.keeping(notification)
    case .remove, .removeSecond: return question
    }
  }

  private func push(of flight: Flight) -> IntakePush? {
    flight.tickets.last.flatMap { jobs[$0]?.push }
  }

  private mutating func record(_ item: IntakeContents.Item) {
    items[item.number] = item
    act(.record(.item(item)))
  }

  private mutating func end(_ flight: Flight, _ outcome: IntakeOutcome, _ now: WallTime) {
    let isTaken = outcome.reason == nil
    for ticket in flight.tickets.dropLast() { finish(ticket, isTaken ? .superseded : outcome, now) }
    if let ticket = flight.tickets.last { part(ticket, outcome, now) }
    guard let key = flight.target else { return }
    targets[key]?.isChanging = false
    advance(key, now)
  }

  /// One change of a push is done; the push is answered after its last one.
  private mutating func part(_ ticket: Ticket, _ outcome: IntakeOutcome, _ now: WallTime) {
    guard var job = jobs[ticket] else { return }
    job.open -= 1
    if job.outcome.reason == nil, outcome != .nothing { job.outcome = outcome }
    jobs[ticket] = job
    if job.open <= 0 { finish(ticket, job.outcome, now) }
  }
}
