import GatewayRules
import NotibotProtocol
import Testing

/// Answers that need a second press.
struct ConfirmingTests {
  typealias World = DecisionWorld

  static let prompt = "Press Approve again to confirm"

  static func question(_ push: String = "p1", both: Bool = false) -> Question {
    var question = World.question(push)
    question.answers[0].prompt = prompt
    if both { question.answers[1].prompt = "Press Deny again to confirm" }
    var details = NotificationDetails()
    (details.level, details.expires) = (.timeSensitive, 1_700_009_000)
    return question.keeping(
      DisplayNotification(
        app: "A", title: "T", text: "npm test", timestamp: 1_700_000_000, details: details))
  }

  static func item(_ push: String = "p1") -> IntakeContents.Item {
    IntakeContents.Item(number: 1, topic: "t", target: World.target, question: question(push))
  }

  static func asking(both: Bool = false) -> World {
    var world = World()
    world.machine.setItem(1, question: question(both: both), target: World.target, now: world.now)
    world.drain()
    return world
  }

  /// Pressed once, a second ago; the display has the prompt.
  static func confirming(both: Bool = false) -> World {
    var world = asking(both: both)
    world.press(0)
    world.pass(milliseconds: 1000)
    return world
  }

  static func titles(_ world: World) -> [String] { world.shows.map(\.notification.title) }

  @Test func `the first press is recorded, and then asks for a second one`() throws {
    var world = Self.asking()
    #expect(world.press(0) == .confirming)
    #expect(world.records.map(\.state) == [.confirming])
    #expect(world.records[0].question?.shown == nil)
    #expect(world.calls.isEmpty)
    #expect(world.machine.undeliveredCount == 0)
    #expect(world.machine.decisions(after: -1, topics: nil).isEmpty)
    let show = try #require(world.shows.first)
    #expect(show.notification.title == Self.prompt && show.notification.text == "npm test")
    #expect(show.notification.details.level == .timeSensitive && show.notification.details.flags == 1)
    #expect(show.notification.details.expires == 1_700_009_000)
    #expect(show.notification.details.actions == ["Approve", "Deny"])
  }

  @Test func `the second press decides, and the first one leaves no record`() {
    var world = Self.confirming()
    #expect(world.press(0, revision: 1) == .decided)
    #expect(world.records.map(\.state) == [.pending])
    #expect(world.records[0].sequence == 1)
    #expect(world.calls.map { $0.decision.answer?.name } == ["APPROVE_ACTION"])
    #expect(Self.titles(world) == [Self.prompt, "T"])
    world.answer(200)
    world.pass(milliseconds: 60_000)
    #expect(world.shown.last == "1 Continuing… []")
  }

  @Test func `a bounce does not confirm, nor does a press of the text before the prompt`() {
    var world = Self.asking()
    world.press(0)
    world.now = world.now.adding(milliseconds: 999)
    #expect(world.press(0, revision: 1) == .tooSoon)
    world.now = world.now.adding(milliseconds: 5000)
    #expect(world.press(0, revision: 0) == .tooSoon)
    #expect(world.press(0, isStale: true, revision: 0) == .stale)
    #expect(world.calls.isEmpty)
    #expect(world.press(0, revision: 1) == .decided)
  }

  @Test func `a press does not confirm before the outbox has the prompt`() {
    var world = Self.asking()
    world.isOutboxUp = false
    world.press(0)
    world.pass(milliseconds: 1500)
    #expect(world.press(0, revision: 1) == .tooSoon)
    #expect(world.records.map(\.state) == [.confirming])
  }

  @Test func `a device that does not report revisions confirms after a second`() {
    var world = Self.asking()
    #expect(world.press(0, revision: nil) == .confirming)
    #expect(world.press(0, revision: nil) == .tooSoon)
    world.pass(milliseconds: 1000)
    #expect(world.press(0, revision: nil) == .decided)
  }

  @Test func `after the time the item gets its text back, and the next press is a first one`() {
    var world = Self.confirming()
    #expect(world.machine.nextDeadline == WallTime(seconds: 1_700_000_020))
    world.pass(milliseconds: 18_999)
    #expect(world.shows.count == 1)
    world.pass(milliseconds: 1)
    #expect(Self.titles(world) == [Self.prompt, "T"])
    #expect(world.shown.last == "1 npm test [\"Approve\", \"Deny\"]")
    #expect(world.records.isEmpty)
    #expect(world.machine.nextDeadline == nil)
    #expect(world.press(0, revision: 1) == .confirming)
    world.pass(milliseconds: 1000)
    #expect(world.press(0, revision: 3) == .decided)
  }

  @Test func `a second press at the end of the time comes too late, also before the timer`() {
    var world = Self.confirming()
    world.now = world.now.adding(milliseconds: 19_000)
    #expect(world.press(0, revision: 1) == .confirming)
    #expect(world.calls.isEmpty)
    #expect(Self.titles(world) == [Self.prompt, Self.prompt])
  }

