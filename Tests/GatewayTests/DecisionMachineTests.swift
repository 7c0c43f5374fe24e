import GatewayRules
import NotibotProtocol
import Testing

struct DecisionMachineTests {
  typealias World = DecisionWorld

  @Test func `a press is recorded, shown and called back, in this order`() {
    var machine = World.asking().machine
    let press = Press(
      number: 1, action: 0, revision: 3, isStale: false, identity: Press.Identity(bootID: 9, press: 1))
    #expect(machine.press(press, now: WallTime(seconds: 1_700_000_000)) == .decided)
    var kinds: [String] = []
    while let action = machine.nextAction() {
      switch action {
      case .record(let decision):
        kinds.append("record")
        #expect(decision.state == .pending)
        #expect(decision.content["approved"]?.bool == true)
        #expect(decision.content["action"]?.string == "APPROVE_ACTION")
        #expect(decision.content["fields"]?["requestId"]?.string == "r-1")
        #expect(decision.content["push"]?.string == "p1")
        #expect(decision.content["rev"]?.whole == 3)
      case .show(let show):
        kinds.append("show")
        let notification = show.notification
        #expect(notification.text == "Continuing…")
        #expect(notification.title == "T")
        #expect(notification.details.level == .passive)
        #expect(notification.details.flags == 1)
        #expect(notification.details.expires == 1_700_000_030)
      case .call: kinds.append("call")
      case .announce(let decision):
        kinds.append("announce")
        #expect(decision.state == .pending && decision.number == 1)
      case .forget: kinds.append("forget")
      }
    }
    #expect(kinds == ["record", "show", "announce", "call"])
  }

  @Test func `a number that was never given out is of a lost record, and acknowledges nothing`() {
    var world = DecisionWorld.asking(callback: nil)
    world.press(1)
    #expect(world.machine.cursor(1) == 1 && world.machine.cursor(2) == 0 && world.machine.cursor(.max) == 0)
    var next = DecisionMachine(callbacks: [:], formerSequence: 50, now: world.now)
    next.setItem(1, question: DecisionWorld.question(callback: nil), target: nil, now: world.now)
    let press = Press(
      number: 1, action: 0, revision: 0, isStale: false, identity: Press.Identity(bootID: 9, press: 1))
    #expect(next.press(press, now: world.now) == .decided)
    #expect(next.decisions(after: 50, topics: nil).map(\.sequence) == [51])
  }

  @Test func `an accepted answer is done, and the display stays as it is`() {
    var world = World.asking()
    world.press(1)
    world.answer(200)
    #expect(world.records.map(\.state) == [.done])
    #expect(world.shown == ["1 Denied []"])
    #expect(world.calls.isEmpty)
    #expect(world.machine.nextDeadline == nil)
  }

  @Test func `a second press within 5 s is ignored, and so is another action later`() {
    var world = World.asking()
    #expect(world.press(0) == .decided)
    world.now = world.now.adding(milliseconds: 10)
    #expect(world.press(0) == .tooSoon)
    #expect(world.press(1) == .meaningless)
    world.pass(milliseconds: 4980)
    #expect(world.press(0) == .tooSoon)
    world.pass(milliseconds: 20)
    #expect(world.press(1) == .meaningless)
    #expect(world.press(0) == .retried)
    #expect(world.calls.count == 1)
    #expect(world.records.count == 1)
  }

  @Test func `5 s later a press of the queued item tries again at once`() {
    var world = World.asking()
    world.press(0)
    for _ in 1...5 {
      world.answer(503)
      world.pass(milliseconds: 20_000)
    }
    world.answer(.noAnswer)
    #expect(world.shown == ["1 Continuing… []", "1 Approval queued [\"Approve\"]"])
    #expect(world.calls.isEmpty)
    #expect(world.press(0) == .retried)
    #expect(world.calls.count == 1)
    world.answer(204)
    #expect(world.shown.last == "1 Continuing… []")
    #expect(world.records.map(\.state) == [.done])
  }

  @Test func `the same press again is known, also after a restart`() {
    var world = World.asking()
    #expect(world.press(0, press: 4) == .decided)
    #expect(world.press(0, press: 4) == .known)
    let item = IntakeContents.Item(number: 1, topic: "t", target: World.target, question: World.question())
    var later = World(decisions: world.records, items: [item])
    #expect(later.press(0, press: 4) == .known)
    #expect(later.press(1, press: 5) == .meaningless)
    #expect(later.calls.map(\.key) == world.calls.map(\.key))
    #expect(later.shown == ["1 Continuing… []"])
  }

