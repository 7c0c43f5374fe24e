import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// A session leaves no state behind. Each case uses up one piece of state as far as possible, ends
/// the session in every way, opens the next one and checks that piece.
extension Suite {
  static let linkFresh = chapter(.link) {
    leftovers.map { leftover in
      Case(
        leftover.id, "However a session ended, the next one begins \(leftover.what)",
        also: leftover.also + ["LNK-14", "LNK-23"], needs: leftover.needs
      ) { _, bench in
        for ending in SessionEnding.allCases where ending.isPossible(on: bench) {
          try await leftover.open(bench.probe)
          try await leftover.use(bench)
          try await ending.end(bench)
          do {
            try await leftover.check(bench)
          } catch CaseEnd.finding(let finding) {
            throw CaseEnd.fault(
              "after \(ending.rawValue): \(finding.message)", file: finding.file, line: finding.line)
          }
          if let first = bench.record.findings.first {
            throw CaseEnd.fault(
              "\(first.message) (after \(ending.rawValue))", file: first.file, line: first.line)
          }
        }
      }
    }
  }

  private static let leftovers: [Leftover] = [
    Leftover("LNK-33/fresh-hole", "without a hole", also: ["LNK-32"], use: useHole, check: checkHole),
    Leftover("LNK-40/fresh-numbers", "with all numbers at 0", also: ["LNK-30", "LNK-52"]) { bench in
      for _ in 0..<5 { _ = try await bench.probe.readCount() }
    } check: { bench in
      try await bench.probe.open()
      try await bench.probe.expectUnused()
    },
    Leftover("LNK-41/fresh-limit", "without credit to send", use: useLimit, check: checkLimit),
    Leftover(
      "LNK-42/fresh-bytes-sent", "with all bytes of the host free", use: useSentBytes, check: checkSentBytes),
    Leftover(
      "LNK-42/fresh-bytes-received", "with all bytes of the device free", also: ["LNK-32"], needs: [.control],
      use: useReceivedBytes, check: checkReceivedBytes),
    Leftover(
      "LNK-23/fresh-requests", "without the queued requests", also: ["LNK-40"], needs: [.control],
      use: useRequests, check: checkRequests),
    Leftover(
      "LNK-51/fresh-resend-time", "with the first resend time", use: useResendTime, check: checkResendTime),
    Leftover(
      "LNK-51/fresh-backed-off-time", "with a resend time that was not doubled", needs: [.longWaits],
      use: useBackedOffTime, check: checkResendTime),
    Leftover("LNK-34/fresh-answers", "without the unacknowledged answers", also: ["LNK-51"]) { bench in
      _ = try await bench.probe.unacknowledgedAnswers(3)
    } check: { bench in
      try await checkNoAnswers(bench)
    },
    Leftover("LNK-41/fresh-held-back", "without the pending answers", use: useHeldBack) { bench in
      try await checkNoAnswers(bench)
    },
    Leftover(
      "ATT-3/fresh-parts", "with an empty prepare queue", also: ["ATT-14"], use: useParts, check: checkParts),
    Leftover(
      "ATT-3/fresh-cccds", "without subscriptions", also: ["ATT-12"], use: useCCCDs, check: checkCCCDs),
    Leftover("ATT-3/fresh-mtu", "with MTU 23", also: ["ATT-8"], use: useMTU, check: checkMTU),
    Leftover(
      "ATT-3/fresh-notifications", "without notifications of Count", also: ["ATT-17", "ATT-19"],
      needs: [.control], use: useNotifications, check: checkNotifications),
    Leftover(
      "ATT-3/fresh-events", "without notifications of Data", also: ["ATT-17", "ATT-19", "NTF-11"],
      needs: [.control], use: useEvents, check: checkEvents),
    Leftover(
      "LNK-23/fresh-sync", "without a pending SYNC", also: ["NTF-31"], use: useSync, check: checkSync),
  ]

