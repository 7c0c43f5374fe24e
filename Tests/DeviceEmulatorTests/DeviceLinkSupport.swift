import NotibotProtocol

@testable import DeviceEmulator

/// Session id of the first session of `DeviceLink.make`.
let firstSession: UInt16 = 0x3A7C
let firstNonce: UInt64 = 0x1122_3344_5566_7788
let hostLimits = LinkLimits(frames: 64, requests: 8, mtu: 517, bytes: 65_536)

extension DeviceLink {
  /// The initial states of a test.
  enum Start: CaseIterable {
    case idle
    case offered
    case open
    case closing
  }

  /// A link in a state, at time 0, with all its initial frames already taken.
  static func make(
    _ start: Start, limits: LinkLimits = DeviceProfile.usualLimits, peer: LinkLimits = hostLimits,
    features: Features = [.pipelinedRequests], credit: UInt8 = 64, outOfOrder: OutOfOrderFrames = .kept
  ) -> DeviceLink {
    let identity = LinkIdentity(
      limits: limits, outOfOrder: outOfOrder, features: [.pipelinedRequests, .framedLog], deviceID: nil,
      firmwareName: "notibot",
      firmwareVersion: "1.0.0", buildHash: [], profileHash: 0, capacity: 64)
    let boot = BootRecord(id: 0xB007_1D42, count: 7, reason: .powerOn, time: .zero)
    var link = DeviceLink(identity: identity, boot: boot, firstSessionID: firstSession)
    _ = link.drainFrames()
    if start == .idle { return link }
    link.receive(.syn(firstNonce, features: features, limits: peer), now: .zero)
    _ = link.drainFrames()
    if start == .offered { return link }
    link.receive(.host(.ack, credit: credit), now: .zero)
    _ = link.drainEvents()
    if start == .open { return link }
    link.close(now: .zero)
    _ = link.drainFrames()
    return link
  }

  /// Every frame that is due.
  mutating func drainFrames() -> [Frame] {
    var frames: [Frame] = []
    while let frame = nextFrame() { frames.append(frame) }
    return frames
  }

  mutating func drainEvents() -> [Event] {
    var events: [Event] = []
    while let event = nextEvent() { events.append(event) }
    return events
  }

  /// Sends payloads while there is room, each one byte long; returns the frames.
  mutating func sendData(_ count: Int) -> [Frame] {
    for index in 0..<count { send([UInt8(index)], on: .att) }
    return drainFrames()
  }

  /// Sets the time and returns the frames that are due.
  mutating func frames(at now: Instant) -> [Frame] {
    handleTimeout(now: now)
    return drainFrames()
  }

  mutating func reply(to frame: Frame, at now: Instant = .zero) -> [Frame] {
    receive(frame, now: now)
    return drainFrames()
  }
}

extension Frame {
  /// A frame of the host in the first session.
  static func host(
    _ type: FrameType, channel: Channel = .link, session: UInt16 = firstSession, sequence: UInt8 = 0,
    ack: UInt8 = 0, credit: UInt8 = 64, payload: [UInt8] = []
  ) -> Frame {
    Frame(
      FrameHeader(
        type: type, direction: .fromHost, channel: channel, session: session, sequence: sequence, ack: ack,
        credit: credit), payload: payload)
  }

  /// DATA of the host on the ATT channel.
  static func data(
    _ sequence: UInt8, ack: UInt8 = 0, credit: UInt8 = 64, payload: [UInt8] = [0x0A, 0x03, 0x00]
  ) -> Frame {
    host(.data, channel: .att, sequence: sequence, ack: ack, credit: credit, payload: payload)
  }

  static func syn(
    _ nonce: UInt64, features: Features = [.pipelinedRequests], limits: LinkLimits = hostLimits
  ) -> Frame {
    Frame(
      FrameHeader(type: .syn, direction: .fromHost),
      payload: Syn(nonce: nonce, features: features, limits: limits).encoded())
  }

  /// A frame of the device, reduced to the fields that most tests check.
  struct Sketch: Equatable {
    var type: FrameType
    var sequence: UInt8
    var ack: UInt8
    var credit: UInt8
  }

  var sketch: Sketch {
    Sketch(type: header.type, sequence: header.sequence, ack: header.ack, credit: header.credit)
  }
}

extension [Frame] {
  var types: [FrameType] { map(\.header.type) }
  var sequences: [UInt8] { map(\.header.sequence) }
}

extension Instant {
  static func ms(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }
}
