import GatewayRules
import NotibotProtocol
import Testing

/// Programs of this computer need no rights: what they send leaves room for senders.
struct BudgetTests {
  typealias World = IntakeWorld

  /// A message of a program of this computer.
  private static func message(_ number: Int, name: String? = nil) throws -> IntakePush {
    let request = try Script.request("/t\(number)", name.map { [("x-message-id", $0)] } ?? [], body: "m")
    return request.push(id: "m-\(number)", now: WallTime(seconds: 1_700_000_000))
  }

  private static func push(_ number: UInt8, token: [UInt8] = [1]) -> IntakePush {
    var push = World.push(number, .show(World.item("a")))
    push.token = token
    return push
  }

  @Test func `more topics or senders than there are rates refuse none`() throws {
    var options = IntakeMachine.Options()
    options.ratesLimit = 10
    var world = World(options: options)
    for number in 0..<25 { #expect(world.send(try Self.message(number)) == .shown) }
    for number in 0..<25 as Range<UInt8> {
      #expect(world.send(Self.push(number, token: [number])) == .shown)
    }
  }

  @Test func `messages leave a quarter of the outbox for senders, and the status reports both limits`() throws
  {
    var options = IntakeMachine.Options()
    options.itemsLimit = 8
    var world = World(options: options)
    let outcomes = try (1...7).map { world.send(try Self.message($0)) }
    #expect(outcomes == Array(repeating: .shown, count: 6) + [.unavailable])
    #expect(world.machine.fullTables.count == 1)
    let replacement = try Script.request("/t1/m-1").push(id: "n", now: world.now)
    #expect(world.send(replacement) == .replaced, "it needs no room")
    let removal = try Script.request("/t1/m-1", method: "DELETE").push(id: "r", now: world.now)
    #expect(world.send(removal) == .removed)
    #expect(world.send(try Self.message(8)) == .shown, "the removal made room")
    #expect(world.send(Self.push(1)) == .shown)
    #expect(world.send(Self.push(2)) == .shown)
    #expect(world.machine.fullTables == ["the outbox is full: 8 notifications"])
  }

  @Test
  func `the keys of messages do not replace those of senders, and beyond their limit count for seconds`()
    throws
  {
    var options = IntakeMachine.Options()
    (options.keysLimit, options.localKeysLimit) = (10, 3)
    var world = World(options: options)
    #expect(world.send(Self.push(1)) == .shown)
    for number in 1...5 { #expect(world.send(try Self.message(number, name: "n\(number)")) == .shown) }
    #expect(world.machine.fullTables.count == 1)
    let keys = world.records.compactMap { record in
      if case .key(let key, _, _, let isOwn) = record, key.count > 32 { isOwn } else { nil }
    }
    #expect(keys == [true, true, true, false, false])
    #expect(world.send(Self.push(1)) == .duplicate)
    #expect(world.send(try Self.message(5, name: "n5")) == .duplicate)
    world.pass(milliseconds: 5000)
    #expect(world.send(try Self.message(5, name: "n5")) == .replaced)
  }

  @Test func `clears of messages leave the memory for those of senders`() throws {
    var options = IntakeMachine.Options()
    options.suppressedLimit = 4
    var world = World(options: options)
    for number in 1...9 {
      let request = try Script.request("/t/s\(number)", method: "DELETE", body: "")
      _ = world.send(request.push(id: "d-\(number)", now: world.now))
    }
    #expect(world.send(World.push(1, .clear(["a"], timestamp: nil))) == .nothing)
    #expect(world.send(World.push(2, .show(World.item("late", identifier: "a")))) == .clearedBefore)
  }

  @Test func `keys that no longer count make room`() throws {
    var options = IntakeMachine.Options()
    options.localKeysLimit = 2
    var world = World(options: options)
    for number in 1...2 { _ = world.send(try Self.message(number, name: "n\(number)")) }
    #expect(world.machine.fullTables.count == 1)
    world.pass(milliseconds: options.keepMs)
    _ = world.send(try Self.message(3, name: "n3"))
    #expect(world.machine.fullTables == [])
  }
}
