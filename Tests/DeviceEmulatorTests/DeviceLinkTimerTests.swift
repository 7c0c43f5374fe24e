import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct DeviceLinkTimerTests {
  @Test func `an unacknowledged frame is sent again after 250 ms`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(2)
    #expect(link.nextDeadline == .ms(250))
    #expect(link.frames(at: .ms(249)).isEmpty)
    #expect(link.frames(at: .ms(250)).sequences == [0, 1])
  }

  @Test func `the wait doubles up to 2 s while nothing is received`() {
    var timer = ResendTimer()
    let waits = (0..<5).map { _ in
      timer.backOff()
      return timer.wait
    }
    #expect(waits == [.milliseconds(500), .seconds(1), .seconds(2), .seconds(2), .seconds(2)])
  }

  @Test func `timeouts without input come after 250, 500, 1000 and 2000 ms`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(1)
    var moments: [Instant] = []
    for time in stride(from: Int64(10), through: 4000, by: 10)
    where link.frames(at: .ms(time)).types.contains(.data) { moments.append(.ms(time)) }
    #expect(moments == [.ms(250), .ms(750), .ms(1750), .ms(3750)])
  }

  @Test func `the wait stays the same while something is received`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(1)
    var moments: [Instant] = []
    for time in stride(from: Int64(10), through: 1000, by: 10) {
      link.receive(.host(.pong, payload: [0]), now: .ms(time))
      if link.frames(at: .ms(time)).types.contains(.data) { moments.append(.ms(time)) }
    }
    #expect(moments == [.ms(250), .ms(500), .ms(750), .ms(1000)])
  }

  @Test func `a sample sets the wait to srtt and four times its variation`() {
    var timer = ResendTimer()
    timer.sample(.milliseconds(60))
    timer.settle()
    // 60 + 4 × 30.
    #expect(timer.wait == .milliseconds(180))
    timer.sample(.milliseconds(60))
    timer.settle()
    // 60 + 4 × 22.5.
    #expect(timer.wait == .milliseconds(150))
  }

  @Test func `the measured wait is clamped to 100 to 500 ms`() {
    var fast = ResendTimer()
    fast.sample(.milliseconds(1))
    fast.settle()
    #expect(fast.wait == .milliseconds(100))
    var slow = ResendTimer()
    slow.sample(.seconds(3))
    slow.settle()
    #expect(slow.wait == .milliseconds(500))
  }

  @Test(arguments: [(80, 160, 290), (160, 80, 470)])
  func `a sample above or below srtt counts with its distance`(first: Int, second: Int, wait: Int) {
    var timer = ResendTimer()
    timer.sample(.milliseconds(first))
    timer.sample(.milliseconds(second))
    timer.settle()
    // 90 + 4 × (3 × 40 + 80) / 4, and 150 + 4 × (3 × 80 + 80) / 4.
    #expect(timer.wait == .milliseconds(wait))
  }

  @Test func `while nothing is unacknowledged no resend timer runs`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(1)
    link.receive(.host(.ack, ack: 1), now: .ms(10))
    #expect(link.nextDeadline == .ms(10) + DeviceLink.pingInterval)
  }

  @Test func `no sample is taken from a frame that was sent twice`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(1)
    _ = link.frames(at: .ms(250))
    link.receive(.host(.ack, ack: 1), now: .ms(251))
    _ = link.sendData(1)
    // A sample of 1 ms would give 100 ms.
    #expect(link.nextDeadline == .ms(501))
  }

  @Test func `the timer starts anew when ack advances`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(2)
    link.receive(.host(.ack, ack: 1), now: .ms(200))
    // The sample of 200 ms gives 200 + 4 × 100, clamped to 500.
    #expect(link.frames(at: .ms(699)).isEmpty)
    #expect(link.frames(at: .ms(700)).sequences == [1])
  }

  @Test func `the line time of the frames queued ahead is added`() {
    var link = DeviceLink.make(.open)
    link.lineBitsPerSecond = 9600
    for _ in 0..<2 { link.send([UInt8](repeating: 1, count: 488), on: .att) }
    _ = link.drainFrames()
    // Each is 500 bytes and 4 of framing: 525 ms at 9600 baud.
    #expect(link.nextDeadline == .ms(525 + 250))
  }

  @Test func `the line time of a retransmission is added`() {
    var link = DeviceLink.make(.open)
    link.lineBitsPerSecond = 9600
    link.send([UInt8](repeating: 1, count: 488), on: .att)
    _ = link.drainFrames()
    #expect(link.frames(at: .ms(775)).types == [.data])
    // It leaves from 775 to 1300 ms; then a wait of twice 250 ms begins.
    #expect(!link.frames(at: .ms(1799)).types.contains(.data))
    #expect(link.frames(at: .ms(1800)).types == [.data])
  }

  @Test func `the line time of the frames queued ahead is not part of the round trip`() {
    var link = DeviceLink.make(.open)
    link.lineBitsPerSecond = 9600
    for _ in 0..<2 { link.send([UInt8](repeating: 1, count: 488), on: .att) }
    _ = link.drainFrames()
    link.lineBitsPerSecond = nil
    link.receive(.host(.ack, ack: 2), now: .ms(1100))
    _ = link.sendData(1)
    // The second frame left at 1050 ms: 50 + 4 × 25.
    #expect(link.nextDeadline == .ms(1100 + 150))
  }

  @Test func `the timer runs on while the line does not accept the retransmission`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(1)
    link.handleTimeout(now: .ms(250))
    #expect(link.nextDeadline == .ms(750))
  }

  @Test func `PING is sent after each second without input`() {
    var link = DeviceLink.make(.open)
    #expect(link.frames(at: .ms(999)).isEmpty)
    #expect(link.frames(at: .ms(1000)).types == [.ping])
    #expect(link.frames(at: .ms(1999)).isEmpty)
    #expect(link.frames(at: .ms(2000)).types == [.ping])
  }

  @Test func `any frame of the session postpones the PING`() {
    var link = DeviceLink.make(.open)
    link.receive(.host(.ack), now: .ms(900))
    #expect(link.frames(at: .ms(1899)).isEmpty)
    #expect(link.frames(at: .ms(1900)).types == [.ping])
  }

  @Test func `a frame of another session does not`() {
    var link = DeviceLink.make(.open)
    link.receive(.host(.pong, session: 0x4321, payload: [0]), now: .ms(900))
    #expect(link.frames(at: .ms(1000)).types == [.ping])
  }

  @Test func `the link is suspect after 3 s without input and ends after 5 s`() {
    var link = DeviceLink.make(.open)
    link.handleTimeout(now: .ms(2999))
    #expect(!link.isSuspect)
    link.handleTimeout(now: .ms(3000))
    #expect(link.isSuspect)
    link.handleTimeout(now: .ms(4999))
    #expect(link.drainEvents().isEmpty)
    link.handleTimeout(now: .ms(5000))
    #expect(link.drainEvents() == [.ended(.silence)])
    #expect(link.counters.silences == 1)
  }

  @Test func `the link is suspect and ends also if the timer fires late, and then is not suspect`() {
    var link = DeviceLink.make(.open)
    link.handleTimeout(now: .ms(4500))
    #expect(link.isSuspect)
    link.handleTimeout(now: .ms(5500))
    #expect(link.drainEvents() == [.ended(.silence)])
    #expect(!link.isSuspect)
  }

  @Test func `PONG contains the number of handled frames`() {
    var link = DeviceLink.make(.open)
    for sequence in UInt8(0)..<3 { link.receive(.data(sequence), now: .zero) }
    _ = link.popInbound()
    let frames = link.reply(to: .host(.ping))
    #expect(frames.types == [.pong])
    #expect(frames.map(\.payload) == [[1]])
  }

  @Test func `a payload that is handled after its ACK is acknowledged within 5 ms`() {
    var link = DeviceLink.make(.open)
    _ = link.reply(to: .data(0))
    #expect(link.reply(to: .host(.ping)).types == [.pong])
    link.handleTimeout(now: .ms(10))
    _ = link.popInbound()
    #expect(link.frames(at: .ms(14)).isEmpty)
    #expect(link.frames(at: .ms(15)).map(\.sketch) == [.init(type: .ack, sequence: 0, ack: 1, credit: 16)])
  }

  @Test func `a close without an answer ends also when the timer fires late`() {
    var link = DeviceLink.make(.closing)
    link.handleTimeout(now: .ms(60_000))
    #expect(link.drainEvents() == [.ended(.closed)])
  }

  @Test(arguments: DeviceLink.Start.allCases)
  func `there is room for payloads in an open session only`(start: DeviceLink.Start) {
    #expect(DeviceLink.make(start).hasRoom == (start == .open))
  }

  @Test func `PINGs without a line to answer on are bounded`() {
    var link = DeviceLink.make(.open)
    for _ in 0..<1000 { link.receive(.host(.ping), now: .zero) }
    #expect(link.drainFrames().count == DeviceLink.pongsLimit)
  }
}
