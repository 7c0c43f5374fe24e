import GatewayRules
import NotibotProtocol
import Testing

/// The calendar is set back and forth: what was measured in it stays as long as it was meant to be.
struct CalendarTests {
  private static let dayMs: Int64 = 86_400_000

  @Test func `what is shown and recorded has the time of the calendar, and lasts as long as ever`() throws {
    for leadMs in [-Self.dayMs, 0, Self.dayMs] {
      var world = DecisionWorld.asking()
      world.machine.wallLeadMs = leadMs
      let wall = world.now.adding(milliseconds: leadMs)
      world.press(0)
      let show = try #require(world.shows.last)
      #expect(show.notification.timestamp == UInt32(wall.seconds))
      #expect(show.notification.details.expires == UInt32(wall.seconds + 30))
      #expect(world.records.map(\.at) == [wall])
      world.answer(.noAnswer)
      #expect(world.machine.nextDeadline.map { $0 <= world.now.adding(milliseconds: 1200) } == true)
      world.pass(milliseconds: Self.dayMs - 1)
      #expect(world.records.map(\.state) == [.pending])
      world.calls = []
      world.pass(milliseconds: 1)
      #expect(world.records.map(\.state) == [.expired])
    }
  }

  @Test func `a decision of the future is tried for a day`() {
    var earlier = DecisionWorld.asking()
    earlier.machine.wallLeadMs = 10 * Self.dayMs
    earlier.press(0)
    var world = DecisionWorld(decisions: earlier.records, now: earlier.now)
    #expect(world.machine.nextDeadline.map { $0 <= world.now.adding(milliseconds: Self.dayMs) } == true)
    world.pass(milliseconds: Self.dayMs)
    #expect(world.records.map(\.state) == [.expired])
  }

  @Test func `a mute is not longer than it was meant to be`() {
    let wall = WallTime(seconds: 1_700_000_000)
    let mute = Mute(topic: "t", until: wall.adding(milliseconds: 600_000), since: wall)
    let now = WallTime(seconds: 1_600_000_000)
    func leftMs(_ setMs: Int64) -> Int64? {
      let until = mute.inMachineTime(now: now, wall: wall.adding(milliseconds: setMs)).until
      return until.map { $0.milliseconds - now.milliseconds }
    }
    #expect(leftMs(0) == 600_000)
    #expect(leftMs(1000) == 599_000)
    #expect(leftMs(-Self.dayMs) == 600_000)
    #expect(Mute(topic: "t").inMachineTime(now: now, wall: wall).until == nil)
  }

  @Test func `a push expires by the calendar, and its key is recorded with it`() {
    var world = IntakeWorld()
    world.wallLeadMs = Self.dayMs
    let wall = world.now.adding(milliseconds: Self.dayMs)
    #expect(world.send(IntakeWorld.push(1, Self.show, expiration: wall.seconds)) == .expired)
    #expect(world.send(IntakeWorld.push(2, Self.show, expiration: wall.seconds + 1)) == .shown)
    #expect(world.send(IntakeWorld.push(3, .clear(["a"], timestamp: nil))) == .nothing)
    for record in world.records {
      switch record {
      case .key(_, _, let at, _): #expect(at == wall)
      case .suppressed(_, let until): #expect(until == wall.adding(milliseconds: 600_000))
      case .item, .forgetItem, .forgetKey, .badge, .shown, .delayed, .forgetDelayed: break
      }
    }
  }

  private static let show = PushMeaning.show(IntakeWorld.item("a"))
}
