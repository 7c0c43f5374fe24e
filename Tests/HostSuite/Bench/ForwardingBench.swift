package import Conformance
package import NotibotHost
package import NotibotProtocol
package import SuiteWire

/// A SYNC as a case parses it. Source: PROTOCOL.md NTF-30.
package struct ReceivedSync: Equatable, Sendable, CustomStringConvertible {
  package var source: UInt32
  package var known: UInt32
  package var count: UInt16
  package var digest: UInt64

  /// Nil unless the message is a SYNC of 19 bytes.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 19, bytes[0] == 1 else { return nil }
    source = UInt32(Wire.number(Array(bytes[1..<5])))
    known = UInt32(Wire.number(Array(bytes[5..<9])))
    count = Wire.word(bytes, at: 9)
    digest = Wire.number(Array(bytes[11..<19]))
  }

  package init(source: UInt32, known: UInt32, held: [Holding]) {
    self.source = source
    self.known = known
    count = UInt16(held.count)
    digest = Holding.digest(of: held)
  }

  package var description: String {
    "src \(source), known \(known), n \(count), digest 0x\(String(digest, radix: 16))"
  }
}

/// A message of the host about notifications.
package enum HostMessage: Equatable, Sendable {
  case sync(ReceivedSync)
  /// The JSON of a write of Data.
  case write([UInt8])
  /// TAKEN. Source: PROTOCOL.md NTF-41.
  case taken(source: UInt32, press: UInt32)
}

