import NotibotProtocol
import Testing

@testable import NotibotHost

/// When a notification that the device refused because its store is full is tried again. Source:
/// PROTOCOL.md NTF-25.
struct OutboxFullStoreTests {
  private static func number(_ number: Int64) -> OutboxNumber { OutboxWorld.number(number) }

  /// A world whose device holds "a", has no room for more, and has refused "b".
  private static func makeFull() -> OutboxWorld {
    var world = OutboxWorld.makeLive("a")
    world.display.capacity = 1
    world.submit(.add(OutboxWorld.notification("b")))
    world.run()
    #expect(world.drainReports().last == .storeFull)
    #expect(world.machine.entry(number(2))?.state == .queued)
    _ = world.drainWritten()
    return world
  }

  @Test(arguments: [Duration.zero, .milliseconds(1), .seconds(30)])
  func `it is tried again after 5 s, or when the timer fires`(late: Duration) {
    var world = Self.makeFull()
    #expect(world.machine.nextDeadline == world.now + .seconds(5))
    world.display.capacity = 2
    world.pass(.milliseconds(4999))
    world.run()
    #expect(world.drainWritten().isEmpty)
    world.pass(.milliseconds(1) + late)
    world.run()
    #expect(world.display.shown.map(\.text).sorted() == ["a", "b"])
  }

  @Test func `it is tried again when the device counts less, not when it counts the same or more`() {
    var world = Self.makeFull()
    var changes: [Bool] = []
    for count in [9, 9, 10, 9] as [UInt16] {
      world.machine.countChanged(count, now: world.now)
      world.drain()
      changes.append(world.machine.pace.retryAt == nil)
    }
    #expect(changes == [false, false, false, true])
  }

  @Test func `pauses double from 5 to 60 s while nothing is accepted`() {
    var world = Self.makeFull()
    var pauses: [Duration] = []
    for _ in 0..<6 {
      guard let deadline = world.machine.nextDeadline else { break }
      pauses.append(deadline - world.now)
      world.pass(deadline - world.now)
      world.run()
    }
    #expect(pauses == [5, 10, 20, 40, 60, 60].map { .seconds($0) })
  }

  @Test func `content that was replaced during the refused write is reported when it is delivered`() {
    var world = OutboxWorld.makeLive("a")
    world.display.capacity = 1
    world.submit(.add(OutboxWorld.notification("b")))
    world.writeJournal()
    world.submit(.update(Self.number(2), OutboxWorld.notification("c")))
    world.run()
    _ = world.drainWritten()
    world.dismiss(1)
    world.run()
    #expect(world.display.shown.map(\.text) == ["c"])
    #expect(world.drainReports().filter { $0 == .delivered(Self.number(2)) }.count == 1)
    #expect(world.drainWritten().last?.contains(#""ev":"m""#) == false)
  }

  @Test func `nothing is tried again after a stop`() {
    var world = Self.makeFull()
    world.machine.stop(now: world.now)
    world.drain()
    #expect(world.machine.nextDeadline == nil)
    world.pass(.seconds(60))
    world.run()
    #expect(world.drainWritten().isEmpty)
  }

  @Test func `while others are in flight, nothing is tried again`() {
    var world = OutboxWorld.makeLive("a")
    world.display.capacity = 1
    for text in ["b", "c", "d"] { world.submit(.add(OutboxWorld.notification(text))) }
    world.run()
    #expect(world.drainWritten().count == 3)
    #expect(world.machine.entriesCount == 4)
  }

  @Test func `the window grows from 1 with each accepted write, up to 64, then it is open`() {
    var pace = OutboxPace()
    _ = pace.handleRefused(level: .active, now: .zero)
    _ = pace.tryAgain()
    var windows: [Int] = []
    for _ in 0..<7 {
      windows.append(pace.window(for: .active))
      #expect(pace.state != .open)
      pace.handleAccepted()
    }
    #expect(windows == [1, 2, 4, 8, 16, 32, 64])
    #expect(pace.state == .open)
  }

  @Test func `a notification whose change was refused is not announced again when the device has lost it`() {
    var world = OutboxWorld.makeLive("a", "b")
    world.display.nextError = .notANotification
    world.submit(.update(Self.number(2), OutboxWorld.notification("c")))
    world.run()
    #expect(world.drainReports().last == .refused(Self.number(2), .notANotification))
    world.disconnect()
    world.display.restart()
    world.display.capacity = 1
    world.connect()
    world.run()
    #expect(world.display.shown.map(\.text) == ["a"])
    _ = world.drainWritten()
    world.dismiss(1)
    world.run()
    #expect(world.drainWritten().last?.hasSuffix(#""ev":"m"}"#) == true)
  }
}
