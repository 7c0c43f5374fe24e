import NotibotProtocol
import Testing

@testable import NotibotHost

/// Lost sessions, restarts of the device, crashes of the host, from a seed; exactly once at the
/// end, and never a notification twice. A failing seed becomes a named test.
struct OutboxRandomTests {
  struct Run {
    var world = OutboxWorld()
    var random: SeededGenerator
    /// The newest content that was reported queued, by number; texts are "number.version".
    var accepted: [OutboxNumber: String] = [:]
    /// Submissions without a report yet, by token.
    var pending: [UInt64: (number: OutboxNumber?, text: String?)] = [:]
    /// The possible contents after a crash: any of them is valid.
    var doubtful: [OutboxNumber: [String?]] = [:]
    var finished: [OutboxNumber: OutboxReport] = [:]
    var delivered: [OutboxNumber: [String]] = [:]
    var texts = 0
    var crashes = 0
    var violations: [String] = []

    init(seed: UInt64) {
      random = SeededGenerator(seed: seed)
      world.display.capacity = [3, 8, 64][number(below: 3)]
      world.display.evicts = number(below: 3) == 0
    }

    mutating func number(below limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    // MARK: Steps

    mutating func step() {
      switch number(below: 40) {
      case 0...3: add()
      case 4...5: change()
      case 6...12: world.writeJournal()
      case 13...20: world.carryToDevice()
      case 21...28: world.carryToHost()
      case 29: if !world.isConnected { world.connect() }
      case 30: if number(below: 3) == 0 { world.disconnect() }
      case 31: if number(below: 6) == 0 { restartDevice() }
      case 32: if number(below: 4) == 0 { crash() }
      case 33: dismiss(.dismissed)
      case 34: dismiss(.expired)
      case 35: world.pass(.milliseconds(number(below: 7000)))
      case 36: if number(below: 5) == 0 { world.display.nextError = .insufficientResources }
      case 37: if world.isConnected, number(below: 3) == 0 { world.toHost.append(.sync(.resync)) }
      case _: if !world.isConnected, number(below: 3) == 0 { world.connect() }
      }
      hear()
      check()
    }

    mutating func add() {
      texts += 1
      let level = NotificationDetails.Level.allCases[number(below: 4)]
      let text = "n\(texts).0"
      pending[world.submit(.add(OutboxWorld.notification(text, level: level)))] = (nil, text)
    }

    mutating func change() {
      let numbers = world.machine.entries.sorted.map(\.number)
      guard !numbers.isEmpty else { return }
      let number = numbers[number(below: numbers.count)]
      if self.number(below: 3) == 0 {
        pending[world.submit(.remove(number))] = (number, nil)
      } else {
        texts += 1
        let old = world.machine.entry(number)?.content.text ?? ""
        let text = "\(old.prefix { $0 != "." }).\(texts)"
        pending[world.submit(.update(number, OutboxWorld.notification(text)))] = (number, text)
      }
    }

    mutating func dismiss(_ reason: GoneReason) {
      let source = world.machine.header.source
      let ids = world.display.sources[source]?.items.keys.sorted() ?? []
      guard !ids.isEmpty else { return }
      world.dismiss(ids[number(below: ids.count)], reason, source: source)
    }

    mutating func restartDevice() {
      world.disconnect()
      world.display.restart()
    }

    mutating func crash() {
      crashes += 1
      // The commit in progress can have reached the disk.
      if let changes = world.commit, number(below: 2) == 0 { world.journal.apply(changes) }
      world.crash(seed: random.next())
      for (number, text) in pending.values {
        if let number { doubtful[number, default: [accepted[number]]].append(text) }
      }
      pending = [:]
      for entry in world.journal.entries {
        // Without its report the submitter does not know, and the journal decides.
        if let texts = doubtful[entry.number] {
          if accepted[entry.number] != nil, !texts.contains(entry.content.text) {
            violations.append("content \(entry.content.text)")
          }
        } else if let text = accepted[entry.number], text != entry.content.text {
          violations.append("accepted \(text), journal has \(entry.content.text)")
        }
        if finished[entry.number] == nil { accepted[entry.number] = entry.content.text }
      }
      doubtful = [:]
      // Entries that left the journal without a report have left, too.
      let numbers = Set(world.journal.entries.map(\.number))
      for number in accepted.keys where !numbers.contains(number) { finished[number] = .removed(number) }
    }

    // MARK: Checks

    mutating func hear() {
      for report in world.drainReports() {
        switch report {
        case .queued(let number, let token):
          guard let submission = pending.removeValue(forKey: token) else {
            violations.append("token \(token) twice")
            continue
          }
          if accepted[number] == nil || submission.text != nil { accepted[number] = submission.text }
        case .rejected(_, let token): pending[token] = nil
        case .delivered(let number):
          let text = accepted[number] ?? "?"
          delivered[number, default: []].append(text)
        case .gone(let number, _), .removed(let number), .refused(let number, _): finished[number] = report
        case .outcomeUnknown, .newSource, .diverged, .duplicate, .expired: violations.append("\(report)")
        case .action, .storeFull, .synced: break
        }
      }
    }

    /// Invariant: nothing is on the display twice; notifications reported as gone are not on it.
    mutating func check() {
      var seen: Set<Substring> = []
      for notification in world.display.shown {
        let name = notification.text.prefix { $0 != "." }
        if !seen.insert(name).inserted { violations.append("\(name) is shown twice") }
      }
      guard world.journal.entries.count <= 10_000, world.machine.session?.outgoing.count ?? 0 <= 64 else {
        violations.append("too much is queued")
        return
      }
    }

    /// Without faults: all deliverable notifications are delivered.
    mutating func finish() {
      world.display.nextError = nil
      world.display.capacity = 10_000
      world.disconnect()
      for _ in 0..<4 {
        world.connect()
        if !world.run() { violations.append("does not settle") }
        world.pass(.seconds(61))
        if !world.run() { violations.append("does not settle") }
        hear()
        check()
      }
      let held = world.machine.entries.sorted.filter {
        if case .held = $0.state { true } else { false }
      }
      let shown = Set(world.display.shown.map(\.text))
      if held.count != world.machine.entriesCount { violations.append("not all are held") }
      if shown != Set(held.map(\.content.text)) {
        violations.append("shown \(shown), held \(held.map(\.content.text))")
      }
      for (number, text) in accepted where finished[number] == nil {
        if !shown.contains(text) { violations.append("\(number.rawValue) \(text) is lost") }
      }
      for number in finished.keys where world.machine.entry(number) != nil {
        violations.append("\(number.rawValue) was finished and is there")
      }
      if !world.machine.isFinished { violations.append("not finished") }
      if world.journal.entries.count != held.count { violations.append("the journal has others") }
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `each notification is shown once, whatever is lost`(block: UInt64) async {
    for seed in block * 10..<(block + 1) * 10 {
      // Tests that wait for processes share these threads.
      await Task.yield()
      var run = Run(seed: seed)
      for _ in 0..<600 { run.step() }
      run.finish()
      #expect(run.violations == [], "seed \(seed)")
      if !run.violations.isEmpty { return }
    }
  }
}