  @Test func `an answer without confirmation decides at once, also in between`() {
    var world = Self.asking()
    world.press(0)
    #expect(world.press(1) == .decided)
    #expect(world.records.map(\.state) == [.pending])
    #expect(world.calls.map { $0.decision.answer?.name } == ["DENY_ACTION"])
    world.pass(milliseconds: 30_000)
    #expect(world.press(0, revision: 1) == .retried)
    #expect(world.calls.count == 1)
  }

  @Test func `another answer that needs confirmation asks anew`() {
    var world = Self.confirming(both: true)
    #expect(world.press(1, revision: 1) == .confirming)
    #expect(world.records.map(\.action) == [1])
    world.pass(milliseconds: 1000)
    #expect(world.press(0, revision: 2) == .confirming)
    world.pass(milliseconds: 1000)
    #expect(world.press(0, revision: 3) == .decided)
    #expect(world.calls.map { $0.decision.answer?.name } == ["APPROVE_ACTION"])
  }

  @Test func `a newer text of the item needs two presses of its own`() {
    var world = Self.confirming()
    world.machine.setItem(1, question: Self.question("p2"), target: World.target, now: world.now)
    world.drain()
    #expect(world.records.isEmpty)
    #expect(world.press(0, revision: 2) == .confirming)
    world.pass(milliseconds: 1000)
    #expect(world.press(0, revision: 3) == .decided)
    #expect(world.records.map { $0.question?.pushID } == ["p2"])
  }

  @Test func `an item that leaves takes its first press with it`() {
    var world = Self.confirming()
    world.machine.forgetItem(1)
    world.drain()
    #expect(world.records.isEmpty)
    world.pass(milliseconds: 30_000)
    #expect(world.shows.count == 1)
  }

  @Test func `the same press reported again is no second press`() {
    var world = Self.asking()
    world.press(0, press: 5)
    world.pass(milliseconds: 2000)
    #expect(world.press(0, press: 5) == .known)
    #expect(world.calls.isEmpty)
  }

  @Test func `after a restart the item asks again, and the second press decides`() {
    let before = Self.confirming()
    var world = World(decisions: before.records, items: [Self.item()])
    #expect(Self.titles(world) == [Self.prompt])
    world.now = before.now
    #expect(world.press(0, press: 1) == .known)
    #expect(world.press(0, press: 2, revision: 2) == .decided)
    #expect(world.calls.count == 1)
  }

  @Test func `after a restart beyond the time the item gets its text back`() {
    let before = Self.confirming()
    var world = World(
      decisions: before.records, items: [Self.item()], now: before.now.adding(milliseconds: 60_000))
    #expect(Self.titles(world) == ["T"])
    #expect(world.press(0, press: 2, revision: 1) == .confirming)
    // One whose item has left or has another text is forgotten.
    #expect(World(decisions: before.records).machine.confirmingCount == 0)
    let newer = World(decisions: before.records, items: [Self.item("p2")])
    #expect(newer.machine.confirmingCount == 0)
    #expect(newer.shows.isEmpty)
  }

  @Test func `a former text that the outbox does not take is written again`() {
    var world = Self.confirming()
    world.isOutboxUp = false
    world.pass(milliseconds: 19_000)
    #expect(Self.titles(world) == [Self.prompt, "T"])
    #expect(world.records.map(\.state) == [.confirming])
    world.isOutboxUp = true
    world.pass(milliseconds: 999)
    #expect(world.shows.count == 2)
    world.pass(milliseconds: 1)
    #expect(Self.titles(world) == [Self.prompt, "T", "T"])
    #expect(world.records.isEmpty)
  }

  @Test func `a former text waits while a newer one is on its way, and is not written over it`() {
    var world = Self.confirming()
    world.machine.beginChange(1)
    world.pass(milliseconds: 19_000)
    #expect(world.shows.count == 1)
    world.machine.endChange(1, now: world.now)
    world.pass(milliseconds: 1000)
    #expect(Self.titles(world) == [Self.prompt, "T"])
  }

  @Test func `what was decided to be shown is out of date once a newer text is on its way`() throws {
    var world = Self.confirming()
    let show = try #require(world.shows.first)
    #expect(world.machine.isCurrent(show))
    world.machine.beginChange(1)
    #expect(!world.machine.isCurrent(show))
    world.machine.endChange(1, now: world.now)
    #expect(!world.machine.isCurrent(show))
  }

  @Test func `a press of an item that is not known yet is a first press when it becomes known`() {
    var world = World()
    #expect(world.press(0) == .unclaimed)
    #expect(world.press(0) == .unclaimed)
    world.pass(milliseconds: 60_000)
    world.machine.setItem(1, question: Self.question(), target: World.target, now: world.now)
    world.drain()
    #expect(world.records.map(\.state) == [.confirming])
    #expect(Self.titles(world) == [Self.prompt])
    #expect(world.calls.isEmpty)
    world.pass(milliseconds: 1000)
    #expect(world.press(0, revision: 1) == .decided)
  }

  @Test func `a question with its text survives its line, a decision has no text`() {
    let question = Self.question()
    #expect(Question(line: question.line) == question)
    var world = Self.confirming()
    world.press(0, revision: 1)
    #expect(world.records[0].question?.line.contains("npm test") == false)
  }
}
