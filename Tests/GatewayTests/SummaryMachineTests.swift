import GatewayRules
import NotibotProtocol
import Testing

struct SummaryMachineTests {
  typealias World = SummaryWorld

  /// With three items of a group and their summary.
  static func three() -> World {
    var world = World()
    for number in 1...3 as ClosedRange<Int64> { world.set(number) }
    world.settle()
    return world
  }

  @Test func `the third item of a group brings a summary, silent and in the same group`() throws {
    var world = World()
    world.set(1)
    world.set(2)
    world.settle()
    #expect(world.texts.isEmpty)
    world.set(3)
    world.settle()
    #expect(world.texts == ["3 requests"])
    let shown = try #require(world.notifications[1001])
    #expect(shown.app == "A" && shown.details.group == "g1")
    #expect(shown.details.level == .passive && shown.details.flags == 1)
    #expect(world.machine.liveCount == 1)
  }

  @Test func `a group that is only read together has no summary`() {
    var world = World()
    for number in 1...4 as ClosedRange<Int64> { world.set(number, World.member(text: "")) }
    world.settle()
    #expect(world.texts.isEmpty)
    #expect(Self.three().machine.group(ofSummary: 1001)?.displayGroup == "g1")
    #expect(Self.three().machine.group(ofSummary: 1) == nil)
  }

  @Test func `the record of a summary is durable before it is added`() {
    var world = World()
    for number in 1...3 as ClosedRange<Int64> { world.set(number) }
    #expect(world.submissions.isEmpty)
    world.flush()
    #expect(world.disk.values.map(\.state) == [.begun])
    #expect(world.submissions.count == 1)
  }

  @Test func `a summary is updated in place, and leaves with the third item`() {
    var world = Self.three()
    world.set(4)
    world.settle()
    #expect(world.outbox == [1001: "4 requests"])
    world.forget(1)
    world.settle()
    #expect(world.outbox == [1001: "3 requests"])
    world.forget(4)
    world.settle()
    #expect(world.outbox.isEmpty)
    #expect(world.disk.isEmpty)
    world.set(5)
    world.settle()
    #expect(world.outbox == [1002: "3 requests"])
  }

  @Test func `many changes while one is on its way are one more`() {
    var world = World()
    for number in 1...40 as ClosedRange<Int64> { world.set(number) }
    world.flush()
    #expect(world.submissions.count == 1)
    world.commit()
    world.deliver()
    world.flush()
    #expect(world.submissions.count == 1)
    world.settle()
    #expect(world.texts == ["40 requests"])
  }

  @Test func `groups have summaries of their own, and an item can change its group`() {
    var world = Self.three()
    for number in 4...6 as ClosedRange<Int64> {
      world.set(number, World.member(2, text: "{count} of B, {count}"))
    }
    world.settle()
    #expect(world.texts == ["3 requests", "3 of B, 3"])
    world.set(3, World.member(2, text: "{count} of B"))
    world.set(7, nil)
    world.settle()
    #expect(world.texts == ["4 of B, 4"])
  }

  @Test func `an answered item does not count, its newer text does`() {
    var world = Self.three()
    world.answer(2)
    world.settle()
    #expect(world.texts.isEmpty)
    world.set(2)
    world.settle()
    #expect(world.texts == ["3 requests"])
    world.answer(2)
    world.crash()
    world.settle()
    #expect(world.texts.isEmpty)
  }

  @Test func `a dismissed summary stays away until the group was small, also after a restart`() {
    var world = Self.three()
    world.dismiss(1001)
    world.set(4)
    world.settle()
    world.crash()
    world.set(5)
    world.settle()
    #expect(world.texts.isEmpty)
    for number in 3...5 as ClosedRange<Int64> { world.forget(number) }
    world.settle()
    #expect(world.disk.isEmpty)
    world.set(6)
    world.settle()
    #expect(world.texts == ["3 requests"])
  }

  @Test func `a summary that left unnoticed counts as dismissed`() {
    var world = Self.three()
    world.lose(1001)
    world.set(4)
    world.settle()
    #expect(world.texts.isEmpty)
    #expect(world.disk.values.map(\.state) == [.dismissed])
  }

  @Test func `what the outbox does not take is tried again a second later`() {
    var world = World()
    world.isOutboxUp = false
    for number in 1...3 as ClosedRange<Int64> { world.set(number) }
    world.settle()
    #expect(world.machine.nextDeadline == world.now.adding(milliseconds: 1000))
    world.isOutboxUp = true
    world.pass(milliseconds: 999)
    world.settle()
    #expect(world.texts.isEmpty)
    world.pass(milliseconds: 1)
    world.settle()
    #expect(world.texts == ["3 requests"])
    #expect(world.machine.nextDeadline == nil)
  }

  @Test func `after a crash between commit and record there is one summary`() {
    var world = World()
    for number in 1...3 as ClosedRange<Int64> { world.set(number) }
    world.flush()
    world.commit()
    world.set(4)
    world.crash()
    world.settle()
    #expect(world.outbox == [1001: "4 requests"])
  }

  @Test func `after a crash between the commit of an update and its result the number is right`() {
    var world = Self.three()
    world.set(4)
    world.flush()
    world.commit()
    world.forget(4)
    world.crash()
    #expect(world.texts == ["4 requests"])
    world.settle()
    #expect(world.outbox == [1001: "3 requests"])
  }

  @Test func `one that began before a crash, of a group that became small, is removed`() {
    var world = World()
    for number in 1...3 as ClosedRange<Int64> { world.set(number) }
    world.flush()
    world.commit()
    world.forget(1)
    world.crash()
    world.settle()
    #expect(world.outbox.isEmpty && world.disk.isEmpty)
  }

  @Test(arguments: 1...60 as ClosedRange<UInt64>)
  func `despite crashes each group of three has one summary with its number`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var world = World()
    for _ in 0..<400 {
      world.now = world.now.adding(milliseconds: Int64.random(in: 0...3, using: &random))
      let number = Int64.random(in: 1...12, using: &random)
      switch Int.random(in: 0..<24, using: &random) {
      case 0..<5: world.set(number, World.member(UInt8(number % 2)))
      case 5..<8: world.forget(number)
      case 8: if world.items[number] != nil { world.answer(number) }
      case 9..<14: world.flush()
      case 14..<18: world.commit()
      case 18..<22: world.deliver()
      case 22:
        world.isOutboxUp.toggle()
        world.pass(milliseconds: 1)
      case _: world.crash()
      }
      let most = Dictionary(grouping: world.notifications.filter { world.outbox[$0.key] != nil }.values) {
        $0.details.group
      }
      #expect(most.filter { !$0.key.isEmpty }.allSatisfy { $0.value.count == 1 }, "seed \(seed)")
    }
    world.isOutboxUp = true
    for _ in 0..<3 {
      world.settle()
      world.pass(milliseconds: 1000)
    }
    world.settle()
    var expected: [String] = []
    for group in 0...1 as ClosedRange<UInt8> {
      let count = world.items.count { $0.value.group[0] == group && !world.answered.contains($0.key) }
      if count >= 3 { expected.append("\(count) requests") }
    }
    #expect(world.texts.sorted() == expected.sorted(), "seed \(seed)")
  }

  @Test func `a member survives its line`() {
    let member = World.member(7, text: "{count} of \"x\"")
    #expect(GroupMember(line: member.line) == member)
    #expect(GroupMember(line: "{}") == nil)
    #expect(GroupMember(line: member.line.replacing("0707", with: "07xx")) == nil)
  }
}
