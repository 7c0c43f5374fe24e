import NotibotProtocol
import SuiteWire

/// Sends random bursts of valid and invalid frames, and compares all frames of the device with a
/// model. For a line without transmission time.
struct LinkWalk {
  /// The time in which a device answers a burst: the longest delayed ACK, 10 ms (LNK-55), and a
  /// margin.
  private static let settleTime = Duration.milliseconds(12)
  /// How long a session is certain to stay up, and down, without a frame (LNK-53).
  private static let (upTime, downTime) = (Duration.milliseconds(4400), Duration.milliseconds(5600))
  /// The number of answers that every device can queue (LNK-20).
  private static let answersLimit = 4

  let probe: Probe
  let seed: UInt64
  private var model: LinkModel
  private var draw: WriteDrawer
  private var step = 0
  /// The frames of the current burst, for messages.
  private var burst: [String] = []
  private var bytes: [UInt8] = []
  private var opens = false
  private var answers = 0
  /// The nonces of all sessions.
  private var nonces: [UInt64] = []
  /// The offsets of the reads in the session's DATA; nil for DATA that has no response.
  private var contents: [Int: Int?] = [:]

  /// - Throws: a finding at the first frame that is not allowed, or is missing.
  static func run(on bench: Bench, steps: Int) async throws {
    try bench.requireExactTime()
    var walk = try await LinkWalk(bench)
    for _ in 0..<steps { try await walk.advance() }
    try await bench.probe.open()
    _ = try await bench.probe.readCount()
  }

  private init(_ bench: Bench) async throws {
    let probe = bench.probe
    (self.probe, seed) = (probe, bench.seed)
    try await probe.open()
    try await probe.write(probe.data([0x55], channel: 2, seq: 1))
    let keeps = try await probe.awaitNAK(missing: 0, held: [1]) == .keeps
    try await probe.write(probe.frame(.fin))
    // RSTs from before the walk no longer count.
    _ = try await probe.frames(for: .milliseconds(1100))
    model = LinkModel(
      deviceFrames: probe.session.peerFrames, unacknowledgedLimit: max(8, probe.session.peerRequests),
      keeps: keeps, lastID: probe.session.id, at: probe.now)
    draw = WriteDrawer(random: SeededGenerator(seed: bench.seed), textLimit: 0)
  }

  private mutating func advance() async throws {
    step += 1
    (burst, bytes, opens, answers) = ([], [], false, 0)
    model.beginBurst(at: probe.now)
    for _ in 0..<(draw.pick([1, 1, 2, 2, 3, 4, 6]) ?? 1) { drawItem() }
    try await probe.write(bytes)
    try await observe(for: Self.settleTime)
    if let missing = model.missing() { throw failure("not sent: \(missing)") }
    let wait = draw.pick([0, 0, 0, 3, 10, 25, 90, 300, 700, 1300, 4000, 5700]) ?? 0
    let silence = model.session.map { probe.now - $0.lastReceived + .milliseconds(Int64(wait)) } ?? .zero
    guard silence < Self.upTime || silence > Self.downTime || model.session?.isConfirmed == false else {
      return
    }
    burst.append("\(wait) ms")
    try await observe(for: .milliseconds(Int64(wait)))
    if silence > Self.downTime, model.session?.isConfirmed == true { model.goDown() }
  }

  private mutating func observe(for interval: Duration) async throws {
    let deadline = probe.now + interval
    while let frame = try await probe.nextFrame(until: deadline) {
      if let flaw = frame.flaws(in: ProbeSession(id: frame.session)).first {
        throw failure("\(frame): \(flaw)")
      }
      if let flaw = model.send(frame, at: probe.now) { throw failure("\(frame): \(flaw)") }
    }
  }

  // MARK: Drawing

  private mutating func drawItem() {
    guard let session = model.session else {
      switch draw.number(1...10) {
      case ...6: drawSYN()
      case 7: drawStray()
      case _: drawNoise()
      }
      return
    }
    let window = min(session.granted, session.expected + model.deviceFrames) - session.expected
    switch draw.number(1...100) {
    case ...34 where window > 0: sendData(session.expected)
    case 35...44 where window > 1: sendData(session.expected + draw.number(1...min(window - 1, 5)))
    case 45...48: send(.data, [0x0A, 3, 0], seq: session.expected - draw.number(1...60))
    case 49...51:
      send(.data, [0x55], channel: 2, seq: session.expected + draw.number(model.deviceFrames...127))
    case 52...60: send(.ping)
    case 61...72: send(.ack)
    case 73...79 where !model.due.hasNAK: drawNAK(session)
    case 80...81: send(.pong, [0])
    case 82: send(.udata, draw.chance(50) ? [] : [0x41], channel: 5)
    case 83...88: drawStray()
    case 89...93: drawSYN()
    case 94...95 where answers < Self.answersLimit:
      answers += 1
      send(.fin)
    case _: drawNoise()
    }
  }

  /// Sends DATA; the same number always has the same content.
  private mutating func sendData(_ seq: Int) {
    let offset = contents[seq] ?? draw.pick([nil, 0, 1, 2, 5, 15, 16])
    contents[seq] = offset
    guard let offset = offset ?? nil else { return send(.data, [0x55], channel: 2, seq: seq) }
    send(.data, [0x0C, 1, 0, UInt8(offset), 0], seq: seq, response: [0x0D] + Suite.service[offset...])
  }

