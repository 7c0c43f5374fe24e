import GatewayRules
import NotibotProtocol
import Testing

@Suite struct IntakeMachineTests {
  typealias World = IntakeWorld

  static func show(_ text: String, _ identifier: String? = nil) -> PushMeaning {
    .show(World.item(text, identifier: identifier))
  }

  // MARK: Replacing

  @Test func `the same identifier is one item`() {
    var world = World()
    #expect(world.send(World.push(1, Self.show("a", "x"))) == .shown)
    let ticket = world.receive(World.push(2, Self.show("b", "x")))
    #expect(world.pending == ["=1 b"])
    world.settle()
    #expect(world.outcomes[ticket] == .replaced)
  }

  @Test func `an identifier survives a restart`() {
    var first = World()
    #expect(first.send(World.push(1, Self.show("a", "x"))) == .shown)
    var second = World(first.contents)
    second.receive(World.push(2, Self.show("b", "x")))
    #expect(second.pending == ["=1 b"])
  }

  @Test func `the same identifier of another topic is another item`() {
    var world = World()
    #expect(world.send(World.push(1, Self.show("a", "x"))) == .shown)
    #expect(world.send(World.push(2, Self.show("b", "x"), topic: "u")) == .shown)
  }

  @Test func `changes of an item are made one after the other`() {
    var world = World()
    world.receive(World.push(1, Self.show("a", "x")))
    world.receive(World.push(2, Self.show("b", "x")))
    world.receive(World.push(3, Self.show("c", "x")))
    #expect(world.pending == ["+a"])
    world.complete(.done(5))
    #expect(world.pending == ["=5 b"])
    world.complete(.done(5))
    #expect(world.pending == ["=5 c"])
    world.complete(.done(5))
    #expect(world.outcomes == [1: .shown, 2: .replaced, 3: .replaced])
  }

  @Test func `an item that left the display is shown as a new one`() {
    var world = World()
    #expect(world.send(World.push(1, Self.show("a", "x"))) == .shown)
    world.machine.handleGone(1)
    world.receive(World.push(2, Self.show("b", "x")))
    #expect(world.pending == ["+b"])
    world.settle()
    // The outbox knows it before the intake does.
    world.receive(World.push(3, Self.show("c", "x")))
    #expect(world.pending == ["=2 c"])
    world.complete(.unknownNumber)
    #expect(world.pending == ["+c"])
    world.settle()
    #expect(world.outcomes[3] == .shown)
    #expect(world.contents.items.map(\.number) == [3])
  }

  @Test func `an item that left before its addition was answered is not remembered`() {
    var world = World()
    let ticket = world.receive(World.push(1, Self.show("a", "x")))
    world.machine.handleGone(8)
    world.complete(.done(8))
    #expect(world.outcomes[ticket] == .shown)
    #expect(world.machine.itemsCount == 0 && world.contents.items.isEmpty)
    world.receive(World.push(2, Self.show("b", "x")))
    #expect(world.pending == ["+b"])
  }

  @Test func `after a failure the next change is made`() {
    var world = World()
    let first = world.receive(World.push(1, Self.show("a", "x")))
    let second = world.receive(World.push(2, Self.show("b", "x")))
    world.complete(.failed)
    #expect(world.outcomes[first] == .unavailable)
    #expect(world.pending == ["+b"])
    world.settle()
    #expect(world.outcomes[second] == .shown)
  }

  // MARK: Clearing

  static let clear = PushMeaning.clear(["x"], timestamp: nil)

  @Test func `a clear removes the item, also while its push is on its way`() {
    var world = World()
    world.receive(World.push(1, Self.show("a", "x")))
    let ticket = world.receive(World.push(2, Self.clear))
    #expect(world.pending == ["+a"])
    world.complete(.done(4))
    #expect(world.pending == ["-4"])
    world.complete(.done(4))
    #expect(world.outcomes[ticket] == .removed)
    #expect(world.contents.items.isEmpty)
  }

  @Test func `a clear before its push hides it for ten minutes, also after a restart`() {
    var first = World()
    #expect(first.send(World.push(1, Self.clear)) == .nothing)
    var second = World(first.contents)
    second.pass(milliseconds: 599_999)
    #expect(second.send(World.push(2, Self.show("a", "x"))) == .clearedBefore)
    second.pass(milliseconds: 1)
    #expect(second.send(World.push(3, Self.show("a", "x"))) == .shown)
  }

  @Test func `a clear of something unknown and a second clear have no effect`() {
    var world = World()
    #expect(world.send(World.push(1, Self.show("a", "x"))) == .shown)
    #expect(world.send(World.push(2, Self.clear)) == .removed)
    #expect(world.send(World.push(3, Self.clear)) == .nothing)
    #expect(world.send(World.push(4, .clear(["y", "z"], timestamp: nil))) == .nothing)
  }

