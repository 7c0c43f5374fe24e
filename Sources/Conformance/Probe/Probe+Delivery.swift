import NotibotProtocol
package import SuiteWire

/// Notifications with an identity, and SYNC.
extension Probe {
  /// Feature bits: pipelining, optional keys, SYNC.
  package static let deliveryFeatures: UInt32 = 0b0111

  /// A `src` that no other case uses.
  package func makeSource() -> UInt32 { UInt32(truncatingIfNeeded: identities.next() >> 32) | 1 }

  /// Opens a session in which the optional keys, and SYNC, are in use, with an MTU for whole
  /// notifications.
  ///
  /// - Parameters:
  ///   - source: the SRC of the SYN; none if nil.
  ///   - features: bit 1 must be among them.
  ///   - clock: the seconds of CLOCK; none if nil.
  ///   - isSubscribed: whether to subscribe to Data.
  /// - Throws: `CaseEnd.skip` if the device does not have these features, otherwise as `openWide`.
  package func openDelivery(
    source: UInt32? = nil, features: UInt32 = deliveryFeatures, clock: UInt64? = nil,
    isSubscribed: Bool = true,
    file: String = #fileID, line: Int = #line
  ) async throws {
    try await openWide(
      deliveryTLVs(source: source, features: features, clock: clock), file: file, line: line)
    try requireFeatures(features)
    if isSubscribed { try await request(Wire.literal("12 0700 0100"), file: file, line: line) }
  }

  /// Opens a session of a source without notifications, on a device with room for some
  /// notifications. Returns the source.
  package func beginDelivery(room: Int, file: String = #fileID, line: Int = #line) async throws -> UInt32 {
    let source = makeSource()
    try await openDelivery(source: source, file: file, line: line)
    try await requireStoreRoom(room)
    return source
  }

  /// Like `openDelivery`, but at MTU 23, so that the events of NTF-26 do not fit.
  package func openNarrow(
    source: UInt32? = nil, features: UInt32 = deliveryFeatures, clock: UInt64? = nil, file: String = #fileID,
    line: Int = #line
  ) async throws {
    try await open(deliveryTLVs(source: source, features: features, clock: clock), file: file, line: line)
    try requireFeatures(features)
    try await request(Wire.literal("12 0700 0100"), file: file, line: line)
  }

  /// The TLVs of a SYN with these.
  func deliveryTLVs(source: UInt32?, features: UInt32, clock: UInt64?) -> [TLV] {
    Self.synTLVs(nonce: makeNonce(), features: features) + (source.map { [.source($0)] } ?? [])
      + (clock.map { [.clock($0)] } ?? [])
  }

  /// Skips the case if the device does not have bits 1 and 2 as far as they are in `wanted`.
  func requireFeatures(_ wanted: UInt32) throws {
    let wanted = UInt64(wanted & 0b0110)
    guard session.features & wanted == wanted else {
      throw CaseEnd.skip("the device announces features \(session.features): no optional keys, or no SYNC")
    }
  }

  /// Sends one request and returns its answer; earlier notifications and messages are added to
  /// `unsolicited`.
  ///
  /// - Throws: a finding if there is no answer.
  func request(
    _ pdu: [UInt8], unsolicited: inout Unsolicited, file: String, line: Int
  ) async throws -> [UInt8] {
    try await awaitRoom(file: file, line: line)
    try await sendData(pdu)
    let deadline = now + Self.patience
    while let frame = try await nextData(until: deadline) {
      guard frame.channel == 4, frame.payload.first != 0x1B else {
        unsolicited.add(frame, isNarrow: isNarrow)
        continue
      }
      return frame.payload
    }
    throw CaseEnd.fault("request \(Wire.hex(pdu, limit: 16)) is not answered", file: file, line: line)
  }