  // MARK: Order and limits

  private static func useHole(_ bench: Bench) async throws {
    try await bench.probe.write(bench.probe.data([0x0A, 3, 0], seq: 1))
    _ = try await bench.probe.awaitNAK(missing: 0, held: [1])
  }

  /// A hole at the same number is requested as if it were the first one, also for a number that
  /// would belong to the same round; and the frames kept after it are not there.
  private static func checkHole(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.open()
    let early: UInt8 = probe.session.peerFrames >= 3 ? 2 : 1
    try await probe.write(probe.data([0x0A, 3, 0], seq: early))
    _ = try await probe.awaitNAK(missing: 0, held: [early])
    try await probe.open()
    try await probe.sendUnserved(Int(early))
    let more = try await probe.fence()
    probe.expect("answers to a request of the previous session", more.filter { $0.kind == .data }, is: [])
  }

  private static func useLimit(_ bench: Bench) async throws {
    for _ in 0..<2 { _ = try await bench.probe.readCount() }
  }

  private static func checkLimit(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.openShut()
    try await probe.sendData([0x0A, 3, 0])
    let held = try await probe.fence() + probe.frames(for: probe.settleTime)
    probe.expect("DATA without credit", held.filter { $0.kind == .data }, is: [])
    probe.session.credit = 1
    try await probe.write(probe.frame(.ack))
    _ = try await probe.awaitFrame("the answer") { $0.kind == .data && $0.seq == 0 }
  }

  private static func useSentBytes(_ bench: Bench) async throws {
    try await bench.probe.expectReads(1080 / 29, "in 1080 bytes")
  }

