import NotibotProtocol

@testable import DeviceEmulator

/// A device and a host that acknowledges everything at once; received messages are kept as words.
struct SyncRig {
  var rig: DeviceRig
  private(set) var session: UInt16 = 0
  private var sequence: UInt8 = 0
  private var received: UInt8 = 0
  private var nonce: UInt64 = 0

  init(profile: DeviceProfile = .quiet) {
    rig = DeviceRig(profile: profile)
  }

  var device: EmulatedDevice { rig.device }

  /// Opens a session, exchanges the MTU and subscribes to Data.
  mutating func open(
    features: Features = [.pipelinedRequests, .optionalKeys, .sync], source: UInt32? = nil,
    clock: Int64? = nil, mtu: UInt16 = 517, subscribes: Bool = true
  ) {
    nonce += 1
    sequence = 0
    received = 0
    let clock = clock.map { HostClock(seconds: $0, zoneOffsetMinutes: 0) }
    let syn = Syn(
      nonce: nonce, features: features, limits: LinkLimits(frames: 64, requests: 8, mtu: mtu, bytes: 65_536),
      source: source, clock: clock)
    rig.send(.syn, payload: syn.encoded())
    session = rig.drainFrames().last?.header.session ?? 0
    rig.send(.ack, session: session, credit: 64)
    _ = ask([0x02] + mtu.littleEndianBytes)
    if subscribes { _ = ask([0x12, 0x07, 0x00, 0x01, 0x00]) }
  }

  /// Sends DATA and returns everything received until the device has no more output.
  mutating func ask(_ payload: [UInt8], on channel: Channel = .att) -> [String] {
    send(payload, on: channel)
    return drainWords()
  }

  /// Sends DATA and acknowledges nothing; the host grants this many more frames.
  mutating func send(_ payload: [UInt8], on channel: Channel = .att, credit: UInt8 = 64) {
    rig.send(
      .data, channel: channel, session: session, sequence: sequence, ack: received, credit: credit,
      payload: payload)
    sequence &+= 1
  }

  /// Writes Data.
  mutating func write(_ json: [UInt8]) -> [String] { ask([0x12, 0x06, 0x00] + json) }

  mutating func sync(_ source: UInt32 = homeSource, known: UInt32 = 0) -> [String] {
    ask(syncMessage(source, known: known), on: .link)
  }

  mutating func perform(_ command: DeviceCommand) -> [String] {
    rig.perform(command)
    return drainWords()
  }

  mutating func advance(by duration: Duration) -> [String] {
    rig.advance(by: duration)
    return drainWords()
  }

  /// Everything received until the device has no more output: Data notifications as their JSON,
  /// messages of channel 0 in words, everything else in hexadecimal.
  mutating func drainWords(credit: UInt8 = 64) -> [String] {
    var words: [String] = []
    while true {
      let frames = rig.drainFrames().filter { $0.header.type == .data }
      guard !frames.isEmpty else { return words }
      for frame in frames {
        received &+= 1
        words.append(frame.word)
      }
      rig.send(.ack, session: session, ack: received, credit: credit)
    }
  }
}

func syncMessage(_ source: UInt32 = homeSource, known: UInt32 = 0) -> [UInt8] {
  SyncMessage.sync(SyncRequest(source: source, knownID: known, holdings: Holdings())).encoded()
}

extension Frame {
  fileprivate var word: String {
    if header.channel == .link {
      switch try? SyncMessage(parsing: payload) {
      case .synced(let answer): return "SYNCED n=\(answer.holdings.count) hwm=\(answer.highestID)"
      case .gone(let reason, let key): return "GONE \(reason) \(key.id)"
      case .resync: return "RESYNC"
      case .press(let press):
        return "ACTION \(press.act) of \(press.key.id) rev \(press.revision) press \(press.number)"
      case .sync, .taken, nil: return "? \(hex(payload))"
      }
    }
    if payload.starts(with: [0x1B, 0x06, 0x00]) {
      return String(decoding: payload.dropFirst(3), as: UTF8.self)
    }
    return hex(payload).lowercased()
  }
}
