import NIOCore
import NIOEmbedded
import SerialLink
import Synchronization
import Testing

/// The timer of a driver, in virtual time.
struct DriverTimerTests {
  private let loop = EmbeddedEventLoop()

  @Test(arguments: [Int64(5), 25])
  func `a timer that fires in time, or almost, lets the driver act at once`(milliseconds: Int64) {
    var timer = DriverTimer()
    timer.arm(for: loop.now + .milliseconds(5), on: loop) {}
    loop.advanceTime(by: .milliseconds(milliseconds))
    #expect(fires(&timer))
  }

  @Test(arguments: [Int64(21), 9000])
  func `after a late timer the loop reads before the driver acts`(milliseconds: Int64) {
    var timer = DriverTimer()
    let fired = Mutex(0)
    timer.arm(for: loop.now, on: loop) { fired.withLock { $0 += 1 } }
    loop.advanceTime(by: .milliseconds(milliseconds))
    #expect(fires(&timer) == false)
    loop.advanceTime(by: .milliseconds(24))
    #expect(fired.withLock(\.self) == 1)
    loop.advanceTime(by: .milliseconds(1))
    #expect(fired.withLock(\.self) == 2)
    #expect(fires(&timer))
  }

  @Test func `input that is read meanwhile does not skip the reading`() {
    var timer = DriverTimer()
    let fired = Mutex(0)
    timer.arm(for: loop.now, on: loop) { fired.withLock { $0 += 1 } }
    loop.advanceTime(by: .seconds(1))
    #expect(fires(&timer) == false)
    timer.arm(for: loop.now, on: loop) { fired.withLock { $0 += 100 } }
    loop.advanceTime(by: .milliseconds(25))
    #expect(fired.withLock(\.self) == 2)
  }

  @Test func `a process that is always late acts after a hundred readings`() {
    var timer = DriverTimer()
    timer.arm(for: loop.now, on: loop) {}
    var readings = 0
    repeat { loop.advanceTime(by: .milliseconds(50)) } while !timer.fires(on: loop) && count(&readings)
    #expect(readings == 100)
  }

  @Test func `a cancelled timer does not fire again`() {
    var timer = DriverTimer()
    let fired = Mutex(0)
    timer.arm(for: loop.now, on: loop) { fired.withLock { $0 += 1 } }
    loop.advanceTime(by: .seconds(1))
    #expect(fires(&timer) == false)
    timer.cancel()
    loop.advanceTime(by: .seconds(1))
    #expect(fired.withLock(\.self) == 1)
  }

  /// `#expect` cannot call what mutates.
  private func fires(_ timer: inout DriverTimer) -> Bool { timer.fires(on: loop) }

  private func count(_ readings: inout Int) -> Bool {
    readings += 1
    return readings < 1000
  }
}
