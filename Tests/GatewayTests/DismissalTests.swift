import GatewayRules
import NotibotProtocol
import Testing

/// A dismissal as an answer.
@Suite struct DismissalTests {
  typealias World = DecisionWorld

  static func asking(dismissal: Answer? = Answer(dismissal: Answer.dismissActionName)) -> World {
    var world = World()
    var question = World.question()
    question.dismissal = dismissal
    world.machine.setItem(1, question: question, target: World.target, now: world.now)
    world.drain()
    return world
  }

  @discardableResult
  static func dismiss(_ world: inout World, _ number: Int64 = 1) -> PressVerdict {
    let verdict = world.machine.dismiss(number, now: world.now)
    world.drain()
    return verdict
  }

  @Test func `a dismissal is recorded and called back once, and nothing is shown`() throws {
    var world = Self.asking()
    #expect(Self.dismiss(&world) == .decided)
    #expect(Self.dismiss(&world) == .known)
    world.machine.forgetItem(1)
    world.drain()
    #expect(world.shown.isEmpty && world.calls.count == 1)
    let content = try #require(world.records.first?.content)
    #expect(content["action"]?.string == "com.apple.UNNotificationDismissActionIdentifier")
    #expect(content["approved"] == nil && content["fields"]?["requestId"]?.string == "r-1")
    world.answer(200)
    #expect(world.records.map(\.state) == [.done] && world.shown.isEmpty)
  }

  @Test func `after a crash the device reports it again, and it is known`() {
    var world = Self.asking()
    Self.dismiss(&world)
    var question = World.question()
    question.dismissal = Answer(dismissal: "dismiss")
    let item = IntakeContents.Item(number: 1, topic: "t", target: World.target, question: question)
    var restarted = World(decisions: world.records, items: [item], now: world.now)
    #expect(Self.dismiss(&restarted) == .known)
    #expect(restarted.records.count <= 1 && restarted.calls.count == 1)
  }

  @Test func `an item that is answered, asks nothing or does not report it has no dismissal`() {
    var answered = Self.asking()
    answered.press(1)
    #expect(Self.dismiss(&answered) == .meaningless)
    var silent = Self.asking(dismissal: nil)
    #expect(Self.dismiss(&silent) == .meaningless && Self.dismiss(&silent, 2) == .meaningless)
    var changing = Self.asking()
    changing.machine.beginChange(1)
    #expect(Self.dismiss(&changing) == .stale)
  }

  @Test func `what waits for a press is listed, the newest first`() {
    var world = Self.asking()
    world.machine.setItem(5, question: World.question("p5"), target: nil, now: world.now)
    world.machine.setItem(6, question: nil, target: nil, now: world.now)
    world.drain()
    #expect(world.machine.questions(limit: 9).map(\.number) == [5, 1])
    #expect(world.machine.questions(limit: 1).map(\.question.pushID) == ["p5"])
    world.press(0, number: 5)
    #expect(world.machine.questions(limit: 9).map(\.number) == [1])
  }
}
