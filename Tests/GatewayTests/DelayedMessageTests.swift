import GatewayRules
import NotibotProtocol
import Testing

@Suite struct DelayedMessageTests {
  static func push(
    _ text: String, _ id: String, sequence: String? = nil, after seconds: Int64? = nil, in world: IntakeWorld,
    messageID: String? = nil
  ) throws -> IntakePush {
    var fields = sequence.map { [("sid", $0)] } ?? []
    if let messageID { fields.append(("x-message-id", messageID)) }
    var request = try Script.request(
      "/t", fields + [("tags", "tada"), ("actions", "broadcast, A")], body: text)
    request.due = seconds.map { world.moment.wall.adding(milliseconds: $0 * 1000) }
    return request.push(id: id, now: world.moment.wall, callback: "c")
  }

  static func removal(_ sequence: String, _ id: String) throws -> IntakePush {
    try Script.request("/t/\(sequence)", method: "DELETE", body: "").push(id: id, now: Script.now)
  }

  @Test func `a delayed message is answered at once and shown when it is due`() throws {
    var world = IntakeWorld()
    #expect(world.send(try Self.push("later", "a", after: 30, in: world)) == .delayed)
    #expect(world.pending.isEmpty && world.contents.delayed.count == 1)
    world.pass(milliseconds: 29_999)
    #expect(world.pending.isEmpty)
    world.pass(milliseconds: 1)
    #expect(world.pending == ["+🎉 later"])
    #expect(world.contents.delayed.count == 1, "until the outbox has it")
    world.settle()
    #expect(world.contents.delayed.isEmpty && world.contents.items.first?.message?.id == "a")
    #expect(world.machine.nextDeadline == nil)
  }

  @Test func `its time is that of the calendar`() throws {
    var world = IntakeWorld()
    world.wallLeadMs = 5000
    _ = world.send(try Self.push("later", "a", after: 3600, in: world))
    world.wallLeadMs += 3_600_000
    world.wake()
    #expect(world.pending == ["+🎉 later"])
  }

  @Test func `a restart loses none and shows none twice`() throws {
    var world = IntakeWorld()
    let push = try Self.push("later", "a", sequence: "s", after: 30, in: world)
    _ = world.send(push)
    for isCommitted in [false, true] {
      var next = IntakeWorld(world.contents)
      next.pass(milliseconds: 30_000)
      guard case .add(let notification, let key) = try #require(next.submissions.first).operation else {
        Issue.record("\(next.pending)")
        return
      }
      #expect(key == push.key, "by which the outbox knows it")
      #expect(notification.timestamp == UInt32(world.now.seconds + 30))
      #expect(notification.details.actions == ["A"])
      if isCommitted { next.settle() }
      let after = IntakeWorld(IntakeWorld.contents(of: world.records + next.records))
      #expect((after.machine.nextDeadline == nil) == isCommitted)
    }
  }

  static let later: [(String, @Sendable (IntakeWorld) throws -> IntakePush, [String])] = [
    ("deleted", { _ in try removal("s", "b") }, []),
    (
      "replaced by another delayed one", { try push("new", "b", sequence: "s", after: 60, in: $0) },
      ["+🎉 new"]
    ),
    ("replaced by a text", { try push("new", "b", sequence: "s", in: $0) }, ["+🎉 new"]),
    ("another sequence", { _ in try removal("other", "b") }, ["+🎉 later"]),
  ]

  @Test(arguments: later.indices)
  func `what comes after it with the same name decides`(index: Int) throws {
    let (name, make, shown) = Self.later[index]
    var world = IntakeWorld()
    _ = world.send(try Self.push("later", "a", sequence: "s", after: 30, in: world))
    let push = try make(world)
    world.receive(push)
    var found = world.pending
    world.settle()
    world.pass(milliseconds: 60_000)
    found += world.pending
    #expect(found == shown, "\(name)")
    world.settle()
    #expect(world.contents.delayed.isEmpty)
  }

  @Test func `it is removed by its id, also when it is shown already`() throws {
    var world = IntakeWorld()
    _ = world.send(try Self.push("later", "abc", after: 30, in: world))
    world.pass(milliseconds: 30_000)
    world.receive(try Self.removal("abc", "b"))
    #expect(world.pending == ["+🎉 later"])
    world.complete(.done(1))
    #expect(world.pending == ["-1"])
    world.settle()
    #expect(world.contents.items.isEmpty && world.contents.delayed.isEmpty)
  }

  @Test func `a later text that finds no room does not lose the delayed one`() throws {
    var world = IntakeWorld()
    _ = world.send(try Self.push("later", "a", sequence: "s", after: 30, in: world))
    world.receive(try Self.push("new", "b", sequence: "s", in: world))
    world.complete(.failed)
    world.pass(milliseconds: 30_000)
    #expect(world.pending == ["+🎉 later"])
    world.complete(.failed)
    world.pass(milliseconds: 9999)
    #expect(world.pending.isEmpty && world.contents.delayed.count == 1)
    world.pass(milliseconds: 1)
    #expect(world.pending == ["+🎉 later"])
  }

  @Test func `a repeated request is one message`() throws {
    var world = IntakeWorld()
    let push = try Self.push("later", "a", after: 30, in: world, messageID: "m")
    #expect(world.send(push) == .delayed && world.send(push) == .duplicate)
  }

  @Test func `there is a limit, which is reported`() throws {
    var options = IntakeMachine.Options()
    options.delayedLimit = 1
    var world = IntakeWorld(options: options)
    #expect(world.send(try Self.push("1", "a", sequence: "s", after: 30, in: world)) == .delayed)
    #expect(world.send(try Self.push("2", "b", after: 30, in: world)) == .tooManyDelayed)
    #expect(world.send(try Self.push("3", "c", sequence: "s", after: 30, in: world)) == .delayed)
    #expect(world.machine.fullTables == ["too many delayed messages: 1"])
  }

  @Test func `the end of the gateway leaves it for the next start`() throws {
    var world = IntakeWorld()
    _ = world.send(try Self.push("later", "a", after: 30, in: world))
    var moment = world.moment
    moment.now = WallTime(milliseconds: .max / 2)
    world.machine.handleTimeout(at: moment)
    #expect(world.machine.nextAction() == nil && world.contents.delayed.count == 1)
  }

  @Test func `a removal of a name that is not known does not hide a later message`() throws {
    var world = IntakeWorld()
    #expect(world.send(try Self.removal("s", "a")) == .nothing)
    #expect(world.send(try Self.push("new", "b", sequence: "s", in: world)) == .shown)
  }

  @Test func `messages of a topic can be read`() throws {
    var world = IntakeWorld()
    _ = world.send(try Self.push("now", "a", sequence: "s", in: world))
    _ = world.send(try Self.push("newer", "b", sequence: "s", in: world))
    _ = world.send(try Self.push("later", "c", after: 30, in: world))
    let found = world.machine.messages(of: ["t", "u"])
    #expect(found.shown.map(\.message.id) == ["b"] && found.shown.map(\.number) == [1])
    #expect(found.delayed.map(\.message.id) == ["c"])
    #expect(world.machine.messages(of: ["u"]).shown.isEmpty)
    let shown = DisplayNotification(app: "t", title: "", text: "newer", timestamp: 7)
    #expect(
      found.shown.first?.message.content(topic: "t", shown).line
        == #"{"event":"message","expires":43207,"id":"b","message":"newer","sequence_id":"s","time":7,"topic":"t"}"#
    )
  }
}
