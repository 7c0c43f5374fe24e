import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct DeviceLinkOrderTests {
  // MARK: Receiving

  @Test func `payloads are delivered in order and unchanged`() {
    var link = DeviceLink.make(.open)
    link.receive(.data(0, payload: [1, 2]), now: .zero)
    link.receive(.data(1, payload: [3]), now: .zero)
    #expect(link.popInbound()?.payload == [1, 2])
    #expect(link.popInbound()?.payload == [3])
    #expect(link.popInbound() == nil)
  }

  @Test func `ack moves when a frame is received, credit when it is handled`() {
    var link = DeviceLink.make(.open)
    link.receive(.data(0), now: .zero)
    #expect(link.reply(to: .data(1)).map(\.sketch) == [.init(type: .ack, sequence: 0, ack: 2, credit: 14)])
    _ = link.popInbound()
    #expect(
      link.reply(to: .host(.ping)).map(\.sketch) == [.init(type: .pong, sequence: 0, ack: 2, credit: 15)])
  }

  @Test(arguments: [UInt8(255), 200, 16, 17, 128])
  func `a number outside the window is dropped and answered with one ACK in 20 ms`(sequence: UInt8) {
    var link = DeviceLink.make(.open)
    let ack = Frame.Sketch(type: .ack, sequence: 0, ack: 0, credit: 16)
    #expect(link.reply(to: .data(sequence), at: .ms(100)).map(\.sketch) == [ack])
    #expect(link.reply(to: .data(sequence), at: .ms(119)).isEmpty)
    #expect(link.reply(to: .data(sequence), at: .ms(120)).map(\.sketch) == [ack])
    #expect(link.popInbound() == nil)
    #expect(link.counters.outOfWindow == 3)
  }

  @Test func `frames beyond the credit are dropped while nothing is handled`() {
    var link = DeviceLink.make(.open)
    for sequence in UInt8(0)..<40 { link.receive(.data(sequence), now: .zero) }
    #expect(link.counters.dataReceived == 16)
    #expect(link.drainFrames().last?.sketch == .init(type: .ack, sequence: 0, ack: 16, credit: 0))
  }

  @Test func `frames beyond the byte limit are dropped while nothing is handled`() {
    var link = DeviceLink.make(.open)
    let payload = [UInt8](repeating: 1, count: 528)
    for sequence in UInt8(0)..<10 { link.receive(.data(sequence, payload: payload), now: .zero) }
    // 4096 / 540 = 7.
    #expect(link.counters.dataReceived == 7)
  }

  @Test func `handled bytes are granted again`() {
    var link = DeviceLink.make(.open)
    let payload = [UInt8](repeating: 1, count: 528)
    for sequence in UInt8(0)..<7 { link.receive(.data(sequence, payload: payload), now: .zero) }
    while link.popInbound() != nil {}
    for sequence in UInt8(7)..<14 { link.receive(.data(sequence, payload: payload), now: .zero) }
    #expect(link.counters.dataReceived == 14)
  }

  @Test func `numbers continue from 255 to 0`() {
    var link = DeviceLink.make(.open)
    for number in 0..<600 {
      link.receive(.data(UInt8(truncatingIfNeeded: number), payload: [UInt8(number % 251)]), now: .zero)
      #expect(link.popInbound()?.payload == [UInt8(number % 251)])
    }
    #expect(link.counters.dataReceived == 600)
  }

  // MARK: Acknowledging

  @Test func `one frame is acknowledged after 5 ms, the second at once`() {
    var link = DeviceLink.make(.open)
    #expect(link.reply(to: .data(0), at: .ms(10)).isEmpty)
    #expect(link.nextDeadline == .ms(15))
    #expect(link.frames(at: .ms(15)).types == [.ack])
    link.receive(.data(1), now: .ms(20))
    #expect(link.reply(to: .data(2), at: .ms(21)).types == [.ack])
  }

  @Test func `DATA acknowledges, so that no ACK is sent`() {
    var link = DeviceLink.make(.open)
    link.receive(.data(0), now: .zero)
    _ = link.popInbound()
    #expect(link.sendData(1).map(\.sketch) == [.init(type: .data, sequence: 0, ack: 1, credit: 16)])
    #expect(link.frames(at: .ms(5)).isEmpty)
  }

  @Test func `credit that grows from zero is reported at once`() {
    var link = DeviceLink.make(.open)
    for sequence in UInt8(0)..<16 { link.receive(.data(sequence), now: .zero) }
    _ = link.drainFrames()
    _ = link.popInbound()
    #expect(link.drainFrames().map(\.sketch) == [.init(type: .ack, sequence: 0, ack: 16, credit: 1)])
  }

  @Test func `credit that grows from more than zero is reported within 5 ms`() {
    var link = DeviceLink.make(.open)
    for sequence in UInt8(0)..<4 { link.receive(.data(sequence), now: .zero) }
    _ = link.drainFrames()
    while link.popInbound() != nil {}
    #expect(link.drainFrames().isEmpty)
    #expect(link.frames(at: .ms(5)).map(\.sketch) == [.init(type: .ack, sequence: 0, ack: 4, credit: 16)])
  }

  // MARK: Sending

  @Test func `nothing is sent beyond the peer's credit`() {
    var link = DeviceLink.make(.open, credit: 3)
    #expect(link.sendData(5).sequences == [0, 1, 2])
    #expect(link.reply(to: .host(.ack, ack: 1, credit: 3)).sequences == [3])
  }

  @Test
  func `notifications wait above the link while as many frames, or more, are queued as the peer allows`() {
    for (answers, sendsAtOnce) in [(0, true), (1, false), (2, false)] {
      var link = DeviceLink.make(.open, credit: 1)
      for _ in 0..<answers { link.send([0x0B], on: .att) }
      #expect(link.sendsAtOnce == sendsAtOnce, "\(answers) answers")
    }
    #expect(!DeviceLink.make(.idle).sendsAtOnce)
  }

  @Test func `the limit never decreases`() {
    var link = DeviceLink.make(.open, credit: 4)
    link.receive(.host(.ack, ack: 0, credit: 1), now: .zero)
    #expect(link.sendData(5).sequences == [0, 1, 2, 3])
  }

  @Test func `credit above 64 counts as 64`() {
    var link = DeviceLink.make(.open, credit: 255)
    guard case .live(let session) = link.state else { return #expect(Bool(false), "no session") }
    #expect(session.sendLimit == 64)
    #expect(link.sendData(8).count == 8)
  }

  @Test func `the bytes not yet handled stay within the peer's limit`() {
    let peer = LinkLimits(frames: 16, requests: 8, mtu: 517, bytes: 1080)
    var link = DeviceLink.make(.open, peer: peer, credit: 16)
    for _ in 0..<4 { link.send([UInt8](repeating: 7, count: 528), on: .att) }
    #expect(link.drainFrames().sequences == [0, 1])
    // Received, but not handled.
    #expect(link.reply(to: .host(.ack, ack: 2, credit: 14)).isEmpty)
    #expect(link.reply(to: .host(.ack, ack: 2, credit: 15)).sequences == [2])
  }

  @Test func `at most 8 frames are kept unacknowledged`() {
    var link = DeviceLink.make(.open)
    #expect(link.sendData(12).count == 8)
    #expect(!link.hasRoom)
    link.receive(.host(.ack, ack: 3), now: .zero)
    #expect(link.room == 3)
  }

  @Test func `a device with more requests keeps as many frames`() {
    var link = DeviceLink.make(.open, limits: LinkLimits(frames: 64, requests: 32, mtu: 517, bytes: 16_384))
    #expect(link.sendData(40).count == 32)
  }

  @Test func `nothing is sent before a frame of the session was received`() {
    var link = DeviceLink.make(.offered)
    #expect(!link.hasRoom)
    #expect(link.sendData(1).isEmpty)
    #expect(link.frames(at: .ms(60_000)).isEmpty)
    #expect(link.sessionID == firstSession)
  }

  // MARK: Resending

  @Test func `a retransmitted frame has its payload and the current ack`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(1)
    link.receive(.data(0), now: .zero)
    _ = link.popInbound()
    let frames = link.reply(to: .host(.nak, ack: 0))
    #expect(frames.map(\.sketch) == [.init(type: .data, sequence: 0, ack: 1, credit: 16)])
    #expect(frames.map(\.payload) == [[0]])
  }

  @Test func `a repeated ACK causes no retransmission`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(4)
    for _ in 0..<20 { #expect(link.reply(to: .host(.ack, ack: 1)).isEmpty) }
  }

  @Test(arguments: [UInt8(5), 100, 255])
  func `an ack outside the sent range is ignored, its payload is not`(ack: UInt8) {
    var link = DeviceLink.make(.open, credit: 4)
    _ = link.sendData(6)
    #expect(link.reply(to: .data(0, ack: ack, credit: 64)).isEmpty)
    #expect(link.counters.badAcks == 1)
    #expect(link.popInbound() != nil)
    #expect(link.reply(to: .host(.nak, ack: ack)).types == [])
  }
}