/// A case that plays the device, and the journal, against the forwarding machine in virtual time.
///
/// Requests that do not concern notifications are answered as a device would; SYNC and writes wait
/// for the case. Each message of the host is checked: that it is allowed at this time (NTF-31) and
/// that the journal has it (NTF-36).
package final class ForwardingBench: PlayedDevice {
  /// The source of the journal that the host begins with.
  package static let source: UInt32 = 0xC0FF_EE01

  package let probe: Probe
  private let line: VirtualLine<VirtualForwarder>
  package private(set) var sessionID: UInt16 = 0x3A7C
  package var bootID: UInt32
  /// The features of the next SYNACK.
  package var features: UInt32 = 0b0111
  package var requests: UInt8 = 8
  package var mtu: UInt16 = 517
  private var isSubscribed = false
  private var hasSynced = false
  private var awaitsSynced = false
  /// Parts of a write that is not executed yet.
  private var parts: [UInt8] = []
  /// Opcodes of the unanswered writes.
  private var unanswered: [UInt8] = []

  package init(
    _ peer: VirtualForwarder, bootID: UInt32, seed: UInt64, record: Record, wrapLine: (any Line) -> any Line
  ) {
    line = VirtualLine(peer: peer, now: .zero)
    self.bootID = bootID
    probe = Probe(line: wrapLine(line), role: .device, record: record, seed: seed)
  }

  // MARK: The host

  package var journal: JournalContents { line.peer.journal }
  package var hasPendingCommit: Bool { !line.peer.pending.isEmpty }

  /// Whether commits wait for `confirmCommit`.
  package var isJournalHeld: Bool {
    get { line.peer.isJournalHeld }
    set { line.withPeer { $0.isJournalHeld = newValue } }
  }

  package func submit(_ submissions: OutboxSubmission...) {
    for submission in submissions { line.withPeer { $0.submit(submission, now: line.now) } }
  }

  /// Submits notifications with these texts.
  package func add(_ texts: String...) {
    for text in texts { submit(.add(Self.notification(text))) }
  }

  /// Makes the pending commit durable; a finding if there is none.
  package func confirmCommit(file: String = #fileID, line: Int = #line) {
    probe.expect(hasPendingCommit, "no commit is pending", file: file, line: line)
    self.line.withPeer { $0.confirmCommit(now: self.line.now) }
  }

  /// The host is killed and restarts with its journal.
  package func crash() {
    probe.discardReceived()
    line.withPeer { $0.crash(seed: probe.random.next(), now: line.now) }
  }

  package func unplug() { line.withPeer { $0.unplug(now: line.now) } }

  package func plug() {
    probe.discardReceived()
    line.withPeer { $0.plug(now: line.now) }
  }

  /// The reports since the last call.
  package func drainReports() -> [OutboxReport] {
    line.withPeer { peer in
      defer { peer.reports = [] }
      return peer.reports
    }
  }

  // MARK: The device

  /// Opens the next session that the host requests, and returns as soon as it has subscribed.
  ///
  /// - Returns: the TLVs of the SYN.
  @discardableResult
  package func open(file: String = #fileID, line: Int = #line) async throws -> [TLV] {
    sessionID += 1
    (isSubscribed, hasSynced, awaitsSynced, parts, unanswered) = (false, false, false, [], [])
    return try await answerSyn(file: file, line: line) {
      self.synAckTLVs(nonce: $0, features: self.features, requests: self.requests, mtu: self.mtu)
    }
  }

  /// The device no longer knows the session (LNK-22).
  package func endSession() async throws { try await probe.write(rst(session: sessionID, reason: 1)) }

  /// The device has restarted, and announces it.
  package func restart() async throws {
    bootID += 1
    try await probe.write(hello(bootID: bootID))
  }

  /// Sends SYNCED; one with the host's source answers the SYNC that was received.
  package func answerSync(
    source: UInt32 = ForwardingBench.source, held: [Holding], highest: UInt32, capacity: UInt16 = 32
  ) async throws {
    if source == journal.header.source { (hasSynced, awaitsSynced) = (true, false) }
    let digest = Wire.u64(Holding.digest(of: held))
    try await probe.sendData(
      [2] + Wire.u32(source) + Wire.u16(UInt16(held.count)) + digest + Wire.u32(highest) + Wire.u16(capacity)
        + Wire.u32(bootID), channel: 0)
  }

  /// Answers the oldest write with success, or with an error.
  package func answer(_ error: UInt8? = nil, file: String = #fileID, line: Int = #line) async throws {
    guard !unanswered.isEmpty else { throw CaseEnd.fault("no write to answer", file: file, line: line) }
    let opcode = unanswered.removeFirst()
    try await probe.sendData(error.map { [0x01, opcode, 6, 0, $0] } ?? [opcode + 1])
  }

  /// A notification of Data.
  package func notify(_ json: String) async throws {
    try await probe.sendData([0x1B, 6, 0] + Array(json.utf8))
  }

  // MARK: Messages of the host

  /// The next SYNC or write; nil if none is received in time.
  package func nextMessage(
    within limit: Duration = Probe.patience, file: String = #fileID, line: Int = #line
  ) async throws -> HostMessage? {
    let deadline = probe.now + limit
    while let frame = try await probe.nextData(until: deadline) {
      if frame.channel == 0, frame.payload.first == 6, frame.payload.count == 9 {
        let (source, press) = (frame.payload[1..<5], frame.payload[5..<9])
        return .taken(source: UInt32(Wire.number(Array(source))), press: UInt32(Wire.number(Array(press))))
      }
      if frame.channel == 0 {
        let sync = try probe.require(
          ReceivedSync(frame.payload), "SYNC is [\(Wire.hex(frame.payload))]", file: file, line: line)
        check(sync, file: file, line: line)
        return .sync(sync)
      }
      if frame.channel == 4, let json = try await serve(frame.payload) {
        check(json, file: file, line: line)
        return .write(json)
      }
    }
    return nil
  }

  /// Notes a finding if the host sends anything during `interval`.
  package func expectNothing(
    _ what: String, for interval: Duration = .milliseconds(400), file: String = #fileID, line: Int = #line
  ) async throws {
    while let message = try await nextMessage(within: interval, file: file, line: line) {
      probe.expect(false, "\(what): \(Self.show(message))", file: file, line: line)
    }
  }

  /// The next message of the host is a SYNC like this, otherwise the case ends.
  package func expectSync(
    source: UInt32 = ForwardingBench.source, known: UInt32, held: [Holding], file: String = #fileID,
    line: Int = #line
  ) async throws {
    let sync = try await awaitSync(file: file, line: line)
    probe.expect(
      "SYNC", sync, is: ReceivedSync(source: source, known: known, held: held), file: file, line: line)
  }

  /// The next message of the host, which is a SYNC, otherwise the case ends.
  package func awaitSync(file: String = #fileID, line: Int = #line) async throws -> ReceivedSync {
    let message = try await nextMessage(file: file, line: line)
    guard case .sync(let sync)? = message else {
      throw CaseEnd.fault("\(Self.show(message)) where SYNC was expected", file: file, line: line)
    }
    return sync
  }

  /// The next message of the host is this write, otherwise the case ends.
  package func expectWrite(_ json: [UInt8], file: String = #fileID, line: Int = #line) async throws {
    let message = try await nextMessage(file: file, line: line)
    guard message == .write(json) else {
      throw CaseEnd.fault(
        "\(Self.show(message)) where \(Self.show(.write(json))) was expected", file: file, line: line)
    }
  }

  // MARK: Checks and answers

  private func check(_ sync: ReceivedSync, file: String, line: Int) {
    probe.expect(isSubscribed, "SYNC before the subscription", file: file, line: line)
    probe.expect(unanswered.isEmpty, "SYNC with a write outstanding", file: file, line: line)
    probe.expect(!awaitsSynced, "SYNC while another one is unanswered", file: file, line: line)
    probe.expect("SYNC's src in the journal", journal.header.source, is: sync.source, file: file, line: line)
    awaitsSynced = true
  }

  private func check(_ json: [UInt8], file: String, line: Int) {
    let what = Self.show(.write(json))
    let hasSync = features & 0b0110 == 0b0110
    probe.expect(!hasSync || hasSynced && !awaitsSynced, "\(what) before SYNCED", file: file, line: line)
    probe.expect(unanswered.count <= Int(requests), "too many requests", file: file, line: line)
    if String(decoding: json, as: UTF8.self).contains("\"ev\":\"r\"") {
      let isThere = journal.entries.contains { entry in
        entry.writes.contains { json == Sample.removal(id: $0.id) }
      }
      probe.expect(!isThere, "\(what), and the journal still holds it", file: file, line: line)
    } else {
      let isDurable = journal.entries.contains { entry in entry.writes.contains { $0.json == json } }
      probe.expect(isDurable, "\(what), which is not in the journal", file: file, line: line)
    }
  }

  /// Answers a request that is not for the case; returns the JSON of one that is.
  private func serve(_ pdu: [UInt8]) async throws -> [UInt8]? {
    switch (pdu.first, Wire.word(pdu, at: 1)) {
    case (0x12, 6):
      unanswered.append(0x12)
      return Array(pdu.dropFirst(3))
    case (0x18, _) where !parts.isEmpty:
      unanswered.append(0x18)
      defer { parts = [] }
      return parts
    case (0x16, 6): parts += pdu.dropFirst(5)
    case (0x12, 7): isSubscribed = pdu.dropFirst(3).first == 1
    case _: break
    }
    guard let answer = ScriptedServer.answer(to: pdu, mtu: mtu) else { return nil }
    try await probe.sendData(answer)
    return nil
  }

  private static func show(_ message: HostMessage?) -> String {
    switch message {
    case .sync(let sync): "SYNC (\(sync))"
    case .write(let json): "a write of \(String(decoding: json, as: UTF8.self))"
    case .taken(_, let press): "TAKEN of \(press)"
    case nil: "nothing"
    }
  }

  /// A notification whose JSON is that of `Sample`.
  package static func notification(
    _ text: String, level: NotificationDetails.Level = .active
  ) -> DisplayNotification {
    var notification = DisplayNotification(app: "Rig", title: "Suite", text: text, timestamp: 1_234_567_890)
    notification.details.level = level
    return notification
  }
}

