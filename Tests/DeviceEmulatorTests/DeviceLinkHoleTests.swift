@_spi(Machines) import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// Holes in the host's frames, and in the device's frames. Source: PROTOCOL.md LNK-32 to LNK-34,
/// LNK-51.
struct DeviceLinkHoleTests {
  private func payloads(_ link: inout DeviceLink) -> [UInt8] {
    var payloads: [UInt8] = []
    while let item = link.popInbound() { payloads.append(item.payload[0]) }
    return payloads
  }

  // MARK: A device that drops

  @Test func `a frame out of order is dropped and requested once per round`() {
    var link = DeviceLink.make(.open, outOfOrder: .dropped)
    let nak = Frame.Sketch(type: .nak, sequence: 0, ack: 0, credit: 16)
    let first = link.reply(to: .data(1))
    #expect(first.map(\.sketch) == [nak])
    #expect(first.map(\.payload) == [[]])
    #expect(link.reply(to: .data(2)).isEmpty)
    #expect(link.reply(to: .data(4)).isEmpty)
    // 3 is not above 4: the host has started again.
    #expect(link.reply(to: .data(3)).map(\.sketch) == [nak])
    #expect(link.popInbound() == nil)
    #expect(link.counters.outOfOrder == 4)
  }

  @Test func `the same frame out of order again begins a new round`() {
    var link = DeviceLink.make(.open, outOfOrder: .dropped)
    #expect(link.reply(to: .data(1)).types == [.nak])
    #expect(link.reply(to: .data(1)).types == [.nak])
  }

  @Test func `another hole is requested with a new NAK`() {
    var link = DeviceLink.make(.open, outOfOrder: .dropped)
    _ = link.reply(to: .data(2))
    _ = link.reply(to: .data(0))
    _ = link.popInbound()
    let frames = link.reply(to: .data(3))
    #expect(frames.map(\.sketch) == [.init(type: .nak, sequence: 0, ack: 1, credit: 16)])
  }

  @Test func `dropped frames are missing when the hole is filled`() {
    var link = DeviceLink.make(.open, outOfOrder: .dropped)
    for sequence in [UInt8(1), 0] { link.receive(.data(sequence, payload: [sequence]), now: .zero) }
    #expect(payloads(&link) == [0])
    #expect(link.counters.dataReceived == 1)
  }

  @Test func `without a hole a device that drops acknowledges by ACK`() {
    var link = DeviceLink.make(.open, outOfOrder: .dropped)
    #expect((0...1).flatMap { link.reply(to: .data($0)) }.types == [.ack])
  }

  // MARK: A device that keeps

