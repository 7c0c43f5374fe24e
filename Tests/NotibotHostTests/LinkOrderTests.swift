import NotibotProtocol
import Testing

@testable import NotibotHost

/// DATA in both directions: order, gaps, credit, acknowledging, resending.
/// Source: PROTOCOL.md LNK-30...LNK-51.
struct LinkOrderTests {
  /// The count notification, as DATA number `sequence`.
  private func notification(_ count: UInt8, sequence: UInt8) -> Frame {
    ScriptedDevice.pdu([0x1B, 0x03, 0x00, count, 0x00], sequence: sequence, ack: 1)
  }

  private func counts(_ actions: [HostAction]) -> [UInt16] {
    actions.compactMap { if case .event(.countChanged(let count)) = $0 { count } else { nil } }
  }

  // MARK: Receiving

  @Test func `frames after a gap are held, each gap is reported at once, and delivery is in order`() throws {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(2, sequence: 2), notification(4, sequence: 4))
    #expect(device.drainActions().isEmpty)
    let sent = device.drainSent()
    #expect(sent.map(\.header.type) == [.nak, .nak])
    #expect(sent.map(\.header.ack) == [1, 1])
    #expect(sent.map(\.payload.first) == [0b001, 0b101])
    device.receive(notification(1, sequence: 1))
    #expect(counts(device.drainActions()) == [1, 2])
    device.receive(notification(3, sequence: 3))
    #expect(counts(device.drainActions()) == [3, 4])
    #expect(device.drainSent().last?.header.ack == 5)
  }

  @Test func `later frames after a gap are reported with every second one, or after 5 ms`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(2, sequence: 2))
    #expect(device.drainSent().map(\.payload.first) == [0b1])
    device.receive(notification(3, sequence: 3))
    #expect(device.drainSent().isEmpty)
    device.receive(notification(4, sequence: 4))
    #expect(device.drainSent().map(\.payload.first) == [0b111])
    device.receive(notification(5, sequence: 5))
    device.pass(.milliseconds(4))
    #expect(device.drainSent().isEmpty)
    device.pass(.milliseconds(1))
    let late = device.drainSent()
    #expect(late.map(\.header.type) == [.nak])
    #expect(late.map(\.payload.first) == [0b1111])
  }

  @Test func `while a later gap is open a NAK replaces the ACK`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(2, sequence: 2), notification(4, sequence: 4))
    _ = device.drainSent()
    device.receive(notification(1, sequence: 1))
    let sent = device.drainSent()
    #expect(sent.map(\.header.type) == [.nak])
    #expect(sent.map(\.header.ack) == [3])
    #expect(sent.map(\.payload.first) == [0b1])
  }

  @Test
  func `a held frame is not delivered twice, and its repetition reports the held frames again`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(2, sequence: 2), notification(2, sequence: 2), notification(2, sequence: 2))
    #expect(device.drainSent().map(\.payload.first) == [0b1, 0b1])
    device.receive(notification(1, sequence: 1))
    #expect(counts(device.drainActions()) == [1, 2])
  }

  @Test func `a duplicate frame, or one too far ahead, is answered at most every 20 ms`() {
    var device = ScriptedDevice.makeReady()
    for sequence in [UInt8(0), 255, 65, 200] { device.receive(notification(9, sequence: sequence)) }
    #expect(device.drainSent().map(\.header.type) == [.ack])
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.link.outOfWindow == 4)
    device.pass(.milliseconds(20))
    device.receive(notification(9, sequence: 0))
    #expect(device.drainSent().map(\.header.type) == [.ack])
  }

  @Test func `the last number that fits the window is kept`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(9, sequence: 64))
    let sent = device.drainSent()
    #expect(sent.map(\.header.type) == [.nak])
    #expect(sent[0].payload == [0, 0, 0, 0, 0, 0, 0, 0x40])
  }

  @Test func `numbers continue beyond 255`() {
    var device = ScriptedDevice.makeReady()
    for index in 1...600 {
      device.receive(
        notification(UInt8(truncatingIfNeeded: index), sequence: UInt8(truncatingIfNeeded: index)))
    }
    #expect(counts(device.drainActions()).count == 600)
    #expect(device.drainSent().last?.header.ack == UInt8(truncatingIfNeeded: 601))
  }

  @Test func `one frame is acknowledged after 5 ms, two at once`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(1, sequence: 1))
    #expect(device.drainSent().isEmpty)
    device.pass(.milliseconds(4))
    #expect(device.drainSent().isEmpty)
    device.pass(.milliseconds(1))
    #expect(device.drainSent().map(\.header.type) == [.ack])
    device.receive(notification(2, sequence: 2))
    device.receive(notification(3, sequence: 3))
    #expect(device.drainSent().map(\.header.ack) == [4])
  }

  @Test func `a request carries the acknowledgement`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(1, sequence: 1))
    device.submit(.readCount)
    #expect(device.drainSent().map(\.header.ack) == [2])
    device.pass(.milliseconds(50))
    #expect(device.drainSent().isEmpty)
  }

  @Test func `data on an unserved channel is acknowledged and dropped`() {
    var device = ScriptedDevice.makeReady()
    device.receive(ScriptedDevice.frame(.data, channel: .rig, sequence: 1, ack: 1, payload: [1]))
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.link.unknownChannel == 1)
    device.pass(.milliseconds(5))
    #expect(device.drainSent().map(\.header.ack) == [2])
  }

  // MARK: Credit

  @Test func `no frame is sent beyond the credit, and the credit advances`() {
    var device = ScriptedDevice.makeReady(credit: 2)
    for _ in 0..<5 { device.submit(.readCount) }
    // DATA 0 was answered with ack 1 and credit 2, so 1 and 2 can be sent.
    #expect(device.drainSent().map(\.header.sequence) == [1, 2])
    device.receive(ScriptedDevice.frame(.ack, ack: 3, credit: 0))
    #expect(device.drainSent().isEmpty)
    device.receive(ScriptedDevice.frame(.ack, ack: 3, credit: 1))
    #expect(device.drainSent().map(\.header.sequence) == [3])
  }

  @Test func `credit that goes backwards revokes nothing`() {
    var device = ScriptedDevice.makeReady(credit: 4)
    device.receive(ScriptedDevice.frame(.ack, ack: 1, credit: 0))
    for _ in 0..<6 { device.submit(.readCount) }
    #expect(device.drainSent().map(\.header.sequence) == [1, 2, 3, 4])
  }

  @Test func `unhandled frames stay within the device's byte limit`() {
    let limits = LinkLimits(frames: 16, requests: 8, mtu: 517, bytes: 1080)
    var device = ScriptedDevice.makeReady(limits: limits)
    let json = [UInt8](repeating: 0x20, count: 500)
    // Decoded size 3 + 500 + 12; the two requests of 515 bytes are 1030.
    for _ in 0..<4 { device.submit(.sendEncoded(json)) }
    #expect(device.drainSent().map(\.header.sequence) == [1, 2])
    // Received, not handled: ack moves, credit shrinks by as much.
    device.receive(ScriptedDevice.frame(.ack, ack: 3, credit: 14))
    #expect(device.drainSent().isEmpty)
    device.receive(ScriptedDevice.frame(.ack, ack: 3, credit: 15))
    #expect(device.drainSent().map(\.header.sequence) == [3])
  }

  // MARK: Acknowledgements

  @Test func `an ack beyond the sent frames is ignored with its credit, but its payload is accepted`() {
    var device = ScriptedDevice.makeReady(credit: 1)
    device.submit(.readCount)
    device.submit(.readCount)
    _ = device.drainSent()
    device.receive(ScriptedDevice.pdu([0x1B, 3, 0, 7, 0], sequence: 1, ack: 9, credit: 16))
    #expect(counts(device.drainActions()) == [7])
    #expect(device.drainSent().filter { $0.header.type == .data }.isEmpty)
    #expect(device.machine.statistics.link.badAcks == 1)
  }

  @Test func `a repeated ack resends nothing`() {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    _ = device.drainSent()
    for _ in 0..<10 { device.receive(ScriptedDevice.frame(.ack, ack: 1)) }
    #expect(device.drainSent().isEmpty)
  }

  // MARK: Resending

  /// A ready host with requests 1 to 6 in flight, and the NAK of a device that misses 1.
  private func makeLoaded() -> ScriptedDevice {
    var device = ScriptedDevice.makeReady()
    for _ in 0..<6 { device.submit(.readCount) }
    _ = device.drainSent()
    return device
  }

  private func nak(_ held: UInt8, ack: UInt8 = 1, behind: [UInt8] = []) -> Frame {
    ScriptedDevice.frame(.nak, ack: ack, payload: [held, 0, 0, 0, 0, 0, 0, 0] + behind)
  }

  @Test func `a NAK with a bitmap resends the missing frames below the highest held one, and no more`() {
    var device = makeLoaded()
    // 3 and 5 are held.
    device.receive(nak(0b1010))
    #expect(device.drainSent().map(\.header.sequence) == [1, 2, 4])
    #expect(device.machine.statistics.link.resent == 3)
  }

  @Test func `bytes behind a bitmap are ignored`() {
    var device = makeLoaded()
    device.receive(nak(0b1010, behind: [0xFF]))
    #expect(device.drainSent().map(\.header.sequence) == [1, 2, 4])
  }

  @Test func `a resent frame is not resent again for the same loss`() {
    var device = makeLoaded()
    device.receive(nak(0b1))
    #expect(device.drainSent().map(\.header.sequence) == [1])
    for held in [UInt8(0b11), 0b111, 0b1111, 0b11111] { device.receive(nak(held)) }
    #expect(device.drainSent().isEmpty)
  }

  @Test func `a NAK with a second gap resends only the new gap`() {
    var device = makeLoaded()
    device.receive(nak(0b1))
    _ = device.drainSent()
    device.receive(nak(0b101))
    #expect(device.drainSent().map(\.header.sequence) == [3])
  }

  @Test func `a resent frame that is lost again is resent when a newer frame has arrived`() {
    var device = makeLoaded()
    device.receive(nak(0b11111))
    #expect(device.drainSent().map(\.header.sequence) == [1])
    device.submit(.readCount)
    #expect(device.drainSent().map(\.header.sequence) == [7])
    device.receive(nak(0b111111))
    #expect(device.drainSent().map(\.header.sequence) == [1])
    device.receive(nak(0b111111))
    #expect(device.drainSent().isEmpty)
  }

  @Test func `the timer does not resend held frames, except the oldest frame`() {
    var device = makeLoaded()
    device.receive(nak(0b101))
    #expect(device.drainSent().map(\.header.sequence) == [1, 3])
    device.pass(.milliseconds(600))
    #expect(device.drainSent().map(\.header.sequence).prefix(4) == [1, 3, 5, 6])
    // A device that expects 2 next does not hold it, regardless of earlier bitmaps.
    device.receive(ScriptedDevice.frame(.ack, ack: 2))
    device.pass(.milliseconds(600))
    #expect(device.drainSent().map(\.header.sequence).prefix(4) == [2, 3, 5, 6])
  }

  @Test func `a NAK without a resent frame does not restart the timer`() {
    var device = makeLoaded()
    let deadline = device.machine.nextDeadline
    device.pass(.milliseconds(50))
    device.receive(nak(0b1))
    let postponed = device.machine.nextDeadline
    #expect(postponed != deadline)
    device.pass(.milliseconds(50))
    device.receive(nak(0b11))
    #expect(device.machine.nextDeadline == postponed)
  }

  @Test func `a NAK without a bitmap revokes held frames`() {
    var device = makeLoaded()
    device.receive(nak(0b11))
    _ = device.drainSent()
    device.receive(ScriptedDevice.frame(.nak, ack: 1))
    #expect(device.drainSent().map(\.header.sequence) == [1, 2, 3, 4, 5, 6])
  }

  @Test func `a NAK without a bitmap resends all from its ack on`() {
    var device = ScriptedDevice.makeReady()
    for _ in 0..<3 { device.submit(.readCount) }
    _ = device.drainSent()
    device.receive(ScriptedDevice.frame(.nak, ack: 2))
    #expect(device.drainSent().map(\.header.sequence) == [2, 3])
  }

  @Test func `a NAK whose ack is invalid resends nothing`() {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    _ = device.drainSent()
    device.receive(ScriptedDevice.frame(.nak, ack: 7))
    #expect(device.drainSent().isEmpty)
  }

  @Test func `a resent frame carries the current ack`() {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    _ = device.drainSent()
    device.receive(notification(1, sequence: 1))
    device.receive(ScriptedDevice.frame(.nak, ack: 1))
    #expect(device.drainSent().map(\.header.ack) == [2])
  }

  @Test func `without an answer a frame is resent, each time after twice the delay`() {
    var device = ScriptedDevice.makeLinked()
    _ = device.drainSent()
    var moments: [Int64] = []
    for _ in 0..<4_999 {
      device.pass(.milliseconds(1))
      if device.drainSent().contains(where: { $0.header.type == .data }) {
        moments.append(device.now.nanoseconds / 1_000_000)
      }
    }
    #expect(moments == [250, 750, 1750, 3750])
  }

  @Test func `while the device sends frames the timer does not double`() {
    var device = ScriptedDevice.makeLinked()
    _ = device.drainSent()
    var moments: [Int64] = []
    for index in 1..<1_100 {
      device.pass(.milliseconds(1))
      if index % 100 == 0 { device.receive(ScriptedDevice.frame(.ack, ack: 0)) }
      if device.drainSent().contains(where: { $0.header.type == .data }) {
        moments.append(device.now.nanoseconds / 1_000_000)
      }
    }
    #expect(moments == [250, 500, 750, 1000])
  }

  @Test func `at a low rate the line's time is added to the timer`() {
    var configuration = HostConfiguration()
    configuration.lineBitsPerSecond = 1200
    var device = ScriptedDevice.makeLinked(configuration)
    _ = device.drainSent()
    // Exchange MTU: 3 + 12 bytes of 10 bits at 1200 bit/s are 125 ms.
    device.pass(.milliseconds(374))
    #expect(device.drainSent().isEmpty)
    device.pass(.milliseconds(1))
    #expect(device.drainSent().map(\.header.type) == [.data])
  }

  @Test func `nothing is sent or resent on a blocked line`() {
    var device = ScriptedDevice.makeReady()
    device.machine.handleWritability(false, now: device.now)
    device.submit(.readCount)
    device.pass(.seconds(2))
    #expect(device.drainSent().isEmpty)
    #expect(device.machine.statistics.link.resent == 0)
    device.machine.handleWritability(true, now: device.now)
    device.drain()
    #expect(device.drainSent().filter { $0.header.type == .data }.count == 1)
  }

  /// With the request the output passes the limit without being equal to it.
  @Test(arguments: [0, 1])
  func `a device that sends PINGs and does not read leaves the host's output bounded`(requests: Int) {
    var device = ScriptedDevice.makeReady()
    device.machine.handleWritability(false, now: device.now)
    for _ in 0..<requests { device.submit(.readCount) }
    let ping = ScriptedDevice.frame(.ping, ack: 1).encoded()
    for _ in 0..<20_000 { device.machine.receive(ping, now: device.now) }
    device.machine.handleWritability(true, now: device.now)
    guard case .write(let bytes)? = device.machine.nextAction() else {
      Issue.record("nothing to write")
      return
    }
    #expect(bytes.count < LinkSession.outputLimitBytes + 1024)
    #expect(device.machine.statistics.link.outputDropped > 10_000)
  }
}