  @Test func `a badge of 0 clears the items of its topic only`() {
    var world = World()
    #expect(world.send(World.push(1, Self.show("a"), badge: 2)) == .shown)
    #expect(world.send(World.push(2, Self.show("b", "x"), badge: 3)) == .shown)
    #expect(world.send(World.push(3, Self.show("c"), topic: "u", badge: 1)) == .shown)
    #expect(world.machine.badges == ["t": 3, "u": 1])
    let ticket = world.receive(World.push(4, .clearTopic, badge: 0))
    #expect(world.pending == ["-1", "-2"])
    world.settle()
    #expect(world.outcomes[ticket] == .removed)
    #expect(world.machine.badges == ["t": 0, "u": 1])
    #expect(world.contents.items.map(\.number) == [3])
    #expect(world.send(World.push(5, .clearTopic, badge: 0)) == .nothing)
  }

  // MARK: Live Activities

  static func state(_ text: String, _ timestamp: Int64, isStart: Bool = false) -> PushMeaning {
    .activity(World.item(text, identifier: "a"), timestamp: timestamp, isStart: isStart)
  }

  @Test func `an activity is written once a second, with its last state`() {
    var options = IntakeMachine.Options()
    options.pushesPerMinute = 0
    var world = World(options: options)
    var writes: [String] = []
    for step in 0..<100 {
      world.receive(World.push(UInt8(step), Self.state("s\(step)", Int64(step + 1))))
      writes += world.pending
      world.settle()
      world.pass(milliseconds: 100)
      writes += world.pending
      world.settle()
    }
    world.pass(milliseconds: 1000)
    writes += world.pending
    world.settle()
    #expect(writes.count <= 11)
    #expect(writes.first == "+s0" && writes.last == "=1 s99")
    #expect(world.outcomes.count == 100)
    #expect(world.outcomes.values.allSatisfy { [.shown, .replaced, .superseded].contains($0) })
  }

  @Test func `an older state is not shown, and nothing after the end`() {
    var world = World()
    #expect(world.send(World.push(1, Self.state("new", 10))) == .shown)
    #expect(world.send(World.push(2, Self.state("old", 9))) == .outdated)
    #expect(world.send(World.push(3, .clear(["a"], timestamp: 12))) == .removed)
    #expect(world.send(World.push(4, Self.state("late", 11))) == .outdated)
    world.pass(milliseconds: 1000)
    #expect(world.send(World.push(5, Self.state("next", 13))) == .shown)
  }

  @Test func `a state with the time of the newest one is newer, but not after the end`() {
    var world = World()
    #expect(world.send(World.push(1, Self.state("processing", 10))) == .shown)
    world.pass(milliseconds: 1000)
    #expect(world.send(World.push(2, Self.state("done", 10))) == .replaced)
    #expect(world.send(World.push(3, .clear(["a"], timestamp: 10))) == .removed)
    #expect(world.send(World.push(4, Self.state("late", 10))) == .outdated)
    #expect(world.send(World.push(5, Self.state("late start", 9, isStart: true))) == .outdated)
    world.pass(milliseconds: 1000)
    #expect(world.send(World.push(6, Self.state("again", 10, isStart: true))) == .shown)
  }

  // MARK: Groups that are read together

  static func member(_ group: String, isReadTogether: Bool = true) -> GroupMember {
    GroupMember(group: [1], app: "A", displayGroup: group, text: "", isReadTogether: isReadTogether)
  }

  /// Four items of topic `t`: 1 and 2 in group `g`, 3 in `h`, and 4 in `g` with a question.
  static func grouped(isReadTogether: Bool = true) -> World {
    var world = World()
    for (key, group) in [(1, "g"), (2, "g"), (3, "h"), (4, "g")] as [(UInt8, String)] {
      var item = World.item("\(key)")
      item.member = member(group, isReadTogether: isReadTogether)
      if key == 4 { item.question = DecisionWorld.question() }
      _ = world.send(World.push(key, .show(item), badge: Int(key)))
    }
    return world
  }

  @Test func `an item that is dismissed takes its group along, but no question`() {
    var world = Self.grouped()
    world.machine.receiveReading(of: 1, isGone: true)
    world.machine.handleGone(1)
    world.drain()
    #expect(world.pending == ["-2"])
    world.settle()
    #expect(world.contents.items.map(\.number).sorted() == [3, 4] && world.machine.badges == ["t": 4])
    // A press of an item that asks nothing reads it too.
    world.machine.receiveReading(of: 3, isGone: false)
    world.drain()
    #expect(world.pending == ["-3"])
  }

