import NotibotProtocol
import Testing

@testable import NotibotHost

/// DATA and acknowledgements on a blocked line, and timers that fire late. Source: PROTOCOL.md
/// LNK-32, LNK-50, LNK-51.
struct LinkOrderLineTests {
  /// A PONG on the line.
  private static let pongBytes = 16
  /// The length of a Read Request minus that of a PONG, on the line.
  private static let furtherBytes = 2

  private func notification(_ sequence: UInt8) -> Frame {
    ScriptedDevice.pdu([0x1B, 0x03, 0x00, 1, 0x00], sequence: sequence, ack: 1)
  }

  /// A host on a blocked line with a full output buffer: the given number of requests, the rest
  /// PONGs.
  private func makeFull(requests: Int) -> ScriptedDevice {
    var device = ScriptedDevice.makeReady()
    device.machine.handleWritability(false, now: device.now)
    for _ in 0..<requests { device.submit(.readCount) }
    let ping = ScriptedDevice.frame(.ping, ack: 1).encoded()
    for _ in 0..<LinkSession.outputLimitBytes / Self.pongBytes - requests {
      device.machine.receive(ping, now: device.now)
    }
    return device
  }

  @Test(arguments: [0, 1])
  func `a request waits while the output is full to the byte, or beyond`(requests: Int) {
    var device = makeFull(requests: requests)
    device.submit(.readCount)
    #expect(device.machine.statistics.link.outputDropped == 0)
    #expect(device.machine.statistics.link.dataSent == 1 + requests)
    device.machine.handleWritability(true, now: device.now)
    guard case .write(let bytes)? = device.machine.nextAction() else {
      Issue.record("nothing to write")
      return
    }
    #expect(bytes.count == LinkSession.outputLimitBytes + Self.furtherBytes * requests)
  }

  @Test func `an acknowledgement dropped by a full output is sent when there is room`() {
    var device = makeFull(requests: 0)
    device.receive(notification(1), notification(2))
    #expect(device.machine.statistics.link.outputDropped == 1)
    device.machine.handleWritability(true, now: device.now)
    device.drain()
    _ = device.drainSent()
    device.pass(.milliseconds(5))
    #expect(device.drainSent().map(\.header.ack) == [3])
  }

  @Test func `a frame is acknowledged even if the timer fires late`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(1))
    device.machine.handleTimeout(now: device.now + .milliseconds(7))
    device.drain()
    #expect(device.drainSent().map(\.header.ack) == [2])
  }

  @Test func `a frame is resent even if the timer fires late`() throws {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    let first = device.drainSent()
    let deadline = try #require(device.machine.nextDeadline)
    device.machine.handleTimeout(now: deadline + .milliseconds(7))
    device.drain()
    #expect(device.drainSent().map(\.header.sequence) == first.map(\.header.sequence))
    #expect(device.machine.statistics.link.resent == 1)
  }

  @Test func `a frame outside the window is answered again after more than 20 ms`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(0))
    device.pass(.milliseconds(50))
    device.receive(notification(0))
    #expect(device.drainSent().map(\.header.type) == [.ack, .ack])
  }

  @Test(arguments: [0, -1, .min])
  func `a line rate of 0 or less adds nothing to the timer`(bitsPerSecond: Int) {
    var configuration = HostConfiguration()
    configuration.lineBitsPerSecond = bitsPerSecond
    var device = ScriptedDevice.makeLinked(configuration)
    _ = device.drainSent()
    device.pass(.milliseconds(250))
    #expect(device.drainSent().map(\.header.type) == [.data])
  }
}
