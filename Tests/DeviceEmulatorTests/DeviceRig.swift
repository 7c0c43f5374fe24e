import NotibotProtocol

@testable import DeviceEmulator

/// The notification that PROTOCOL.md shows.
let sampleJSON = #"{"app":"Messages","title":"Jane Doe","text":"See you tomorrow!","timestamp":1234567890}"#

/// The bytes of pairs of hexadecimal digits.
func bytes(_ digits: String) -> [UInt8] {
  let nibbles = digits.compactMap(\.hexDigitValue).map(UInt8.init)
  return stride(from: 0, to: nibbles.count - 1, by: 2).map { nibbles[$0] << 4 | nibbles[$0 + 1] }
}

/// A device in virtual time, and a trivial host: it sends what a test provides and stores what it
/// receives.
struct DeviceRig {
  var device: EmulatedDevice
  var now = Instant.zero
  private var decoder = FrameDecoder(receiving: .fromDevice)
  /// All received bytes that are not taken yet.
  var frames: [Frame] = []
  var text: [UInt8] = []

  init(profile: DeviceProfile = .quiet, seed: UInt64 = 1) {
    device = EmulatedDevice(profile: profile, seed: seed, now: now)
    drain()
  }

  /// Puts bytes on the line and collects the answers.
  mutating func send(_ bytes: [UInt8]) {
    device.receive(bytes, now: now)
    drain()
  }

  /// Sends a frame of the host.
  mutating func send(
    _ type: FrameType, channel: Channel = .link, session: UInt16 = 0, sequence: UInt8 = 0, ack: UInt8 = 0,
    credit: UInt8 = 0, payload: [UInt8] = []
  ) {
    let header = FrameHeader(
      type: type, direction: .fromHost, channel: channel, session: session, sequence: sequence, ack: ack,
      credit: credit)
    send(Frame(header, payload: payload).encoded())
  }

  /// Sends DATA on the ATT channel with a wide window.
  mutating func send(data: [UInt8], sequence: UInt8, ack: UInt8 = 0, credit: UInt8 = 64, session: UInt16) {
    send(.data, channel: .att, session: session, sequence: sequence, ack: ack, credit: credit, payload: data)
  }

  /// Lets time pass, stopping at each deadline.
  mutating func advance(by duration: Duration) {
    let end = now + duration
    while let deadline = device.nextDeadline, deadline <= end {
      now = max(now, deadline)
      device.handleTimeout(now: now)
      drain()
    }
    now = end
    device.handleTimeout(now: now)
    drain()
  }

  @discardableResult
  mutating func perform(_ command: DeviceCommand) -> DeviceReply {
    let reply = device.perform(command, now: now)
    drain()
    return reply
  }

  /// SYN, SYNACK, ACK. Discards everything received so far, and returns the session's id.
  mutating func openSession(
    nonce: UInt64 = 0x1122_3344_5566_7788, features: Features = [.pipelinedRequests],
    limits: LinkLimits = LinkLimits(frames: 64, requests: 8, mtu: 517, bytes: 65_536), credit: UInt8 = 64
  ) throws -> UInt16 {
    frames = []
    send(.syn, payload: Syn(nonce: nonce, features: features, limits: limits).encoded())
    guard let synack = frames.last, synack.header.type == .synack else { throw NoSession(frames: frames) }
    frames = []
    send(.ack, session: synack.header.session, credit: credit)
    text = []
    return synack.header.session
  }

  struct NoSession: Error {
    var frames: [Frame]
  }

  /// Takes every frame received.
  mutating func drainFrames() -> [Frame] {
    defer { frames = [] }
    return frames
  }

  /// Takes every received frame and returns the payloads of the DATA frames.
  mutating func dataPayloads() -> [[UInt8]] {
    drainFrames().filter { $0.header.type == .data }.map(\.payload)
  }

  /// Takes the received frames and returns their types.
  mutating func frameTypes() -> [FrameType] {
    drainFrames().map(\.header.type)
  }

  private mutating func drain() {
    while let bytes = device.nextTransmit() { decoder.receive(bytes) }
    while let event = decoder.nextEvent() {
      switch event {
      case .frame(let frame): frames.append(frame)
      case .text(let bytes): text += bytes
      }
    }
  }
}