  @Test func `after a restart a finished decision is shown again, and not sent`() {
    var world = World.asking()
    world.press(1)
    world.answer(200)
    let item = IntakeContents.Item(number: 1, topic: "t", target: World.target, question: World.question())
    let later = World(decisions: world.records, items: [item])
    #expect(later.shown == ["1 Denied []"])
    #expect(later.calls.isEmpty)
    #expect(later.records.isEmpty)
  }

  @Test func `a stale press, one during a change and one without a question decide nothing`() {
    var world = World.asking()
    #expect(world.press(0, isStale: true) == .stale)
    world.machine.beginChange(1)
    #expect(world.press(0) == .stale)
    world.machine.endChange(1, now: world.now)
    #expect(world.press(2) == .meaningless)
    world.machine.setItem(2, question: nil, target: nil, now: world.now)
    #expect(world.press(0, number: 2) == .meaningless)
    #expect(world.records.isEmpty)
    #expect(world.calls.isEmpty)
  }

  @Test func `a press of an item that is not known yet counts when it becomes known`() {
    var world = World()
    #expect(world.press(1, number: 3) == .unclaimed)
    #expect(world.records.map(\.state) == [.unclaimed])
    #expect(world.calls.isEmpty)
    world.machine.setItem(3, question: World.question(), target: World.target, now: world.now)
    world.drain()
    #expect(world.calls.map { $0.decision.answer?.name } == ["DENY_ACTION"])
    #expect(world.records.map(\.state) == [.pending])
    #expect(world.records[0].sequence == 2)
  }

  @Test func `an unclaimed press of an item that asks nothing is kept until a day is over`() {
    var world = World()
    world.press(0, number: 3)
    world.machine.setItem(3, question: nil, target: nil, now: world.now)
    world.pass(milliseconds: 86_400_000)
    #expect(world.records.isEmpty)
  }

  @Test func `a back-off doubles up to 5 minutes, with a spread of a fifth`() {
    var before: Int64 = 0
    for failures in 1...9 {
      let plain = min(Int64(1000) << Int64(failures - 1), 300_000)
      let delay = BackOff.delayMs(failures: failures, salt: "x")
      #expect((plain * 8 / 10...plain * 12 / 10).contains(delay))
      #expect(delay > before || failures == 9)
      before = delay
    }
    #expect(Set((0..<20).map { BackOff.delayMs(failures: 5, salt: "\($0)") }).count > 10)
    #expect(BackOff.delayMs(failures: .max, salt: "") <= 360_000)
  }

  @Test func `an answer that nobody takes for a day is given up`() {
    var world = World.asking()
    world.press(0)
    var attempts = 0
    let end = world.now.adding(milliseconds: 86_400_000)
    while let call = world.calls.first, world.now < end {
      #expect(call.key == world.records[0].id)
      attempts += 1
      world.answer(.noAnswer)
      guard let deadline = world.machine.nextDeadline else { break }
      world.pass(milliseconds: deadline.milliseconds - world.now.milliseconds)
    }
    #expect((270...400).contains(attempts))
    #expect(world.records.map(\.state) == [.expired])
    #expect(world.shown.last == "1 Not delivered within a day []")
    #expect(world.machine.nextDeadline == nil)
  }

  @Test func `each status has its consequence`() {
    let expected: [(Int, Decision.State, String)] = [
      (200, .done, "Continuing…"), (204, .done, "Continuing…"),
      (409, .late, "Too late: it is decided already"),
      (410, .late, "Too late: it is decided already"), (400, .failed, "Not accepted by the sender"),
      (404, .failed, "Not accepted by the sender"), (301, .pending, "Approval queued"),
      (307, .pending, "Approval queued"), (429, .pending, "Approval queued"),
      (500, .pending, "Approval queued"),
      (503, .pending, "Approval queued"),
    ]
    for (status, state, text) in expected {
      var world = World.asking()
      world.press(0)
      world.answer(status)
      #expect(world.records.map(\.state) == [state], "\(status)")
      #expect(world.shown.last?.contains(text) == true, "\(status)")
    }
  }

