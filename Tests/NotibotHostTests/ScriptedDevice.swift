import NotibotProtocol

@testable import NotibotHost

/// A host machine and a hand-played device, with a clock that only the test moves.
///
/// The device has no behaviour: a test provides each frame that it sends, and reads each frame of
/// the host.
struct ScriptedDevice {
  static let session: UInt16 = 0x3A7C
  static let bootID: UInt32 = 0xB007_1D42

  var machine: HostMachine
  var now = Instant.zero
  /// All actions of the machine except `.write`, in order.
  var actions: [HostAction] = []
  /// Frames of the host that the test has not taken.
  var sent: [Frame] = []
  private var decoder = FrameDecoder(receiving: .fromHost)

  init(_ configuration: HostConfiguration = HostConfiguration(), seed: UInt64 = 1) {
    machine = HostMachine(configuration: configuration, seed: seed)
  }

  // MARK: Driving

  mutating func drain() {
    while let action = machine.nextAction() {
      guard case .write(let bytes) = action else {
        actions.append(action)
        continue
      }
      decoder.receive(bytes)
      while let event = decoder.nextEvent() {
        if case .frame(let frame) = event { sent.append(frame) }
      }
    }
  }

  mutating func connect() {
    machine.connect(now: now)
    drain()
  }

  @discardableResult
  mutating func submit(_ request: HostRequest) -> HostRequestID {
    defer { drain() }
    return machine.submit(request, now: now)
  }

  mutating func close() {
    machine.close(now: now)
    drain()
  }

  mutating func receive(_ frames: Frame...) {
    receive(frames.flatMap { $0.encoded() })
  }

  mutating func receive(_ bytes: [UInt8]) {
    machine.receive(bytes, now: now)
    drain()
  }

  /// Moves the clock from deadline to deadline of the machine, for `duration` in total.
  mutating func pass(_ duration: Duration) {
    let end = now + duration
    while let deadline = machine.nextDeadline, deadline <= end {
      now = max(now, deadline)
      machine.handleTimeout(now: now)
      drain()
    }
    now = end
  }

  /// Moves the clock by `duration` at once, as if the timer fired late.
  mutating func wake(after duration: Duration) {
    now = now + duration
    machine.handleTimeout(now: now)
    drain()
  }

  /// Takes what the host has sent.
  mutating func drainSent() -> [Frame] {
    defer { sent = [] }
    return sent
  }

  /// Takes the actions other than writes.
  mutating func drainActions() -> [HostAction] {
    defer { actions = [] }
    return actions
  }

  // MARK: Frames of the device

  static func hello(bootID: UInt32 = bootID) -> Frame {
    Frame(FrameHeader(type: .hello, direction: .fromDevice), payload: Hello(bootID: bootID).encoded())
  }

  static func synack(
    nonce: UInt64, session: UInt16 = session, bootID: UInt32 = bootID, version: UInt8 = 1,
    features: Features = [.pipelinedRequests], limits: LinkLimits = .usual, credit: UInt8 = 16,
    profileHash: UInt32? = NotibotProfile.hash, deviceID: DeviceID? = nil
  ) -> Frame {
    let answer = SynAck(
      nonce: nonce, version: version, features: features, limits: limits, deviceID: deviceID,
      profileHash: profileHash, capacity: 64, bootID: bootID)
    return Frame(
      FrameHeader(type: .synack, direction: .fromDevice, session: session, credit: credit),
      payload: answer.encoded())
  }

  static func rst(
    _ reason: RSTReason, session: UInt16 = 0, bootID: UInt32? = bootID, nonce: UInt64? = nil
  ) -> Frame {
    Frame(
      FrameHeader(type: .rst, direction: .fromDevice, session: session),
      payload: Rst(reason: reason, bootID: bootID, nonce: nonce).encoded())
  }

  static func frame(
    _ type: FrameType, channel: Channel = .link, session: UInt16 = session, sequence: UInt8 = 0,
    ack: UInt8, credit: UInt8 = 16, payload: [UInt8] = []
  ) -> Frame {
    Frame(
      FrameHeader(
        type: type, direction: .fromDevice, channel: channel, session: session, sequence: sequence, ack: ack,
        credit: credit),
      payload: payload)
  }

  static func pdu(_ bytes: [UInt8], sequence: UInt8, ack: UInt8, credit: UInt8 = 16) -> Frame {
    frame(.data, channel: .att, sequence: sequence, ack: ack, credit: credit, payload: bytes)
  }

  // MARK: Reaching states

  /// The nonce of the last SYN sent.
  func nonce() -> UInt64 {
    for frame in sent.reversed() where frame.header.type == .syn {
      if let syn = try? Syn(parsing: frame.payload) { return syn.nonce }
    }
    return 0
  }

  /// A host that has sent a SYN.
  static func makeOpening(_ configuration: HostConfiguration = HostConfiguration()) -> ScriptedDevice {
    var device = ScriptedDevice(configuration)
    device.connect()
    return device
  }

  /// A host with an open session that has sent Exchange MTU as DATA 0.
  static func makeLinked(
    _ configuration: HostConfiguration = HostConfiguration(), features: Features = [.pipelinedRequests],
    limits: LinkLimits = .usual, credit: UInt8 = 16, profileHash: UInt32? = NotibotProfile.hash
  ) -> ScriptedDevice {
    var device = makeOpening(configuration)
    device.receive(
      synack(
        nonce: device.nonce(), features: features, limits: limits, credit: credit, profileHash: profileHash))
    return device
  }

  /// A host whose session is ready for requests: it has sent DATA 0 and received DATA 0. Nothing is
  /// pending.
  static func makeReady(
    _ configuration: HostConfiguration = HostConfiguration(), features: Features = [.pipelinedRequests],
    limits: LinkLimits = .usual, credit: UInt8 = 16, mtu: UInt16 = 517
  ) -> ScriptedDevice {
    var device = makeLinked(configuration, features: features, limits: limits, credit: credit)
    var answer: [UInt8] = [0x03]
    answer.appendLittleEndian(mtu)
    device.receive(pdu(answer, sequence: 0, ack: 1, credit: credit))
    device.pass(.milliseconds(5))
    _ = device.drainSent()
    _ = device.drainActions()
    return device
  }
}

extension LinkLimits {
  /// A device's usual limits (LNK-8).
  static let usual = LinkLimits(frames: 16, requests: 8, mtu: 517, bytes: 4096)
}