extension OutboxEntry {
  /// The completed or pending writes for it.
  fileprivate var writes: [OutboxWrite] {
    switch state {
    case .queued, .removing, .refused: []
    case .written(let write), .held(let write): [write]
    case .updating(let held, let next): [held, next]
    }
  }
}

extension HostCaseBench {
  /// A forwarding machine on its own virtual line.
  ///
  /// - Parameter held: texts that its journal records as on the device since the current boot, with
  ///   ids and numbers from 1.
  package func makeForwarder(
    holding held: [String] = [], _ configure: (inout ForwardingConfiguration) -> Void = { _ in }
  ) -> ForwardingBench {
    var configuration = ForwardingConfiguration()
    configure(&configuration)
    let bootID: UInt32 = 0xB007_1D42
    let count = UInt32(held.count)
    var header = JournalHeader(
      source: ForwardingBench.source, lastID: count, knownID: count,
      lastNumber: OutboxNumber(rawValue: Int64(count)), run: 1)
    header.bootID = held.isEmpty ? nil : bootID
    header.writtenBootID = header.bootID
    let entries = held.enumerated().map { index, text in
      let id = UInt32(index + 1)
      let write = OutboxWrite(id: id, revision: 0, json: Sample.json(id: id, text))
      return OutboxEntry(
        number: OutboxNumber(rawValue: Int64(id)), content: ForwardingBench.notification(text),
        state: .held(write),
        isReported: true)
    }
    let peer = VirtualForwarder(
      configuration: configuration, journal: JournalContents(header: header, entries: entries), seed: seed,
      flaw: flaw)
    return ForwardingBench(peer, bootID: bootID, seed: seed, record: record, wrapLine: wrapLine)
  }
}
