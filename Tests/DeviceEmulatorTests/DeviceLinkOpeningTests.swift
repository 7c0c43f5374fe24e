import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct DeviceLinkOpeningTests {
  // MARK: Every state, every frame

  /// The frames sent in reaction to a frame. Each frame carries the live session if there is one.
  private static let table: [(DeviceLink.Start, FrameType, [FrameType])] = [
    (.idle, .hello, []), (.idle, .syn, [.synack]), (.idle, .synack, []), (.idle, .data, [.rst]),
    (.idle, .ack, [.rst]), (.idle, .nak, [.rst]), (.idle, .udata, []), (.idle, .ping, [.rst]),
    (.idle, .pong, []), (.idle, .rst, []), (.idle, .fin, []),
    (.offered, .hello, []), (.offered, .syn, [.synack]), (.offered, .synack, []), (.offered, .data, []),
    (.offered, .ack, []), (.offered, .nak, []), (.offered, .udata, []), (.offered, .ping, [.pong]),
    (.offered, .pong, []), (.offered, .rst, []), (.offered, .fin, [.ack]),
    (.open, .hello, []), (.open, .syn, [.synack]), (.open, .synack, []), (.open, .data, []),
    (.open, .ack, []), (.open, .nak, []), (.open, .udata, []), (.open, .ping, [.pong]),
    (.open, .pong, []), (.open, .rst, []), (.open, .fin, [.ack]),
    (.closing, .hello, []), (.closing, .syn, [.synack]), (.closing, .synack, []), (.closing, .data, []),
    (.closing, .ack, []), (.closing, .nak, []), (.closing, .udata, []), (.closing, .ping, []),
    (.closing, .pong, []), (.closing, .rst, []), (.closing, .fin, []),
  ]

  @Test func `the table contains every combination of state and frame`() {
    #expect(Self.table.count == DeviceLink.Start.allCases.count * FrameType.allCases.count)
  }

  @Test(arguments: table)
  func `each frame in each state gets its answer`(
    start: DeviceLink.Start, type: FrameType, expected: [FrameType]
  ) {
    var link = DeviceLink.make(start)
    let payload: [UInt8] =
      switch type {
      case .syn: Syn(nonce: 99).encoded()
      case .data, .udata, .pong: [1]
      case .hello, .synack, .ack, .nak, .ping, .rst, .fin: []
      }
    #expect(link.reply(to: .host(type, payload: payload)).types == expected)
  }

  @Test(arguments: [
    (FrameType.data, [UInt8]()), (.nak, [1, 2, 3, 4, 5, 6, 7]), (.pong, []),
  ])
  func `a payload shorter than its format is counted and otherwise ignored`(
    type: FrameType, payload: [UInt8]
  ) {
    var link = DeviceLink.make(.open)
    var expected = link
    expected.clock = .ms(700)
    expected.counters.malformed = 1
    #expect(link.reply(to: .host(type, payload: payload), at: .ms(700)).isEmpty)
    #expect(link == expected)
  }

  // MARK: HELLO

  @Test func `a device sends HELLO three times, 200 ms apart`() {
    let boot = BootRecord(id: 1, count: 1, reason: .powerOn, time: .ms(1000))
    var link = DeviceLink(identity: DeviceProfile.quiet.identity, boot: boot, firstSessionID: 1)
    #expect(link.drainFrames().types == [.hello])
    #expect(link.nextDeadline == .ms(1200))
    #expect(link.frames(at: .ms(1199)).isEmpty)
    #expect(link.frames(at: .ms(1200)).types == [.hello])
    #expect(link.frames(at: .ms(1400)).types == [.hello])
    #expect(link.nextDeadline == nil)
  }

  @Test func `a SYN ends the HELLO frames`() {
    let boot = BootRecord(id: 1, count: 1, reason: .powerOn, time: .zero)
    var link = DeviceLink(identity: DeviceProfile.quiet.identity, boot: boot, firstSessionID: 1)
    link.receive(.syn(5), now: .zero)
    #expect(link.drainFrames().types == [.synack])
    #expect(link.frames(at: .ms(400)).isEmpty)
  }

  @Test func `HELLO contains the identity, the boot and the reset reason`() throws {
    let boot = BootRecord(id: 0xB007_1D42, count: 7, reason: .brownout, time: .zero)
    var link = DeviceLink(identity: DeviceProfile.quiet.identity, boot: boot, firstSessionID: 1)
    let frame = try #require(link.drainFrames().first)
    let hello = try Hello(parsing: frame.payload)
    #expect(frame.header == FrameHeader(type: .hello, direction: .fromDevice))
    #expect(hello.bootID == 0xB007_1D42)
    #expect(hello.bootCount == 7)
    #expect(hello.resetReason == .brownout)
    #expect(hello.versions == VersionRange(lowest: 1, highest: 1))
  }

  // MARK: SYN and SYNACK

  @Test func `SYNACK carries the nonce, the id, ack 0 and the first credit`() throws {
    var link = DeviceLink.make(.idle)
    let frame = try #require(link.reply(to: .syn(42), at: .ms(1500)).first)
    let expected = FrameHeader(type: .synack, direction: .fromDevice, session: firstSession, credit: 16)
    #expect(frame.header == expected)
    let synack = try SynAck(parsing: frame.payload)
    #expect(synack.nonce == 42)
    #expect(synack.version == 1)
    #expect(synack.bootID == 0xB007_1D42)
    #expect(synack.limits == LinkLimits(frames: 16, requests: 8, mtu: 517, bytes: 4096))
    #expect(synack.uptimeMs == 1500)
  }

  @Test func `the same SYN gets the same SYNACK after data was received, and nothing else changes`() {
    var link = DeviceLink.make(.idle)
    let first = link.reply(to: .syn(42))
    _ = link.reply(to: .data(0))
    _ = link.popInbound()
    var expected = link
    expected.clock = .ms(3000)
    #expect(link.reply(to: .syn(42), at: .ms(3000)) == first)
    #expect(link == expected)
  }

  @Test func `a new nonce gets the next id and ends the previous session`() throws {
    var link = DeviceLink.make(.open)
    let frame = try #require(link.reply(to: .syn(43)).first)
    #expect(frame.header.session == firstSession + 1)
    #expect(
      link.drainEvents() == [.ended(.superseded), .opened(.init(features: [.pipelinedRequests]))])
  }

  @Test func `the id after 65535 is 1`() throws {
    let boot = BootRecord(id: 1, count: 1, reason: .powerOn, time: .zero)
    var link = DeviceLink(identity: DeviceProfile.quiet.identity, boot: boot, firstSessionID: .max)
    _ = link.reply(to: .syn(1))
    #expect(link.sessionID == 65_535)
    _ = link.reply(to: .syn(2))
    #expect(link.sessionID == 1)
  }

  @Test func `each of the last 8 nonces is ignored, the one before them opens a session again`() {
    var link = DeviceLink.make(.idle)
    for nonce in UInt64(1)...9 { _ = link.reply(to: .syn(nonce)) }
    for nonce in UInt64(2)...8 { #expect(link.reply(to: .syn(nonce)).isEmpty) }
    #expect(link.counters.staleSyns == 7)
    #expect(link.sessionID == firstSession + 8)
    #expect(link.reply(to: .syn(1)).types == [.synack])
  }

  @Test func `a nonce is still remembered when its session has ended`() {
    var link = DeviceLink.make(.open)
    _ = link.reply(to: .host(.fin))
    #expect(link.reply(to: .syn(firstNonce)).isEmpty)
  }

  // MARK: RST

  /// Refused SYN payloads, the reason, and the TLV type in the answer. NONCE 88 77 66 55 44 33 22
  /// 11.
  private static let refused: [(String, [UInt8], UInt8, UInt8?)] = [
    ("no MAGIC", bytes("82088877665544332211 83020101"), 4, nil),
    ("another magic", bytes("81044e424f58 82088877665544332211 83020101"), 4, nil),
    ("VERSIONS missing", bytes("81044e424f54 82088877665544332211"), 4, nil),
    ("VERSIONS short", bytes("81044e424f54 82088877665544332211 830101"), 4, nil),
    ("NONCE twice", bytes("81044e424f54 82088877665544332211 82088877665544332211 83020101"), 4, nil),
    ("past the end", bytes("81044e424f54 82088877665544332211 83020101 050401"), 4, nil),
    ("unknown critical", bytes("81044e424f54 82088877665544332211 83020101 9e0101"), 3, 0x9E),
    ("version 2 to 9", bytes("81044e424f54 82088877665544332211 83020209"), 2, nil),
    ("version 0", bytes("81044e424f54 82088877665544332211 83020000"), 2, nil),
  ]

  @Test(arguments: refused)
  func `an unacceptable SYN is refused with its nonce, and the live session stays`(
    name: String, payload: [UInt8], reason: UInt8, refused: UInt8?
  ) throws {
    var link = DeviceLink.make(.open)
    let frames = link.reply(to: .host(.syn, session: 0, credit: 0, payload: payload))
    #expect(frames.types == [.rst])
    let rst = try Rst(parsing: try #require(frames.first).payload)
    #expect(frames.first?.header.session == 0)
    #expect(rst.reason.wire == reason)
    #expect(rst.refused == refused)
    #expect(rst.nonce == 0x1122_3344_5566_7788)
    #expect(rst.bootID == 0xB007_1D42)
    #expect(link.sessionID == firstSession)
  }

  @Test func `an unknown TLV that is not critical is ignored`() {
    var link = DeviceLink.make(.idle)
    let payload = bytes("81044e424f54 82088877665544332211 83020101 1e0101")
    #expect(link.reply(to: .host(.syn, payload: payload)).types == [.synack])
  }

  @Test func `frames of another session are answered ten times per second`() throws {
    var link = DeviceLink.make(.open)
    for _ in 0..<25 { link.receive(.host(.ping, session: 0x1234), now: .ms(100)) }
    let frames = link.drainFrames()
    #expect(frames.count == 10)
    #expect(frames.first?.header.session == 0x1234)
    #expect(try Rst(parsing: try #require(frames.first).payload).reason == .noSession)
    #expect(link.counters.rstsSuppressed == 15)
    #expect(link.reply(to: .host(.ack, session: 0x1234), at: .ms(1099)).isEmpty)
    #expect(link.reply(to: .host(.ack, session: 0x1234), at: .ms(1100)).types == [.rst])
  }

  // MARK: FIN

  @Test func `FIN is answered with an ACK of the session, which then ends`() {
    var link = DeviceLink.make(.open)
    let frames = link.reply(to: .host(.fin))
    #expect(frames.map(\.header.session) == [firstSession])
    #expect(link.drainEvents() == [.ended(.closedByHost)])
    #expect(link.sessionID == nil)
  }

  @Test func `close sends FIN and ends with the ACK`() {
    var link = DeviceLink.make(.open)
    link.close(now: .zero)
    #expect(link.drainFrames().types == [.fin])
    _ = link.reply(to: .host(.ack))
    #expect(link.drainEvents() == [.ended(.closed)])
  }

  @Test func `close ends after 200 ms without an answer`() {
    var link = DeviceLink.make(.closing)
    #expect(link.nextDeadline == .ms(200))
    link.handleTimeout(now: .ms(199))
    #expect(link.sessionID == firstSession)
    link.handleTimeout(now: .ms(200))
    #expect(link.drainEvents() == [.ended(.closed)])
  }

  @Test func `answers to a line that does not drain are bounded`() {
    var link = DeviceLink.make(.idle)
    for nonce in UInt64(0)..<1000 {
      link.receive(.host(.syn, payload: bytes("82088877665544332211")), now: .ms(Int64(nonce)))
    }
    #expect(link.drainFrames().count == DeviceLink.repliesLimit)
  }
}
