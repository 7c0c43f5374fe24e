import NotibotProtocol
import Testing

@testable import NotibotHost

/// When a delivery is reported, and when an outbox asks for the time of day.
struct OutboxDeliveryTests {
  @Test func `the time of day is due a minute after it was set, and each minute after that`() {
    var world = OutboxWorld()
    world.machine.setClock(seconds: 1000, now: world.now)
    var notification = OutboxWorld.notification("a")
    notification.details.expires = 10_000
    world.submit(.add(notification))
    for _ in 1...3 {
      #expect(world.machine.nextDeadline == world.now + .seconds(60))
      world.pass(.seconds(60))
    }
  }

  @Test func `a notification has expired from the second of its time on`() {
    var world = OutboxWorld()
    world.machine.setClock(seconds: 1000, now: world.now)
    let verdicts = [999, 1000, 1001].map { (expires: UInt32) in
      var notification = OutboxWorld.notification("a")
      notification.details.expires = expires
      return world.machine.isExpired(
        OutboxEntry(number: OutboxWorld.number(1), content: notification), at: world.now)
    }
    #expect(verdicts == [true, true, false])
  }

  @Test func `a refused notification with a new text is reported as delivered`() {
    var world = OutboxWorld.makeLive()
    world.display.nextError = .notANotification
    world.submit(.add(OutboxWorld.notification("a")))
    world.run()
    world.submit(.update(OutboxWorld.number(1), OutboxWorld.notification("b")))
    world.run()
    #expect(world.drainReports().last == .delivered(OutboxWorld.number(1)))
  }

  @Test func `a new text that found no room at first is reported as delivered later`() {
    var world = OutboxWorld.makeLive("a", "b", "c")
    world.disconnect()
    world.submit(.update(OutboxWorld.number(3), OutboxWorld.notification("new")))
    world.run()
    world.display.restart()
    world.display.capacity = 2
    world.connect()
    world.run()
    #expect(!world.drainReports().contains(.delivered(OutboxWorld.number(3))))
    world.dismiss(1)
    world.run()
    #expect(world.drainReports().contains(.delivered(OutboxWorld.number(3))))
  }

  @Test func `a refused notification counts as not delivered, also one that was delivered before`() {
    var world = OutboxWorld.makeLive("a")
    world.disconnect()
    world.display.restart()
    world.display.nextError = .notANotification
    world.connect()
    world.run()
    #expect(world.machine.entry(OutboxWorld.number(1))?.state == .refused(.notANotification))
    #expect(world.machine.entry(OutboxWorld.number(1))?.isReported == false)
  }

  @Test func `a new text that a full device refuses is sent when there is room`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.display.nextError = .insufficientResources
    world.submit(.update(OutboxWorld.number(1), OutboxWorld.notification("new")))
    world.run()
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b"])
    #expect(!world.drainReports().contains(.refused(OutboxWorld.number(1), .insufficientResources)))
    world.dismiss(2)
    world.run()
    #expect(world.display.shown.map(\.text) == ["new"])
  }

  // MARK: Removed to be sent under another id

  /// A journal in which the first notification is to be removed, and then sent under another id.
  private static func makeMoving() -> OutboxWorld {
    var header = JournalHeader(source: OutboxWorld.source)
    header.lastNumber = OutboxWorld.number(1)
    header.lastID = 1
    let entry = OutboxEntry(
      number: OutboxWorld.number(1), content: OutboxWorld.notification("a"), state: .removing(id: 1),
      hasNewerContent: true, isReported: true)
    return OutboxWorld(journal: JournalContents(header: header, entries: [entry]))
  }

  @Test func `one that is changed before it is sent is announced, and reported as delivered`() {
    var world = Self.makeMoving()
    world.submit(.update(OutboxWorld.number(1), OutboxWorld.notification("b")))
    world.connect()
    world.run()
    #expect(world.display.shown.map(\.text) == ["b"])
    #expect(world.drainReports().contains(.delivered(OutboxWorld.number(1))))
    #expect(world.drainWritten().last?.hasSuffix(#""id":2}"#) == true)
  }

  @Test func `one that is taken back before it is sent is only removed`() {
    var world = Self.makeMoving()
    world.submit(.remove(OutboxWorld.number(1)))
    world.connect()
    world.run()
    #expect(world.display.shown.isEmpty)
    #expect(world.drainReports().contains(.removed(OutboxWorld.number(1))))
    #expect(world.machine.entriesCount == 0)
  }
}
