import NotibotProtocol
import SuiteWire

/// Writes of Data at every MTU: a Write Request if it fits, otherwise a long write (ATT-14).
extension Probe {
  /// An MTU at which every event of NTF-11 fits in a notification.
  private static let eventMTU = 128
  /// Parts that every device queues (ATT-14).
  private static let partsAtLeast = 8

  /// Writes Data and returns the answer, that of a Write Request.
  @discardableResult
  package func writeData(_ value: [UInt8], file: String = #fileID, line: Int = #line) async throws -> [UInt8]
  {
    var skipped = Unsolicited()
    let pdu = try await writePDU(value, unsolicited: &skipped, file: file, line: line)
    return try judged(try await request(pdu, file: file, line: line))
  }

  /// Writes Data, and keeps the notifications until the answer and shortly after it.
  ///
  /// - Throws: a finding if there is no answer.
  @discardableResult
  package func writeData(
    _ value: [UInt8], unsolicited: inout Unsolicited, file: String = #fileID, line: Int = #line
  ) async throws -> [UInt8] {
    let pdu = try await writePDU(value, unsolicited: &unsolicited, file: file, line: line)
    let earlier = unsolicited.items.count
    let reply = try await request(pdu, unsolicited: &unsolicited, file: file, line: line)
    unsolicited.beforeAnswer = Array(unsolicited.items[earlier...])
    try await listen(into: &unsolicited)
    return try judged(reply)
  }

  /// The PDU whose answer is the result of a value: a Write Request, or, if that does not fit in
  /// the MTU, Execute Write, with its parts already queued.
  ///
  /// - Throws: as `prepare`.
  package func writePDU(
    _ value: [UInt8], unsolicited: inout Unsolicited, file: String = #fileID, line: Int = #line
  ) async throws -> [UInt8] {
    if value.count + 3 <= session.mtu { return [0x12, 6, 0] + value }
    try await prepare(value, unsolicited: &unsolicited, file: file, line: line)
    return [0x18, 1]
  }

  /// The same without the notifications in the meantime.
  package func writePDU(
    _ value: [UInt8], file: String = #fileID, line: Int = #line
  ) async throws -> [UInt8] {
    var skipped = Unsolicited()
    return try await writePDU(value, unsolicited: &skipped, file: file, line: line)
  }

  /// Queues a value of Data in parts as long as the MTU allows.
  ///
  /// - Throws: `CaseEnd.skip` if the queue is full after 8 parts; a finding if one is not echoed.
  package func prepare(
    _ value: [UInt8], unsolicited: inout Unsolicited, file: String = #fileID, line: Int = #line
  ) async throws {
    let length = session.mtu - 5
    for (index, offset) in stride(from: 0, to: value.count, by: length).enumerated() {
      let part = [6, 0] + Wire.u16(UInt16(offset)) + value[offset..<min(offset + length, value.count)]
      let reply = try await request([0x16] + part, unsolicited: &unsolicited, file: file, line: line)
      if reply == [0x01, 0x16, 6, 0, 0x09], index >= Self.partsAtLeast {
        throw CaseEnd.skip("the prepare queue takes \(index) parts of \(length) bytes, too few for the case")
      }
      guard reply == [0x17] + part else {
        throw CaseEnd.fault("the answer to part \(index) is [\(Wire.hex(reply))]", file: file, line: line)
      }
    }
  }

  /// The same without the notifications in the meantime.
  package func prepare(_ value: [UInt8], file: String = #fileID, line: Int = #line) async throws {
    var skipped = Unsolicited()
    try await prepare(value, unsolicited: &skipped, file: file, line: line)
  }

  /// A notification as long as a Write Request has room for, with bytes above 0x7F in its text.
  func longJSON(id: UInt32, rev: Int) -> [UInt8] {
    let json = { (more: String) in Sample.json(id: id, "é\(more)", more: ",\"rev\":\(rev)") + [0x20] }
    return json(String(repeating: "x", count: max(0, min(512, session.mtu - 3) - json("").count)))
  }

  /// The answer to `writePDU` as one to a Write Request.
  func judged(_ reply: [UInt8]) throws -> [UInt8] {
    var reply = reply
    if reply == [0x19] { reply = [0x13] }
    if reply.count == 5, reply.starts(with: [0x01, 0x18]) { reply[1] = 0x12 }
    // Without CAPACITY a case cannot know in advance that there is no room.
    if reply == [0x01, 0x12, 6, 0, 0x11], needsStoreRoom, session.announced.number(of: 0x13) == nil {
      throw CaseEnd.skip("the store is full, and the device does not announce its capacity")
    }
    return reply
  }

  /// Skips the case unless the device's store is known to have room for `count` more notifications.
  package func requireStoreRoom(_ count: Int) async throws { _ = try await storeRoom(count...count) }

  /// How many more notifications the device's store has room for, at most `range.upperBound`. Skips
  /// the case if there is room for fewer than `range.lowerBound`.
  package func storeRoom(_ range: ClosedRange<Int>) async throws -> Int {
    needsStoreRoom = true
    guard let capacity = session.announced.number(of: 0x13) else { return range.upperBound }
    guard range.lowerBound <= Int(capacity) else {
      throw CaseEnd.skip("the store holds \(capacity), the case needs \(range.lowerBound)")
    }
    let room = Int(capacity) - (try await readCount())
    guard room >= range.lowerBound else {
      throw CaseEnd.skip(
        "the store is too full: restart the board before the run, or dismiss its notifications")
    }
    return min(room, range.upperBound)
  }

  /// Skips the case if a PDU of `length` bytes is longer than the MTU.
  package func requireMTU(_ length: Int) throws {
    guard session.mtu >= length else {
      throw CaseEnd.skip("the MTU is \(session.mtu), the case needs \(length)")
    }
  }

  /// Skips the case if an event of NTF-11 might not fit in a notification.
  package func requireEventRoom() throws { try requireMTU(Self.eventMTU) }

  /// Whether a gone notification can be reported by GONE, because its event does not fit (NTF-26).
  var isNarrow: Bool { session.mtu < Self.eventMTU }
}
