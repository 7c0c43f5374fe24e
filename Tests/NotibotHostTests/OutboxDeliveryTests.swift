import NotibotProtocol
import Testing

@testable import NotibotHost

/// When a delivery is reported, and when an outbox asks for the time of day.
struct OutboxDeliveryTests {
  @Test func `the time of day is due a minute after it was set, and each minute after that`() {
    var world = OutboxWorld()
    world.machine.setClock(seconds: 1000, now: world.now)
    var note = OutboxWorld.note("a")
    note.details.expires = 10_000
    world.submit(.add(note))
    for _ in 1...3 {
      #expect(world.machine.nextDeadline == world.now + .seconds(60))
      world.pass(.seconds(60))
    }
  }

  @Test func `a refused notification with a new text is reported as delivered`() {
    var world = OutboxWorld.makeLive()
    world.display.nextError = .notANotification
    world.submit(.add(OutboxWorld.note("a")))
    world.run()
    world.submit(.update(OutboxWorld.number(1), OutboxWorld.note("b")))
    world.run()
    #expect(world.takeReports().last == .delivered(OutboxWorld.number(1)))
  }

  @Test func `a new text that found no room at first is reported as delivered later`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.submit(.update(OutboxWorld.number(3), OutboxWorld.note("new")))
    world.run()
    world.display.restart()
    world.display.capacity = 2
    world.connect()
    world.run()
    #expect(!world.takeReports().contains(.delivered(OutboxWorld.number(3))))
    world.dismiss(1)
    world.run()
    #expect(world.takeReports().contains(.delivered(OutboxWorld.number(3))))
  }
}
