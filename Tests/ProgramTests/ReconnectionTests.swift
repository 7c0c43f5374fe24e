import Testing

@testable import Commands

@Suite struct ReconnectionTests {
  private let start = ContinuousClock.now

  @Test func `a connection that lasted is made again soon, as often as it is lost`() {
    var machine = Reconnection(now: start)
    var now = start
    for _ in 0..<100 {
      now += .seconds(5)
      #expect(machine.lost(now: now) == .milliseconds(500))
      machine.connected(now: now)
    }
  }

  @Test func `pauses between attempts double, and after six failures it gives up`() {
    var machine = Reconnection(now: start)
    let loss = start + .seconds(5)
    let pauses = (0..<7).map { _ in machine.lost(now: loss) }
    #expect(
      pauses == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(8), nil])
    #expect(!machine.isUp)
  }

  @Test func `a connection that is lost at once counts as a failure`() {
    var machine = Reconnection(now: start)
    var losses = 0
    while machine.lost(now: start) != nil, losses < 100 {
      losses += 1
      machine.connected(now: start)
    }
    #expect(losses == Reconnection.attemptsLimit - 1)
  }

  @Test func `no attempt begins later than a minute after the loss`() {
    var machine = Reconnection(now: start)
    #expect(machine.lost(now: start + .seconds(10)) != nil)
    #expect(machine.lost(now: start + .seconds(68)) == .seconds(1))
    #expect(machine.lost(now: start + .seconds(69)) == nil)
  }
}