  private static func checkSentBytes(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), bytes: 1080))
    try await probe.expectReads(1080 / 29, "in 1080 bytes")
  }

  private static func useReceivedBytes(_ bench: Bench) async throws {
    try await bench.requireControl().perform(.stall)
    let probe = bench.probe
    let payload = [UInt8](repeating: 0x55, count: 528)
    for _ in 0..<probe.longFramesGranted { try await probe.sendData(payload, channel: 2) }
    try await probe.expectTaken("\(probe.longFramesGranted) frames of 540 bytes")
  }

  private static func checkReceivedBytes(_ bench: Bench) async throws {
    // Still nothing is handled: leftovers of the previous session would use up the limit.
    try await bench.probe.open()
    try await useReceivedBytes(bench)
    try await bench.requireControl().perform(.resume)
  }

  private static func useRequests(_ bench: Bench) async throws {
    try await bench.requireControl().perform(.stall)
    let probe = bench.probe
    for _ in 0..<min(2, probe.session.peerFrames) { try await probe.sendData([0x0A, 3, 0]) }
    _ = try await probe.fence()
  }

  private static func checkRequests(_ bench: Bench) async throws {
    try await bench.probe.open()
    try await bench.requireControl().perform(.resume)
    try await bench.probe.expectUnused()
  }

  /// No pending frame of this session is sent in the next one, by NAK or timer either.
  private static func checkNoAnswers(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.open()
    try await probe.expectUnused()
    try await probe.write(probe.frame(.nak))
    let sent = try await probe.fence()
    let later = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 900 : 20))
    probe.expect("DATA of the previous session", (sent + later).filter { $0.kind == .data }, is: [])
  }

  private static func useHeldBack(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.openShut()
    for _ in 0..<min(2, probe.session.peerFrames) { try await probe.sendData([0x0A, 3, 0]) }
    _ = try await probe.fence()
  }

  // MARK: Time

  private static func useResendTime(_ bench: Bench) async throws {
    for _ in 0..<20 { _ = try await bench.probe.readCount() }
  }

  private static func useBackedOffTime(_ bench: Bench) async throws {
    _ = try await bench.probe.unacknowledgedAnswers(1)
    _ = try await bench.probe.frames(for: .milliseconds(2500))
  }

  private static func checkResendTime(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.open()
    _ = try await probe.unacknowledgedAnswers(1)
    let start = probe.now
    _ = try await probe.awaitFrame("the answer again") { $0.kind == .data }
    let passed = (probe.now - start).inMilliseconds
    probe.expect(
      passed >= 195 && passed <= (bench.hasVirtualTime ? 505 : 2000), "sent again after \(passed) ms")
  }

  // MARK: The bearer

  private static func useParts(_ bench: Bench) async throws {
    // A part that begins at 5 makes Execute fail.
    for _ in 0..<2 { try await bench.probe.request(Wire.literal("16 0600 0500 2020")) }
  }

  private static func checkParts(_ bench: Bench) async throws {
    try await bench.probe.open()
    let reply = try await bench.probe.request(Wire.literal("18 01"))
    bench.probe.expect("the answer to Execute", reply, is: [0x19])
  }

  private static func useCCCDs(_ bench: Bench) async throws {
    for handle in [4, 7] as [UInt8] { try await bench.probe.request([0x12, handle, 0, 1, 0]) }
  }

  private static func checkCCCDs(_ bench: Bench) async throws {
    try await bench.probe.open()
    for handle in [4, 7] as [UInt8] {
      let reply = try await bench.probe.request([0x0A, handle, 0])
      bench.probe.expect("CCCD \(handle)", reply, is: [0x0B, 0, 0])
    }
  }

  private static func useMTU(_ bench: Bench) async throws {
    try await bench.probe.request(Wire.literal("02 0502"))
  }

  private static func checkMTU(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.open()
    let part = Wire.literal("16 0600 0000") + [UInt8](repeating: 0x20, count: 19)
    let early = try await probe.request(part)
    probe.expect("the answer to 24 bytes", Wire.withoutHandle(early), is: Wire.literal("01 16 04"))
    guard probe.session.peerMTU >= 24 else { return }
    // The first Exchange MTU of this session counts.
    try await probe.request(Wire.literal("02 1800"))
    let echo = try await probe.request(part)
    probe.expect("the answer to 24 bytes at MTU 24", echo.first, is: 0x17)
  }

  private static func useNotifications(_ bench: Bench) async throws {
    let (probe, control) = (bench.probe, try bench.requireControl())
    try await control.perform(.fill(0))
    try await probe.openShut()
    probe.session.credit = 1
    try await probe.request(Wire.literal("12 0400 0100"))
    probe.session.credit = 0
    try await probe.write(probe.frame(.ack))
    // The credit of 1 in the last ack allows one; the next ones are queued.
    for others in 1...3 {
      try await control.perform(.fill(others))
      _ = try await probe.fence()
    }
  }

  private static func useEvents(_ bench: Bench) async throws {
    let (probe, control) = (bench.probe, try bench.requireControl())
    try await bench.restart()
    try await probe.openWide()
    try probe.requireEventRoom()
    try await probe.requireStoreRoom(1)
    try await probe.writeData(Sample.json("acted on"))
    try await probe.request(Wire.literal("12 0700 0100"))
    // Nothing is acknowledged, so that those beyond the device's limit are queued.
    for _ in 0..<(max(8, probe.session.peerRequests) + 4) { try await control.perform(.action(1, 0)) }
    _ = try await probe.fence()
  }

  private static func checkEvents(_ bench: Bench) async throws {
    let probe = bench.probe
    // A leftover event must wait until the MTU has room for it: at 23 none fits.
    try await probe.openShut()
    try await probe.sendData(Wire.literal("02 0502"))
    _ = try await probe.fence()
    try await probe.grantAll()
    let early = try await probe.listen(for: .milliseconds(bench.hasVirtualTime ? 600 : 30))
    probe.expect("notifications before the MTU", early.events + early.counts.map { "Count \($0)" }, is: [])
    try await probe.request(Wire.literal("12 0700 0100"))
    let later = try await probe.listen()
    probe.expect("notifications to a new subscription", later.items, is: [])
  }

  private static func checkNotifications(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.open()
    // Before a subscription there are none either.
    try await probe.expectUnused()
    try await probe.request(Wire.literal("12 0400 0100"))
    try await probe.request(Wire.literal("12 0700 0100"))
    let unsolicited = try await probe.listen()
    probe.expect("notifications without a change", unsolicited.items, is: [])
    try await bench.requireControl().perform(.fill(0))
  }

  private static func useSync(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.openShut(features: 0xF)
    try probe.requireFeatures(0b0110)
    try await probe.sendData(Sync(probe.makeSource()).bytes, channel: 0)
    _ = try await probe.fence()
  }

  private static func checkSync(_ bench: Bench) async throws {
    let probe = bench.probe
    try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), features: 0xF))
    try await probe.expectUnused()
    _ = try await probe.readCount()
  }
}

