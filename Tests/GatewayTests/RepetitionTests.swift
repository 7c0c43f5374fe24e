import GatewayRules
import NotibotProtocol
import Testing

/// Each push once.
@Suite struct RepetitionTests {
  private typealias World = IntakeWorld

  private static func show(_ text: String, _ identifier: String? = nil) -> PushMeaning {
    IntakeMachineTests.show(text, identifier)
  }

  @Test func `a push is answered when the outbox has it`() {
    var world = World()
    let ticket = world.receive(World.push(1, Self.show("a")))
    #expect(world.pending == ["+a"] && world.outcomes[ticket] == nil)
    world.complete(.done(7))
    #expect(world.outcomes[ticket] == .shown)
    #expect(world.records.count == 2)
  }

  @Test(arguments: [1, 5_000, 3_600_000, 86_399_999] as [Int64])
  func `a repetition is answered with the first one's id and not shown`(milliseconds: Int64) {
    var world = World()
    #expect(world.send(World.push(1, Self.show("a"))) == .shown)
    world.machine.handleGone(1)
    world.pass(milliseconds: milliseconds)
    var again = World.push(1, Self.show("a"))
    again.apnsID = "other"
    let ticket = world.receive(again)
    #expect(world.outcomes[ticket] == .duplicate && world.ids[ticket] == "id-1")
    #expect(world.pending.isEmpty)
  }

  @Test func `an id of the sender is not kept, because a repetition has it`() {
    var world = World()
    var push = World.push(1, Self.show("a"))
    push.hasSendersID = true
    #expect(world.send(push) == .shown)
    #expect(world.records.contains(.key([1], apnsID: "", at: world.now, isOwn: true)))
    let ticket = world.receive(push)
    #expect(world.outcomes[ticket] == .duplicate && world.ids[ticket] == "id-1")
  }

  @Test func `a state that returns is shown again, its repetition is not`() {
    var world = World()
    func send(_ key: UInt8, _ meaning: PushMeaning) -> IntakeOutcome? {
      world.send(World.push(key, meaning, hasOwnKey: false))
    }
    #expect(send(1, Self.show("open", "door")) == .shown)
    #expect(send(1, Self.show("open", "door")) == .duplicate)
    #expect(send(2, Self.show("closed", "door")) == .replaced)
    #expect(send(1, Self.show("open", "door")) == .replaced)
    #expect(send(1, Self.show("open", "door")) == .duplicate)
    #expect(send(3, .clear(["door"], timestamp: nil)) == .removed)
    #expect(send(1, Self.show("open", "door")) == .shown)
    #expect(send(4, Self.show("plain")) == .shown && send(4, Self.show("plain")) == .duplicate)
    #expect(send(5, .clearTopic) == .removed && send(4, Self.show("plain")) == .shown)
    // While the first one is on its way.
    world.receive(World.push(6, Self.show("on", "lamp"), hasOwnKey: false))
    world.receive(World.push(7, Self.show("off", "lamp"), hasOwnKey: false))
    #expect(send(6, Self.show("on", "lamp")) == .replaced)
  }

  @Test func `a repetition after a restart is not shown`() {
    var first = World()
    #expect(first.send(World.push(1, Self.show("a"))) == .shown)
    var second = World(first.contents)
    second.now = first.now.adding(milliseconds: 1000)
    #expect(second.send(World.push(1, Self.show("a"))) == .duplicate)
  }

  @Test func `a repetition during the commit waits for its result`() {
    var world = World()
    let first = world.receive(World.push(1, Self.show("a")))
    let second = world.receive(World.push(1, Self.show("a")))
    #expect(world.pending == ["+a"] && world.outcomes.isEmpty)
    world.settle()
    #expect(world.outcomes[first] == .shown && world.outcomes[second] == .duplicate)
  }

  @Test func `a push that failed can be sent again`() {
    var world = World()
    let first = world.receive(World.push(1, Self.show("a")))
    let second = world.receive(World.push(1, Self.show("a")))
    world.complete(.failed)
    #expect(world.outcomes[first] == .unavailable && world.outcomes[second] == .unavailable)
    #expect(world.send(World.push(1, Self.show("a"))) == .shown)
  }

  @Test func `equal content without an id counts as one for 5 s`() {
    var world = World()
    let push = World.push(1, Self.show("a"), hasOwnKey: false)
    #expect(world.send(push) == .shown)
    world.pass(milliseconds: 4900)
    #expect(world.send(push) == .duplicate)
    world.pass(milliseconds: 200)
    #expect(world.send(push) == .shown)
  }

  @Test func `the oldest keys are forgotten beyond the limit`() {
    var options = IntakeMachine.Options()
    options.keysLimit = 2
    options.pushesPerMinute = 0
    var world = World(options: options)
    for key in 1...3 { #expect(world.send(World.push(UInt8(key), Self.show("a"))) == .shown) }
    #expect(world.contents.keys.map(\.bytes) == [[2], [3]])
    #expect(world.send(World.push(2, Self.show("a"))) == .duplicate)
    #expect(world.send(World.push(1, Self.show("a"))) == .shown)
  }
}
