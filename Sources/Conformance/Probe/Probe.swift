package import NotibotProtocol
package import SuiteWire

/// A case's end of a line. It writes bytes and frames on request, right or wrong, and waits for
/// frames and text; it knows no rule and does nothing on its own. Sessions are in
/// `Probe+Session.swift`.
package final class Probe {
  /// How long a device can take before a missing answer is a failure. Long, because only a failure
  /// waits for it.
  package static let patience = Duration.seconds(3)

  /// How long after a deadline available input is still read.
  private static let floodLimit = Duration.milliseconds(200)

  package let line: any Line
  /// The side that the case plays.
  package let role: WireFrame.Sender
  package let record: Record
  package var random: SeededGenerator
  /// Draws nonces and sources: no device has seen them before.
  package var identities: SeededGenerator
  /// The changes that the case makes to the device; nil if they will not be removed.
  package var footprint: Footprint?
  /// Whether the case needs room in the store, and does not expect a full store.
  var needsStoreRoom = false
  /// The longest time between two consecutive frames of a device.
  package var settleTime = Duration.milliseconds(1)
  /// Time limit of an answer to a request.
  package var answerLimit = Probe.patience
  /// The open session of the case.
  package var session = ProbeSession()

  /// The carrier of frames.
  package var bearer: ProbeBearer
  /// The attribute handles of the peer.
  package var handles = HandleMap()
  /// Whether a finding is about a rule of the device's own attribute server (`Case.isOfServer`).
  private(set) var isJudgingServer = false
  private var pending: [WireItem] = []
  private var pendingStart = 0
  /// The deadline that has passed while there was still input, and when that was first noticed.
  private var lateReading: (deadline: Instant, start: Instant)?
  /// The frames written in the peer's direction, which a line that echoes returns.
  private var echoes: Set<WireFrame> = []
  /// Whether anything was received.
  private(set) package var hasReceived = false
  /// Whether a SYN with a CLOCK was sent.
  private(set) package var hasSetClock = false
  /// Every byte received since `startCapture`; nil if it was not called.
  private(set) package var captured: [UInt8]?
  /// The text received so far, unfinished candidates excluded.
  private(set) package var textReceived: [UInt8] = []

  package init(line: any Line, role: WireFrame.Sender, record: Record, seed: UInt64) {
    self.line = line
    self.role = role
    self.record = record
    random = SeededGenerator(seed: seed)
    identities = SeededGenerator(seed: ~seed)
    bearer = .session(FrameSplitter(from: role.other))
  }

  /// The current time of the line's clock.
  package var now: Instant { line.now }

  // MARK: Bytes

  /// Writes bytes without a change.
  package func write(_ bytes: [UInt8]) async throws {
    footprint?.record(bytes)
    try await put(bytes)
  }

  /// Writes a frame, if the bearer has such frames.
  package func write(_ frame: WireFrame) async throws {
    footprint?.record(frame)
    if frame.kind == .syn, TLV.parse(frame.payload)?.value(of: 0x09) != nil { hasSetClock = true }
    let bytes = bearer.bytes(of: frame)
    if !bytes.isEmpty { try await put(bytes) }
  }

  /// The same frame in the peer's direction. It carries a credit that no peer announces, because
  /// the limit is 64, so that it is recognized when the line returns it.
  package func echo(of frame: WireFrame) -> WireFrame {
    var echo = frame
    (echo.sender, echo.credit) = (role.other, 65)
    echoes.insert(echo)
    return echo
  }

  private func put(_ bytes: [UInt8]) async throws {
    record.add(bytes, isSent: true, at: now)
    try await line.write(bytes)
  }

  /// Keeps every byte received from now on in `captured`.
  package func startCapture() {
    captured = []
  }

  // MARK: Frames and text

  /// The next frame or piece of text; nil at the deadline.
  package func nextItem(until deadline: Instant) async throws -> WireItem? {
    while pendingStart == pending.count {
      try Task.checkCancellation()
      let bytes = try await line.read(until: deadline)
      if line.now >= deadline, bytes.isEmpty || isFlooded(beyond: deadline) { return nil }
      receive(bytes)
    }
    defer { pendingStart += 1 }
    return pending[pendingStart]
  }

  /// Whether reading has continued beyond a deadline for `floodLimit`. Input that arrived in time
  /// can be read late, but a device that sends faster than it is read must not block a case
  /// forever.
  private func isFlooded(beyond deadline: Instant) -> Bool {
    if let lateReading, lateReading.deadline == deadline { return now - lateReading.start > Self.floodLimit }
    lateReading = (deadline, now)
    return false
  }

  /// The next frame; text before it is kept in `textReceived`. Nil at the deadline.
  package func nextFrame(until deadline: Instant) async throws -> WireFrame? {
    while let item = try await nextItem(until: deadline) {
      if case .frame(let frame) = item { return frame }
    }
    return nil
  }

  /// The first frame that `matches`; earlier ones are skipped.
  ///
  /// - Throws: a finding if none was received in time, with the received frames.
  package func awaitFrame(
    _ what: String, within limit: Duration = patience, file: String = #fileID, line: Int = #line,
    where matches: (WireFrame) -> Bool
  ) async throws -> WireFrame {
    let deadline = now + limit
    var others: [WireFrame] = []
    while let frame = try await nextFrame(until: deadline) {
      if matches(frame) { return frame }
      others.append(frame)
    }
    let seen = others.isEmpty ? "nothing" : others.suffix(4).map(\.description).joined(separator: "; ")
    throw CaseEnd.fault("no \(what) within \(limit); seen: \(seen)", file: file, line: line)
  }

  /// The first frame of a kind.
  package func awaitFrame(
    _ kind: WireFrame.Kind, within limit: Duration = patience, file: String = #fileID, line: Int = #line
  ) async throws -> WireFrame {
    try await awaitFrame(kind.name, within: limit, file: file, line: line) { $0.kind == kind }
  }

  /// Every frame received in the next `interval`.
  package func frames(for interval: Duration) async throws -> [WireFrame] {
    let deadline = now + interval
    var found: [WireFrame] = []
    while let frame = try await nextFrame(until: deadline) { found.append(frame) }
    return found
  }

  /// Discards received and unread input.
  package func discardReceived() {
    pending = []
    pendingStart = 0
    bearer.flush()
    _ = bearer.drainItems()
  }

  private func receive(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else { return }
    hasReceived = true
    record.add(bytes, isSent: false, at: now)
    captured?.append(contentsOf: bytes)
    bearer.receive(bytes)
    let items = bearer.drainItems().filter {
      if case .frame(let frame) = $0 { !echoes.contains(frame) } else { true }
    }.map(listed)
    for item in items {
      switch item {
      case .text(let text): textReceived += text
      case .frame(let frame): if frame.kind == .data, frame.channel == 4 { record.addAnswer(frame.payload) }
      }
    }
    pending = Array(pending[pendingStart...]) + items
    pendingStart = 0
  }

  /// The same with the handles of PROTOCOL.md's table.
  private func listed(_ item: WireItem) -> WireItem {
    guard case .frame(var frame) = item, frame.kind == .data, frame.channel == 4 else { return item }
    frame.payload = handles.received(frame.payload)
    return .frame(frame)
  }

  // MARK: Expectations

  /// Performs steps whose findings are about rules of the device's own attribute server: those
  /// marked with † in PROTOCOL.md. Where a Bluetooth stack has another, they are differences, and
  /// not failures. A step that throws ends the case.
  package func ofServer<Result>(_ steps: () async throws -> Result) async throws -> Result {
    let isInner = isJudgingServer
    isJudgingServer = true
    defer { isJudgingServer = isInner }
    do {
      return try await steps()
    } catch CaseEnd.finding(var finding) {
      finding.isOfServer = true
      throw CaseEnd.finding(finding)
    }
  }

  /// Notes a finding if `condition` is false; the case continues.
  package func expect(
    _ condition: Bool, _ message: @autoclosure () -> String, file: String = #fileID, line: Int = #line
  ) {
    guard !condition else { return }
    record.add(Finding(message(), file: file, line: line, isOfServer: isJudgingServer))
    record.add("! \(message())", at: now)
  }

  /// Notes a finding if two values differ.
  package func expect<Value: Equatable>(
    _ what: String, _ actual: Value, is expected: Value, file: String = #fileID, line: Int = #line
  ) {
    expect(actual == expected, FindingText.difference(what, actual, expected), file: file, line: line)
  }

  /// The value; if it is nil, the case ends.
  package func require<Value>(
    _ value: Value?, _ message: @autoclosure () -> String, file: String = #fileID, line: Int = #line
  ) throws -> Value {
    guard let value else { throw CaseEnd.fault(message(), file: file, line: line) }
    return value
  }
}