  /// Sends SYNC and returns its SYNCED; earlier notifications and messages are added to
  /// `unsolicited`.
  ///
  /// - Throws: a finding if there is no SYNCED, or its length is not 25 bytes.
  @discardableResult
  package func sync(
    _ message: Sync, unsolicited: inout Unsolicited, file: String = #fileID, line: Int = #line
  ) async throws -> Synced {
    try await awaitRoom(file: file, line: line)
    try await sendData(message.bytes, channel: 0)
    return try await awaitSynced(unsolicited: &unsolicited, file: file, line: line)
  }

  /// Sends SYNC and returns its SYNCED; earlier notifications and messages are skipped.
  @discardableResult
  package func sync(_ message: Sync, file: String = #fileID, line: Int = #line) async throws -> Synced {
    var unsolicited = Unsolicited()
    return try await sync(message, unsolicited: &unsolicited, file: file, line: line)
  }

  /// The next SYNCED; earlier notifications and messages are added to `unsolicited`.
  package func awaitSynced(
    unsolicited: inout Unsolicited, file: String = #fileID, line: Int = #line
  ) async throws -> Synced {
    let deadline = now + Self.patience
    while let frame = try await nextData(until: deadline) {
      guard frame.channel == 0, frame.payload.first == 2 else {
        unsolicited.add(frame, isNarrow: isNarrow)
        continue
      }
      guard frame.payload.count == 25, let synced = Synced(frame.payload) else {
        throw CaseEnd.fault("SYNCED is [\(Wire.hex(frame.payload))]", file: file, line: line)
      }
      return synced
    }
    throw CaseEnd.fault("SYNC is not answered", file: file, line: line)
  }

  /// Everything that the device has to send by now: the frames before the answer to a Read Request,
  /// however slow the line, and those shortly after it. An answer to an earlier message on channel
  /// 0 would be among them.
  package func listen(into unsolicited: inout Unsolicited, file: String = #fileID, line: Int = #line)
    async throws
  {
    _ = try await request([0x0A, 3, 0], unsolicited: &unsolicited, file: file, line: line)
    try await listen(for: settleTime, into: &unsolicited)
  }

  /// Everything that the device has to send by now.
  package func listen(file: String = #fileID, line: Int = #line) async throws -> Unsolicited {
    var unsolicited = Unsolicited()
    try await listen(into: &unsolicited, file: file, line: line)
    return unsolicited
  }

  /// Everything that the device sends in the next `interval`.
  package func listen(for interval: Duration, into unsolicited: inout Unsolicited) async throws {
    let deadline = now + interval
    while let frame = try await nextData(until: deadline) { unsolicited.add(frame, isNarrow: isNarrow) }
  }

  /// Everything that the device sends in the next `interval`.
  package func listen(for interval: Duration) async throws -> Unsolicited {
    var unsolicited = Unsolicited()
    try await listen(for: interval, into: &unsolicited)
    return unsolicited
  }

  /// Everything that the device sends until it has sent nothing for `interval`.
  package func listenUntilQuiet(for interval: Duration) async throws -> Unsolicited {
    var unsolicited = Unsolicited()
    var count = -1
    while unsolicited.items.count > count {
      count = unsolicited.items.count
      try await listen(for: interval, into: &unsolicited)
    }
    return unsolicited
  }

  /// Notes a finding unless the answer to a write is success.
  package func expectWritten(
    _ json: [UInt8], _ what: String = "a notification", file: String = #fileID, line: Int = #line
  ) async throws {
    let reply = try await writeData(json, file: file, line: line)
    expect("the answer to \(what)", reply, is: [0x13], file: file, line: line)
  }

  /// Notes a finding unless the device holds exactly these of a source.
  package func expectHeld(
    _ held: [Holding], of source: UInt32, highest: UInt32, _ what: String = "", file: String = #fileID,
    line: Int = #line
  ) async throws {
    let synced = try await sync(Sync(source, known: highest, held: held), file: file, line: line)
    expect("src in SYNCED \(what)", synced.source, is: source, file: file, line: line)
    expect("n \(what)", Int(synced.count), is: held.count, file: file, line: line)
    expect("digest \(what)", synced.digest, is: Holding.digest(of: held), file: file, line: line)
    expect("hwm \(what)", synced.highest, is: highest, file: file, line: line)
  }
}