/// A piece of a session's state, how to use it up, and how to check that it is new.
private struct Leftover: Sendable {
  let id: String
  let what: String
  let also: [String]
  let needs: Set<Need>
  let use: @Sendable (Bench) async throws -> Void
  let check: @Sendable (Bench) async throws -> Void

  init(
    _ id: String, _ what: String, also: [String] = [], needs: Set<Need> = [],
    use: @escaping @Sendable (Bench) async throws -> Void,
    check: @escaping @Sendable (Bench) async throws -> Void
  ) {
    (self.id, self.what, self.also, self.needs) = (id, what, also, needs)
    (self.use, self.check) = (use, check)
  }

  /// A session with all features and few bytes.
  func open(_ probe: Probe) async throws {
    try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), features: 0xF, bytes: 1080))
  }
}

/// How a session ends at the device, except for its own FIN.
enum SessionEnding: String, CaseIterable {
  case syn = "a SYN with a new nonce"
  case twoSyns = "two SYNs, the first without a frame of its session"
  case fin = "FIN"
  case silence = "silence"
  case reset = "a restart"

  /// Whether it is available, and not too slow for the run.
  func isPossible(on bench: Bench) -> Bool {
    switch self {
    case .syn, .twoSyns, .fin: true
    case .silence: bench.waitsLong
    case .reset: bench.hasVirtualTime && bench.control != nil
    }
  }

  /// Ends the session, unless the next SYN does.
  func end(_ bench: Bench) async throws {
    let probe = bench.probe
    switch self {
    case .syn: break
    case .twoSyns: try await probe.openSession(isAcknowledged: false)
    case .fin:
      // The answer to FIN, not one to an earlier frame.
      try await probe.write(probe.frame(.fin))
      _ = try await probe.ask(probe.frame(.ping), "RST after FIN") {
        $0.kind == .rst && $0.session == probe.session.id
      }
    case .silence: _ = try await probe.frames(for: .milliseconds(5600))
    case .reset:
      try await bench.requireControl().perform(.reboot())
      _ = try await probe.awaitFrame(.hello)
    }
  }
}

extension Probe {
  /// Notes a finding unless the open session behaves as if nothing had been sent in it yet, in
  /// either direction.
  func expectUnused() async throws {
    try await write(frame(.ping))
    var sent: [WireFrame] = []
    let pong = try await awaitFrame("PONG") {
      sent.append($0)
      return $0.kind == .pong
    }
    sent += try await frames(for: settleTime)
    expect("DATA in a new session", sent.filter { $0.kind == .data }, is: [])
    expect("ack", pong.ack, is: 0)
    expect("ack + credit", Int(pong.credit), is: session.peerFrames)
    expect("handled", pong.payload, is: [0])
  }

  /// Frames of 540 bytes that the device accepts beyond the last handled one.
  fileprivate var longFramesGranted: Int { max(1, min(session.peerFrames, session.peerBytes / 540)) }
}