  @Test func `answers of one callback go out in their order, those of another do not wait`() {
    var world = World(callbacks: [
      "c": Callback(address: World.address), "d": Callback(address: World.address),
    ])
    for number in 1...3 as ClosedRange<Int64> {
      world.machine.setItem(
        number, question: World.question("p\(number)", callback: number == 3 ? "d" : "c"),
        target: [UInt8(number)],
        now: world.now)
      world.press(0, number: number)
    }
    #expect(world.calls.map(\.decision.number) == [1, 3])
    world.answer(503)
    world.answer(200)
    #expect(world.calls.isEmpty)
    world.pass(milliseconds: 1200)
    world.answer(200)
    #expect(world.calls.map(\.decision.number) == [2])
  }

  @Test func `a decision about a newer text replaces the undelivered one, and only that is sent`() {
    var world = World.asking()
    world.press(0)
    world.answer(503)
    world.machine.setItem(1, question: World.question("p2"), target: World.target, now: world.now)
    #expect(world.press(1) == .tooSoon)
    world.pass(milliseconds: 500)
    world.now = world.now.adding(milliseconds: 4500)
    #expect(world.press(1) == .decided)
    #expect(world.records.map(\.state) == [.superseded, .pending])
    world.pass(milliseconds: 1)
    #expect(world.calls.map { $0.decision.question?.pushID } == ["p2"])
  }

  @Test func `after an accepted answer the sender is asked to clear the other devices`() {
    var world = World(callbacks: ["c": Callback(address: World.address, clearAddress: World.address)])
    world.machine.setItem(1, question: World.question(), target: World.target, now: world.now)
    world.press(0)
    let key = world.calls[0].key
    world.answer(200)
    #expect(world.records.map(\.state) == [.clearing])
    #expect(world.calls.map(\.key) == [key + "-clear"])
    world.answer(503)
    world.pass(milliseconds: 1200)
    world.answer(404)
    #expect(world.records.map(\.state) == [.done])
    #expect(world.shown == ["1 Continuing… []"])
  }

  @Test func `without a callback the long poll takes the decision, and acknowledges it`() {
    var world = World.asking(callback: nil)
    world.press(1)
    #expect(world.shown == ["1 Denial queued []"])
    #expect(world.calls.isEmpty)
    #expect(world.machine.decisions(after: 0, topics: nil).map(\.sequence) == [1])
    #expect(world.machine.decisions(after: 0, topics: ["other"]).isEmpty)
    #expect(world.machine.decisions(after: 1, topics: ["t"]).isEmpty)
    world.machine.acknowledge(upTo: 1, topics: ["other"], now: world.now)
    #expect(world.machine.undeliveredCount == 1)
    world.machine.acknowledge(upTo: 1, topics: ["t"], now: world.now)
    world.drain()
    #expect(world.records.map(\.state) == [.done])
    #expect(world.shown.last == "1 Denied []")
  }

  @Test func `an item that has left is not written to`() {
    var world = World.asking()
    world.press(0)
    world.machine.forgetItem(1)
    world.answer(410)
    #expect(world.shown == ["1 Continuing… []"])
    #expect(world.records.map(\.state) == [.late])
  }

  @Test func `undelivered and finished decisions have limits`() {
    var options = DecisionMachine.Options()
    (options.openLimit, options.closedLimit) = (3, 2)
    var machine = DecisionMachine(
      options: options, callbacks: ["c": Callback(address: World.address)], now: WallTime(seconds: 0))
    var verdicts: [PressVerdict] = []
    for number in 1...4 as ClosedRange<Int64> {
      machine.setItem(
        number, question: World.question("p\(number)"), target: [UInt8(number)], now: WallTime(seconds: 0))
      verdicts.append(
        machine.press(
          Press(
            number: number, action: 0, revision: 0, isStale: false,
            identity: Press.Identity(bootID: 1, press: UInt32(number))),
          now: WallTime(seconds: 0)))
    }
    #expect(verdicts == [.decided, .decided, .decided, .full])
    var forgotten = 0
    for _ in 1...3 {
      var call: DecisionMachine.Call?
      while let action = machine.nextAction() {
        if case .call(let next) = action { call = next }
        if case .forget = action { forgotten += 1 }
      }
      if let call { machine.complete(call, .status(200, body: []), now: WallTime(seconds: 1)) }
    }
    while let action = machine.nextAction() { if case .forget = action { forgotten += 1 } }
    #expect(forgotten == 1)
    #expect(machine.undeliveredCount == 0)
  }

  @Test func `a question survives its line`() {
    let question = World.question()
    #expect(Question(line: question.line) == question)
    #expect(Question(line: "{}") == nil)
    #expect(Question(line: "x") == nil)
  }
}