  /// Sends a frame of the session, usually with a possible ack.
  private mutating func send(
    _ kind: WireFrame.Kind, _ payload: [UInt8] = [], channel: UInt8 = 4, seq: Int = 0, ack: Int? = nil,
    response: [UInt8]? = nil
  ) {
    guard let session = model.session else { return }
    var frame = WireFrame(kind: kind, sender: .host, session: session.id, payload: payload)
    if kind == .data || kind == .udata { frame.channel = channel }
    if kind == .data { frame.seq = UInt8(truncatingIfNeeded: seq) }
    if kind != .udata {
      var possible = draw.chance(60) ? session.next : draw.number(session.oldest...session.next)
      // What the host has named as held is not missing.
      while session.named.contains(possible) { possible += 1 }
      // An impossible one is far from all numbers in flight.
      let number = ack ?? (draw.chance(10) ? session.oldest + draw.number(100...200) : possible)
      frame.ack = UInt8(truncatingIfNeeded: number)
      frame.credit = UInt8(min(session.frames, draw.pick([64, 64, 64, 64, 64, 20, 3, 1, 0]) ?? 64))
      if frame.credit == 64, draw.chance(5) { frame.credit = 200 }
    }
    add(frame, response)
  }

  private mutating func add(_ frame: WireFrame, _ response: [UInt8]? = nil) {
    burst.append("\(frame)")
    bytes += frame.bytes
    model.receive(frame, response: response, at: probe.now)
  }

  private mutating func drawNAK(_ session: LinkModel.Session) {
    guard draw.chance(70) else { return send(.nak, draw.pick([[], Wire.u64(0)]) ?? []) }
    // A host that holds a frame names it in each bitmap.
    let ack = session.oldest
    let held = session.sent.filter { $0 > ack && (session.named.contains($0) || draw.chance(30)) }
    send(.nak, Wire.u64(Wire.bitmap(of: held, beyond: ack)), ack: ack)
  }

  private mutating func drawSYN() {
    let nonce = draw.pick(Array(nonces.suffix(11))) ?? probe.makeNonce()
    switch draw.number(1...10) {
    case ...3 where answers < Self.answersLimit:
      let nonce = draw.chance(50) ? nonce : probe.makeNonce()
      let flaws: [(UInt64, [TLV])] = [
        (4, [.magic, .nonce(nonce)]), (3, [.magic, .nonce(nonce), .versions(1, 1), TLV(0xC0, [])]),
        (2, [.magic, .nonce(nonce), .versions(2, 3)]),
      ]
      guard let (reason, tlvs) = draw.pick(flaws) else { return }
      burst.append("SYN of nonce \(nonce), to be refused")
      bytes += probe.syn(tlvs).bytes
      model.receiveRefused(nonce: nonce, reason: reason)
      answers += 1
    case 4...5: drawSYN(nonce)
    case 6: if let live = model.session?.nonce { drawSYN(live) }
    case _: drawSYN(probe.makeNonce())
    }
  }

  /// A valid SYN; at most one per burst is answered.
  private mutating func drawSYN(_ nonce: UInt64) {
    let isIgnored = model.nonces.contains(nonce) && model.session?.nonce != nonce
    guard isIgnored || !opens else { return }
    opens = opens || !isIgnored
    let frames = draw.pick([2, 8, 64, 64]) ?? 64
    let byteLimit = draw.pick([1080, 65536]) ?? 65536
    burst.append("SYN of nonce \(nonce)")
    let tlvs = Probe.synTLVs(nonce: nonce, frames: UInt8(frames), requests: 1, bytes: UInt32(byteLimit))
    bytes += probe.syn(tlvs).bytes
    if !isIgnored, model.session?.nonce != nonce {
      nonces.append(nonce)
      contents = [:]
    }
    model.receiveSYN(nonce: nonce, frames: frames, bytes: byteLimit, at: probe.now)
  }

  /// A frame of another session.
  private mutating func drawStray() {
    let other = draw.pick([0, model.lastID &- 1, model.lastID &+ 1000, .max] as [UInt16]) ?? 0
    let kinds: [WireFrame.Kind] = [.ping, .ack, .data, .nak, .pong, .fin, .udata, .rst]
    guard let kind = draw.pick(kinds), other != model.session?.id else { return }
    let isAnswered = [.ping, .ack, .data, .nak].contains(kind)
    guard !isAnswered || answers < Self.answersLimit && model.hasRST(at: probe.now) else { return }
    answers += isAnswered ? 1 : 0
    var frame = WireFrame(kind: kind, sender: .host, session: other)
    if kind == .data || kind == .pong || kind == .udata { frame.payload = [1] }
    if kind == .rst { frame.payload = [TLV.magic, .versions(1, 1), .reason(1)].payload }
    add(frame)
  }

  /// Bytes that no device answers: text, corrupt and malformed frames, and frames of the other
  /// direction.
  private mutating func drawNoise() {
    let id: UInt16 = model.session?.id ?? model.lastID
    let malformed = [
      WireFrame(kind: .data, sender: .host, channel: 4, session: id),
      WireFrame(kind: .pong, sender: .host, session: id),
      WireFrame(kind: .nak, sender: .host, session: id, payload: [1, 2, 3]),
      WireFrame(kind: .ping, sender: .device, session: id),
      WireFrame(kind: .data, sender: .device, session: id, payload: [1]),
    ].map(\.bytes)
    var broken = WireFrame(kind: .ping, sender: .host, session: id).bytes
    broken[broken.count - 2] ^= broken[broken.count - 2] == 1 ? 2 : 1
    guard let noise = draw.pick(malformed + [broken, [0], [0, 0, 0], Array("\r\nlog\r\n\0".utf8)]) else {
      return
    }
    burst.append("[\(Wire.hex(noise, limit: 32))]")
    bytes += noise
  }

  private func failure(_ message: String, file: String = #fileID, line: Int = #line) -> CaseEnd {
    .fault(
      "seed \(seed), step \(step), \(burst.joined(separator: "; ")): \(message)", file: file, line: line)
  }
}