  @Test func `kept frames are delivered in order when the hole is filled, each once`() {
    var link = DeviceLink.make(.open)
    for sequence in [UInt8(1), 3, 1, 4, 3] { link.receive(.data(sequence, payload: [sequence]), now: .zero) }
    #expect(link.popInbound() == nil)
    link.receive(.data(0, payload: [0]), now: .zero)
    #expect(payloads(&link) == [0, 1])
    link.receive(.data(2, payload: [2]), now: .zero)
    #expect(payloads(&link) == [2, 3, 4])
    #expect(
      link.reply(to: .host(.ping)).map(\.sketch) == [.init(type: .pong, sequence: 0, ack: 5, credit: 16)])
  }

  @Test func `each hole is reported at once`() {
    var link = DeviceLink.make(.open)
    #expect(link.reply(to: .data(1)).map(\.payload.first) == [0b1])
    #expect(link.reply(to: .data(3)).map(\.payload.first) == [0b101])
    let third = link.reply(to: .data(5))
    #expect(third.map(\.payload.first) == [0b10101])
    #expect(third.map(\.sketch) == [.init(type: .nak, sequence: 0, ack: 0, credit: 16)])
  }

  @Test func `frames after a hole are reported with every second one, or after 5 ms`() {
    var link = DeviceLink.make(.open)
    _ = link.reply(to: .data(1))
    #expect(link.reply(to: .data(2)).isEmpty)
    #expect(link.reply(to: .data(3)).map(\.payload.first) == [0b111])
    #expect(link.reply(to: .data(4), at: .ms(10)).isEmpty)
    #expect(link.nextDeadline == .ms(15))
    #expect(link.frames(at: .ms(14)).isEmpty)
    #expect(link.frames(at: .ms(15)).map(\.payload.first) == [0b1111])
    #expect(link.frames(at: .ms(40)).isEmpty)
  }

  @Test func `a frame between two kept ones opens no hole and is reported after 5 ms`() {
    var link = DeviceLink.make(.open)
    _ = link.reply(to: .data(1))
    _ = link.reply(to: .data(4))
    #expect(link.reply(to: .data(3)).isEmpty)
    #expect(link.frames(at: .ms(5)).map(\.payload.first) == [0b1101])
  }

  @Test func `a bitmap is also sent when the timer fires late`() {
    var link = DeviceLink.make(.open)
    _ = link.reply(to: .data(1))
    _ = link.reply(to: .data(2))
    #expect(link.frames(at: .ms(30)).map(\.payload.first) == [0b11])
  }

  @Test func `while a later hole is open a NAK replaces the ACK`() {
    var link = DeviceLink.make(.open)
    _ = link.reply(to: .data(1))
    _ = link.reply(to: .data(3))
    let frames = link.reply(to: .data(0))
    #expect(frames.map(\.sketch) == [.init(type: .nak, sequence: 0, ack: 2, credit: 14)])
    #expect(frames.map(\.payload.first) == [0b1])
    #expect(link.reply(to: .data(2)).types == [.ack])
  }

  @Test func `kept frames count towards the granted bytes`() {
    var link = DeviceLink.make(.open)
    let payload = [UInt8](repeating: 1, count: 528)
    for sequence in UInt8(1)..<10 { link.receive(.data(sequence, payload: payload), now: .zero) }
    // 4096 / 540 = 7; 8 and 9 are beyond the grant.
    #expect(link.counters.outOfWindow == 2)
    #expect(link.drainFrames().last?.payload.first == 0b1111111)
  }

  @Test func `a frame that is already kept takes no more of the granted bytes`() {
    var link = DeviceLink.make(.open)
    let payload = [UInt8](repeating: 1, count: 528)
    for sequence in UInt8(1)...7 { link.receive(.data(sequence, payload: payload), now: .zero) }
    for sequence in [UInt8(3), 7] { link.receive(.data(sequence, payload: payload), now: .zero) }
    #expect(link.counters.outOfWindow == 0)
    #expect(link.counters.outOfOrder == 9)
  }

  @Test func `kept frames that move up free their bytes`() {
    var kept = KeptFrames()
    for distance in 1...3 {
      let payload = [UInt8](repeating: 1, count: distance * 100)
      _ = kept.keep(DeviceSession.Inbound(channel: .att, payload: payload), distance: distance)
    }
    let lengths = (1...4).map { _ in
      let next = kept.advance()
      return [next?.lengthBytes ?? 0, kept.lengthBytes]
    }
    #expect(lengths == [[112, 524], [212, 312], [312, 0], [0, 0]])
  }

  @Test(arguments: [OutOfOrderFrames.kept, .dropped])
  func `a random line with retransmission delivers each frame once, in order`(
    outOfOrder: OutOfOrderFrames
  ) {
    var random = SeededGenerator(seed: 11)
    var link = DeviceLink.make(.open, outOfOrder: outOfOrder)
    var taken: [UInt8] = []
    var acknowledged = 0
    for _ in 0..<20_000 where acknowledged < 200 {
      let number = acknowledged + Int(random.next() % 20)
      guard number < 200 else { continue }
      link.receive(.data(UInt8(number), payload: [UInt8(number)]), now: .zero)
      taken += payloads(&link)
      for frame in link.drainFrames() { acknowledged = max(acknowledged, Int(frame.header.ack)) }
      guard case .live(let session) = link.state else { return #expect(Bool(false), "no session") }
      #expect(session.value.inboundBytes <= 4096)
      acknowledged = Int(session.value.received)
    }
    #expect(taken == (0..<200).map { UInt8($0) })
  }

  // MARK: Retransmissions of the device

  @Test func `a NAK retransmits the frames from ack on`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(5)
    #expect(link.reply(to: .host(.nak, ack: 2)).sequences == [2, 3, 4])
  }

  @Test func `a NAK with a bitmap retransmits the missing frames below the highest held one`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(6)
    // Bits 0 and 2: frames 2 and 4 beyond the missing 1.
    #expect(link.reply(to: .nak(0b101, ack: 1)).sequences == [1, 3])
    #expect(link.reply(to: .nak(0b1101, ack: 1)).isEmpty)
    #expect(link.counters.dataResent == 2)
  }

  @Test func `a retransmission that is lost is sent once more when something newer has arrived`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(3)
    #expect(link.reply(to: .nak(0b11)).sequences == [0])
    #expect(link.reply(to: .nak(0b11)).isEmpty)
    #expect(link.sendData(1).sequences == [3])
    #expect(link.reply(to: .nak(0b111)).sequences == [0])
    #expect(link.reply(to: .nak(0b111)).isEmpty)
  }

  @Test func `the timer skips held frames, except for the oldest frame`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(5)
    #expect(link.reply(to: .nak(0b1010)).sequences == [0, 1, 3])
    #expect(link.frames(at: .ms(250)).sequences == [0, 1, 3])
    link.receive(.host(.ack, ack: 2), now: .ms(260))
    #expect(link.frames(at: .ms(760)).sequences == [2, 3])
  }

  @Test func `an ACK of a frame that is due again leaves the others due`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(5)
    link.receive(.host(.nak), now: .zero)
    link.receive(.host(.ack, ack: 1), now: .zero)
    #expect(link.drainFrames().sequences == [1, 2, 3, 4])
  }

  @Test func `a bitmap that removes a frame due again leaves the timer running`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(2)
    link.handleTimeout(now: .ms(250))
    #expect(link.nextFrame()?.header.sequence == 0)
    link.receive(.nak(0b1), now: .ms(251))
    #expect(link.drainFrames().isEmpty)
    #expect(link.frames(at: .ms(750)).sequences == [0])
  }

  @Test func `a NAK that makes nothing due leaves the timer running`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(2)
    #expect(link.reply(to: .nak(0b1), at: .ms(10)).sequences == [0])
    #expect(link.reply(to: .nak(0b1), at: .ms(20)).isEmpty)
    #expect(link.frames(at: .ms(260)).sequences == [0])
  }

  @Test func `a frame that is due again and then reported as held is not sent`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(3)
    link.receive(.host(.nak), now: .zero)
    link.receive(.nak(0b1), now: .zero)
    #expect(link.drainFrames().sequences == [0, 2])
  }

  @Test func `the frames that are due are counted, however they become so or cease to be`() {
    var link = DeviceLink.make(.open)
    var counts: [Int?] = []
    func record() { counts.append(link.dueCount) }
    for _ in 0..<4 { link.send([1], on: .att) }
    record()
    _ = link.drainFrames()
    record()
    link.receive(.host(.nak), now: .zero)
    record()
    link.receive(.nak(0b1), now: .zero)
    record()
    link.receive(.host(.ack, ack: 1), now: .zero)
    record()
    _ = link.drainFrames()
    record()
    link.handleTimeout(now: .ms(500))
    record()
    #expect(counts == [4, 0, 4, 3, 2, 0, 3])
  }

  @Test func `a NAK without a bitmap clears the held frames`() {
    var link = DeviceLink.make(.open)
    _ = link.sendData(4)
    _ = link.reply(to: .nak(0b11))
    #expect(link.reply(to: .host(.nak)).sequences == [0, 1, 2, 3])
  }
}

extension Frame {
  /// A NAK of the host with a bitmap.
  fileprivate static func nak(_ held: UInt8, ack: UInt8 = 0) -> Frame {
    host(.nak, ack: ack, payload: [held, 0, 0, 0, 0, 0, 0, 0])
  }
}

extension DeviceLink {
  /// The frames of the live session that are due.
  fileprivate var dueCount: Int? {
    guard case .live(let session) = state else { return nil }
    return session.value.dueCount
  }
}
