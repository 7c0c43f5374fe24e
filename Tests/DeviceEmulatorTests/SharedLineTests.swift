import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// The device's end of a client's line to a shared board.
struct SharedLineTests {
  private static let board = SharedBoard(
    deviceID: nil, firmwareName: nil, firmwareVersion: nil, buildHash: nil, capacity: 64,
    features: [.pipelinedRequests], bootID: 5, bootCount: 1, resetReason: .powerOn)

  /// A line with an open session, whose events and bytes are all taken, and the id of the session.
  private static func makeOpen() throws -> (SharedLine, UInt16) {
    var line = SharedLine(board: board, seed: 1, now: .zero)
    _ = frames(of: &line)
    line.receive(Frame.syn(firstNonce).encoded(), now: .zero)
    let session = try #require(frames(of: &line).last?.header.session)
    line.receive(Frame.host(.ack, session: session).encoded(), now: .zero)
    #expect(line.nextEvent() == .opened(source: nil))
    return (line, session)
  }

  private static func frames(of line: inout SharedLine) -> [Frame] {
    var decoder = FrameDecoder(receiving: .fromDevice)
    while let bytes = line.nextTransmit() { decoder.receive(bytes) }
    var frames: [Frame] = []
    while case .frame(let frame)? = decoder.nextEvent() { frames.append(frame) }
    return frames
  }

  private static func data(_ sequence: Int, session: UInt16) -> [UInt8] {
    Frame.host(
      .data, channel: .att, session: session, sequence: UInt8(truncatingIfNeeded: sequence),
      payload: [UInt8(truncatingIfNeeded: sequence)]
    ).encoded()
  }

  @Test func `64 events are queued, and the requests beyond them wait for room`() throws {
    var (line, session) = try Self.makeOpen()
    for sequence in 0..<64 { line.receive(Self.data(sequence, session: session), now: .zero) }
    // All are handled: the client gets credit for 64 more.
    #expect(Self.frames(of: &line).last?.header.credit == 64)
    for sequence in 64..<70 { line.receive(Self.data(sequence, session: session), now: .zero) }
    #expect(Self.frames(of: &line).last?.header.credit == 58)
    for sequence in 0..<70 { #expect(line.nextEvent() == .request([UInt8(sequence)])) }
    #expect(line.nextEvent() == nil)
  }

  @Test func `a FIN ends the session behind the requests before it`() throws {
    var (line, session) = try Self.makeOpen()
    for sequence in 0..<66 { line.receive(Self.data(sequence, session: session), now: .zero) }
    line.receive(Frame.host(.fin, session: session).encoded(), now: .zero)
    for sequence in 0..<66 { #expect(line.nextEvent() == .request([UInt8(sequence)])) }
    #expect(line.nextEvent() == .ended)
  }

  @Test func `a client is flooding when more than 512 events are queued`() throws {
    var (line, _) = try Self.makeOpen()
    #expect(!line.isFlooded)
    Self.queueText(512, in: &line)
    #expect(!line.isFlooded)
    Self.queueText(513, in: &line)
    #expect(line.isFlooded)
  }

  @Test func `one transmission ends with the frame that makes it 16 KiB long`() throws {
    var (line, _) = try Self.makeOpen()
    for _ in 0..<60 where line.hasRoom { line.send([UInt8](repeating: 1, count: 512), on: .att) }
    let lengths = [line.nextTransmit()?.count ?? 0, line.nextTransmit()?.count ?? 0]
    #expect(lengths[0] >= 16_384 && lengths[0] < 16_384 + 540)
    #expect(lengths[1] > 0)
  }

  @Test func `a request waits while more than 64 events are queued`() throws {
    var (line, session) = try Self.makeOpen()
    Self.queueText(70, in: &line)
    for sequence in 0..<2 { line.receive(Self.data(sequence, session: session), now: .zero) }
    #expect(Self.frames(of: &line).last?.header.credit == 62)
    for _ in 0..<70 { _ = line.nextEvent() }
    #expect(line.nextEvent() == .request([0]))
    #expect(line.nextEvent() == .request([1]))
  }

  /// Sends text, which no credit limits, until so many events are queued.
  private static func queueText(_ count: Int, in line: inout SharedLine) {
    while eventsCount(line) < count {
      line.receive([UInt8](repeating: UInt8(ascii: "x"), count: 16), now: .zero)
    }
    #expect(eventsCount(line) == count)
  }

  private static func eventsCount(_ line: SharedLine) -> Int {
    var line = line
    var count = 0
    while line.nextEvent() != nil { count += 1 }
    return count
  }
}