  @Test func `the badge is 0 when the last item of the topic was read`() {
    var world = World()
    var item = World.item("a")
    item.member = Self.member("g")
    _ = world.send(World.push(1, .show(item), badge: 3))
    world.machine.receiveReading(of: 7, isGone: true, summaryOf: Self.member("g"))
    world.drain()
    #expect(world.pending == ["-1"] && world.machine.badges == ["t": 0])
    var other = Self.grouped(isReadTogether: false)
    other.machine.receiveReading(of: 1, isGone: true)
    other.drain()
    #expect(other.pending.isEmpty && other.machine.badges == ["t": 4])
  }

  @Test func `each verdict that shows nothing is explained`() {
    let silent: Set<IntakeOutcome> = [.shown, .replaced, .removed, .nothing, .delayed]
    for outcome in IntakeOutcome.allCases {
      #expect((outcome.remark(isMessage: false) == nil) == silent.contains(outcome))
    }
    var options = IntakeMachine.Options()
    for (perMinute, seconds) in [(60, 1), (1, 60), (7, 9), (600, 1), (0, 1)] as [(Int64, Int)] {
      options.pushesPerMinute = perMinute
      #expect(options.paceSeconds == seconds)
    }
  }

  @Test func `the end of an activity drops a state that is held`() {
    var world = World()
    #expect(world.send(World.push(1, Self.state("s1", 1))) == .shown)
    let held = world.receive(World.push(2, Self.state("s2", 2)))
    #expect(world.outcomes[held] == nil && world.machine.nextDeadline == world.now.adding(milliseconds: 1000))
    #expect(world.send(World.push(3, .clear(["a"], timestamp: 3))) == .removed)
    #expect(world.outcomes[held] == .superseded)
    #expect(world.machine.nextDeadline == nil)
  }

  // MARK: Limits

  @Test func `a token gets a burst, then its rate`() {
    var options = IntakeMachine.Options()
    (options.pushesPerMinute, options.burst) = (60, 3)
    var world = World(options: options)
    func outcomes(_ keys: ClosedRange<Int>) -> [IntakeOutcome?] {
      keys.map { world.send(World.push(UInt8($0), Self.show("a"))) }
    }
    #expect(outcomes(1...5) == [.shown, .shown, .shown, .tooMany, .tooMany])
    var other = World.push(9, Self.show("b"))
    other.token = [2]
    #expect(world.send(other) == .shown)
    world.pass(milliseconds: 1000)
    #expect(outcomes(4...5) == [.shown, .tooMany])
  }

  @Test func `pushes that wait are limited`() {
    var options = IntakeMachine.Options()
    options.jobsLimit = 2
    var world = World(options: options)
    for key in 1...2 { world.receive(World.push(UInt8(key), Self.show("a"))) }
    let ticket = world.receive(World.push(3, Self.show("a")))
    #expect(world.outcomes[ticket] == .unavailable)
    world.settle()
    #expect(world.send(World.push(3, Self.show("a"))) == .shown)
  }

  @Test func `an item that needs a second press is on record as it is shown, without one it is not`() {
    var item = World.item("a", identifier: "n")
    item.question = ConfirmingTests.question()
    item.question?.shown = nil
    var world = World(rules: DisplayRules(quietHours: QuietHours(startMinute: 0, endMinute: 1440)))
    #expect(world.send(World.push(1, .show(item))) == .shown)
    #expect(world.contents.items.first?.question?.shown?.level == .passive)
    #expect(world.contents.items.first?.question?.shown?.text == "a")
    item.question?.answers[0].prompt = nil
    #expect(world.send(World.push(2, .show(item))) == .replaced)
    #expect(world.contents.items.first?.question?.pushID == "id-2")
    #expect(world.contents.items.first?.question?.shown == nil)
  }

  @Test func `the part in a summary is on record, and changes with the item`() {
    var item = World.item("a", identifier: "n")
    item.member = SummaryWorld.member(1)
    var world = World()
    #expect(world.send(World.push(1, .show(item))) == .shown)
    #expect(world.contents.items.map(\.member) == [SummaryWorld.member(1)])
    item.member = SummaryWorld.member(2)
    #expect(world.send(World.push(2, .show(item))) == .replaced)
    #expect(world.contents.items.map(\.member) == [SummaryWorld.member(2)])
  }

  @Test func `an unknown result is ignored`() {
    var world = World()
    world.machine.complete(99, .done(1), now: world.now)
    world.machine.handleGone(5)
    #expect(world.machine.nextAction() == nil)
  }
}
