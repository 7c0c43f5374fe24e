import GatewayRules
import NotibotProtocol
import Testing

@Suite struct DisplayRulesTests {
  typealias World = IntakeWorld

  static func push(_ key: UInt8, thread: String = "g", level: NotificationDetails.Level = .active)
    -> IntakePush
  {
    World.push(key, .show(World.item("a", thread: thread, level: level)))
  }

  @Test func `a muted topic and a muted group are not shown`() {
    var world = World(rules: DisplayRules(mutes: [Mute(topic: "t", thread: "g")]))
    #expect(world.send(Self.push(1)) == .muted)
    #expect(world.send(Self.push(2, thread: "h")) == .shown)
    world.machine.rules.mutes = [Mute(topic: "t")]
    #expect(world.send(Self.push(3, thread: "h")) == .muted)
    #expect(world.send(World.push(4, .show(World.item("a")), topic: "u")) == .shown)
    world.machine.rules.mutes = []
    #expect(world.send(Self.push(5)) == .shown)
    // It was taken: it does not come back later.
    #expect(world.send(Self.push(1)) == .duplicate)
  }

  @Test func `a mute ends at its time`() {
    var world = World()
    world.machine.rules.mutes = [Mute(topic: "t", until: world.now.adding(milliseconds: 1000))]
    world.pass(milliseconds: 999)
    #expect(world.send(Self.push(1)) == .muted)
    world.pass(milliseconds: 1)
    #expect(world.send(Self.push(2)) == .shown)
  }

  @Test func `once a day counts days of the display's place, by group`() {
    var world = World()
    func send(_ key: UInt8, thread: String = "g") -> IntakeOutcome? {
      world.send(World.push(key, .show(World.item("a", thread: thread)), oncePerDay: true))
    }
    world.local = LocalTime(day: 1, minute: 1439)
    #expect(send(1) == .shown)
    #expect(send(2) == .oncePerDay)
    #expect(send(3, thread: "h") == .shown)
    world.local = LocalTime(day: 2, minute: 0)
    #expect(send(4) == .shown)
    var restarted = World(world.contents)
    restarted.local = LocalTime(day: 2, minute: 5)
    let again = World.push(5, .show(World.item("a", thread: "g")), oncePerDay: true)
    #expect(restarted.send(again) == .oncePerDay)
  }

  @Test func `a push that failed does not count as that of the day`() {
    var world = World()
    let push = World.push(1, .show(World.item("a", thread: "g")), oncePerDay: true)
    world.receive(push)
    world.complete(.failed)
    #expect(world.send(push) == .shown)
  }

  @Test(arguments: [
    (1319, false), (1320, true), (1439, true), (0, true), (419, true), (420, false), (720, false),
  ])
  func `quiet hours span midnight`(minute: Int, isQuiet: Bool) {
    var world = World(rules: DisplayRules(quietHours: QuietHours(startMinute: 1320, endMinute: 420)))
    world.local = LocalTime(day: 1, minute: minute)
    world.receive(Self.push(1))
    guard case .add(let notification, _)? = world.submissions.first?.operation else {
      Issue.record("not shown")
      return
    }
    #expect(notification.details.flags == (isQuiet ? 1 : 0))
    #expect(notification.details.level == (isQuiet ? .passive : .active))
  }

  @Test func `time-sensitive ignores quiet hours`() {
    var world = World(rules: DisplayRules(quietHours: QuietHours(startMinute: 0, endMinute: 1439)))
    world.receive(Self.push(1, level: .timeSensitive))
    guard case .add(let notification, _)? = world.submissions.first?.operation else {
      Issue.record("not shown")
      return
    }
    #expect(notification.details.flags == 0 && notification.details.level == .timeSensitive)
  }

  @Test func `a push that has expired, or may not be stored, is dropped`() {
    var world = World()
    let past = world.now.seconds
    #expect(world.send(World.push(1, .show(World.item("a")), expiration: past)) == .expired)
    #expect(world.send(World.push(2, .show(World.item("a")), expiration: past + 1)) == .shown)
    let transient = PushMeaning.show(World.item("a", isTransient: true))
    #expect(world.send(World.push(3, transient, expiration: 0)) == .shown)
    world.isBoardUp = false
    #expect(world.send(World.push(4, transient, expiration: 0)) == .notStored)
  }

  @Test func `quiet hours are said of a push that they change`() {
    let rules = DisplayRules(quietHours: QuietHours(startMinute: 0, endMinute: 1440))
    let moment = IntakeWorld().moment
    #expect(
      rules.remark(on: IntakeWorld.push(1, IntakeMachineTests.show("a")), moment)?.words
        == "it is shown silently, as passive")
    let urgent = IntakeWorld.push(2, .show(IntakeWorld.item("b", level: .timeSensitive)))
    #expect(rules.remark(on: urgent, moment) == nil)
    #expect(DisplayRules().remark(on: IntakeWorld.push(1, IntakeMachineTests.show("a")), moment) == nil)
  }
}
