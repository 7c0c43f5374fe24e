import NotibotProtocol
import Testing

@testable import NotibotHost

/// DATA in both directions: order, holes, credit, acknowledging, resending.
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

  @Test func `frames after a hole are kept, reported once, and handed on in order`() throws {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(2, sequence: 2), notification(4, sequence: 4))
    #expect(device.takeActions().isEmpty)
    let sent = device.takeSent()
    #expect(sent.map(\.header.type) == [.nak])
    #expect(sent[0].header.ack == 1)
    #expect(sent[0].payload == [0x01, 0, 0, 0, 0, 0, 0, 0])
    device.receive(notification(1, sequence: 1))
    #expect(counts(device.takeActions()) == [1, 2])
    device.receive(notification(3, sequence: 3))
    #expect(counts(device.takeActions()) == [3, 4])
    #expect(device.takeSent().last?.header.ack == 5)
  }

  @Test func `a hole is reported again when the device has gone back and it is still there`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(2, sequence: 2), notification(3, sequence: 3))
    #expect(device.takeSent().map(\.header.type) == [.nak])
    device.receive(notification(2, sequence: 2))
    let again = device.takeSent()
    #expect(again.map(\.header.type) == [.nak])
    #expect(again[0].payload == [0x03, 0, 0, 0, 0, 0, 0, 0])
    device.receive(notification(3, sequence: 3))
    #expect(device.takeSent().isEmpty)
  }

  @Test func `a frame that is here already, or too far ahead, is answered at most each 20 ms`() {
    var device = ScriptedDevice.makeReady()
    for sequence in [UInt8(0), 255, 65, 200] { device.receive(notification(9, sequence: sequence)) }
    #expect(device.takeSent().map(\.header.type) == [.ack])
    #expect(device.takeActions().isEmpty)
    #expect(device.machine.statistics.link.outOfWindow == 4)
    device.pass(.milliseconds(20))
    device.receive(notification(9, sequence: 0))
    #expect(device.takeSent().map(\.header.type) == [.ack])
  }

  @Test func `the last number that fits the window is kept`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(9, sequence: 64))
    let sent = device.takeSent()
    #expect(sent.map(\.header.type) == [.nak])
    #expect(sent[0].payload == [0, 0, 0, 0, 0, 0, 0, 0x40])
  }

  @Test func `numbers go on beyond 255`() {
    var device = ScriptedDevice.makeReady()
    for index in 1...600 {
      device.receive(
        notification(UInt8(truncatingIfNeeded: index), sequence: UInt8(truncatingIfNeeded: index)))
    }
    #expect(counts(device.takeActions()).count == 600)
    #expect(device.takeSent().last?.header.ack == UInt8(truncatingIfNeeded: 601))
  }

  @Test func `one frame is acknowledged after 5 ms, two at once`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(1, sequence: 1))
    #expect(device.takeSent().isEmpty)
    device.pass(.milliseconds(4))
    #expect(device.takeSent().isEmpty)
    device.pass(.milliseconds(1))
    #expect(device.takeSent().map(\.header.type) == [.ack])
    device.receive(notification(2, sequence: 2))
    device.receive(notification(3, sequence: 3))
    #expect(device.takeSent().map(\.header.ack) == [4])
  }

  @Test func `a request carries the acknowledgement`() {
    var device = ScriptedDevice.makeReady()
    device.receive(notification(1, sequence: 1))
    device.submit(.readCount)
    #expect(device.takeSent().map(\.header.ack) == [2])
    device.pass(.milliseconds(50))
    #expect(device.takeSent().isEmpty)
  }

  @Test func `data on a channel that nobody serves is acknowledged and dropped`() {
    var device = ScriptedDevice.makeReady()
    device.receive(ScriptedDevice.frame(.data, channel: .rig, sequence: 1, ack: 1, payload: [1]))
    #expect(device.takeActions().isEmpty)
    #expect(device.machine.statistics.link.unknownChannel == 1)
    device.pass(.milliseconds(5))
    #expect(device.takeSent().map(\.header.ack) == [2])
  }

  // MARK: Credit

  @Test func `no frame goes out beyond the credit, and the credit moves on with it`() {
    var device = ScriptedDevice.makeReady(credit: 2)
    for _ in 0..<5 { device.submit(.readCount) }
    // DATA 0 was answered with ack 1 and credit 2, so 1 and 2 may go.
    #expect(device.takeSent().map(\.header.sequence) == [1, 2])
    device.receive(ScriptedDevice.frame(.ack, ack: 3, credit: 0))
    #expect(device.takeSent().isEmpty)
    device.receive(ScriptedDevice.frame(.ack, ack: 3, credit: 1))
    #expect(device.takeSent().map(\.header.sequence) == [3])
  }

  @Test func `credit that goes backwards takes nothing back`() {
    var device = ScriptedDevice.makeReady(credit: 4)
    device.receive(ScriptedDevice.frame(.ack, ack: 1, credit: 0))
    for _ in 0..<6 { device.submit(.readCount) }
    #expect(device.takeSent().map(\.header.sequence) == [1, 2, 3, 4])
  }

  @Test func `more than 64 of credit counts as 64`() {
    var window = SendWindow(peerFrames: 64, peerBytes: 1_000_000, credit: 255)
    #expect(window.limit == 64)
    _ = window.acknowledge(ack: 0, credit: 255, now: .zero)
    #expect(window.limit == 64)
  }

  @Test func `the sizes of what is not handled stay within the device's bytes`() {
    let limits = LinkLimits(frames: 16, requests: 8, mtu: 517, bytes: 1080)
    var device = ScriptedDevice.makeReady(limits: limits)
    let json = [UInt8](repeating: 0x20, count: 500)
    // Decoded size 3 + 500 + 12; the two requests of 515 bytes are 1030.
    for _ in 0..<4 { device.submit(.sendEncoded(json)) }
    #expect(device.takeSent().map(\.header.sequence) == [1, 2])
    // Received, not handled: ack moves, credit shrinks by as much.
    device.receive(ScriptedDevice.frame(.ack, ack: 3, credit: 14))
    #expect(device.takeSent().isEmpty)
    device.receive(ScriptedDevice.frame(.ack, ack: 3, credit: 15))
    #expect(device.takeSent().map(\.header.sequence) == [3])
  }

  // MARK: Acknowledgements

  @Test func `an ack of what was never sent is ignored with its credit, and its payload is not`() {
    var device = ScriptedDevice.makeReady(credit: 1)
    device.submit(.readCount)
    device.submit(.readCount)
    _ = device.takeSent()
    device.receive(ScriptedDevice.pdu([0x1B, 3, 0, 7, 0], sequence: 1, ack: 9, credit: 16))
    #expect(counts(device.takeActions()) == [7])
    #expect(device.takeSent().filter { $0.header.type == .data }.isEmpty)
    #expect(device.machine.statistics.link.badAcks == 1)
  }

  @Test func `a repeated ack resends nothing`() {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    _ = device.takeSent()
    for _ in 0..<10 { device.receive(ScriptedDevice.frame(.ack, ack: 1)) }
    #expect(device.takeSent().isEmpty)
  }

  // MARK: Resending

  @Test func `a NAK resends from its ack on, less what the device holds`() {
    var device = ScriptedDevice.makeReady()
    for _ in 0..<4 { device.submit(.readCount) }
    let first = device.takeSent()
    device.receive(ScriptedDevice.frame(.nak, ack: 2, payload: [0b01, 0, 0, 0, 0, 0, 0, 0]))
    let again = device.takeSent()
    #expect(again.map(\.header.sequence) == [2, 4])
    #expect(again.map(\.payload) == [first[1].payload, first[3].payload])
    #expect(device.machine.statistics.link.resent == 2)
  }

  @Test func `a NAK without a bitmap resends all from its ack on`() {
    var device = ScriptedDevice.makeReady()
    for _ in 0..<3 { device.submit(.readCount) }
    _ = device.takeSent()
    device.receive(ScriptedDevice.frame(.nak, ack: 2))
    #expect(device.takeSent().map(\.header.sequence) == [2, 3])
  }

  @Test func `a NAK whose ack is invalid resends nothing`() {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    _ = device.takeSent()
    device.receive(ScriptedDevice.frame(.nak, ack: 7))
    #expect(device.takeSent().isEmpty)
  }

  @Test func `a resent frame carries the present ack`() {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    _ = device.takeSent()
    device.receive(notification(1, sequence: 1))
    device.receive(ScriptedDevice.frame(.nak, ack: 1))
    #expect(device.takeSent().map(\.header.ack) == [2])
  }

  @Test func `without an answer a frame goes out again, each time after twice as long`() {
    var device = ScriptedDevice.makeLinked()
    _ = device.takeSent()
    var moments: [Int64] = []
    for _ in 0..<4_999 {
      device.pass(.milliseconds(1))
      if device.takeSent().contains(where: { $0.header.type == .data }) {
        moments.append(device.now.nanoseconds / 1_000_000)
      }
    }
    #expect(moments == [250, 750, 1750, 3750])
  }

  @Test func `while the device is heard the timer does not double`() {
    var device = ScriptedDevice.makeLinked()
    _ = device.takeSent()
    var moments: [Int64] = []
    for index in 1..<1_100 {
      device.pass(.milliseconds(1))
      if index % 100 == 0 { device.receive(ScriptedDevice.frame(.ack, ack: 0)) }
      if device.takeSent().contains(where: { $0.header.type == .data }) {
        moments.append(device.now.nanoseconds / 1_000_000)
      }
    }
    #expect(moments == [250, 500, 750, 1000])
  }

  @Test func `at a low rate the line's time is added to the timer`() {
    var configuration = HostConfiguration()
    configuration.lineBitsPerSecond = 1200
    var device = ScriptedDevice.makeLinked(configuration)
    _ = device.takeSent()
    // Exchange MTU: 3 + 12 bytes of 10 bits at 1200 bit/s are 125 ms.
    device.pass(.milliseconds(374))
    #expect(device.takeSent().isEmpty)
    device.pass(.milliseconds(1))
    #expect(device.takeSent().map(\.header.type) == [.data])
  }

  @Test func `a line that takes nothing gets nothing, and nothing is sent again for it`() {
    var device = ScriptedDevice.makeReady()
    device.machine.handleWritability(false, now: device.now)
    device.submit(.readCount)
    device.pass(.seconds(2))
    #expect(device.takeSent().isEmpty)
    #expect(device.machine.statistics.link.resent == 0)
    device.machine.handleWritability(true, now: device.now)
    device.drain()
    #expect(device.takeSent().filter { $0.header.type == .data }.count == 1)
  }

  @Test func `a device that asks and does not read makes the host keep a bounded lot`() {
    var device = ScriptedDevice.makeReady()
    device.machine.handleWritability(false, now: device.now)
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
