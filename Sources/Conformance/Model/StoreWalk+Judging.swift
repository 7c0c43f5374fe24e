import SuiteWire

/// Compares the answers and reports of a device with the model.
extension StoreWalk {
  /// Reads the remaining reports, and compares them and Count with the model.
  ///
  /// - Parameter waiting: if notifications were pending, the reports that must come in this order.
  mutating func judge(
    _ unsolicited: Unsolicited, _ reports: [StoreModel.Report] = [], optional: [StoreModel.Report] = [],
    count before: Int,
    resyncs: ClosedRange<Int> = 0...0, isOver: Int? = nil, waiting: [StoreModel.Report]? = nil
  ) async throws {
    var unsolicited = unsolicited
    let reply = try await probe.request([0x0A, 3, 0], unsolicited: &unsolicited, file: #fileID, line: #line)
    try await probe.listen(for: probe.settleTime, into: &unsolicited)
    let count = base + model.shown.count
    guard reply == [0x0B] + Wire.u16(UInt16(clamping: count)) else {
      throw failure("reading Count gives [\(Wire.hex(reply))], expected a count of \(count)")
    }
    let counts = isSubscribedToCount && base + before != count ? [UInt16(clamping: count)] : []
    // Simultaneous expiries can be counted one by one.
    guard unsolicited.counts.last == counts.last,
      unsolicited.counts.count <= (waiting != nil ? 1 : max(counts.count, reports.count))
    else {
      throw failure("notifications of Count are \(unsolicited.counts), expected \(counts)")
    }
    let sent = unsolicited.messages.filter { $0 == [3] }.count
    guard resyncs.contains(sent) else { throw failure("RESYNC comes \(sent) times, expected \(resyncs)") }
    if let isOver {
      let late = unsolicited.items.dropFirst(isOver).filter { if case .event = $0 { true } else { false } }
      guard late.isEmpty else { throw failure("after SYNCED comes \(late)") }
    }
    try compareOrder(unsolicited, waiting ?? [])
    try compare(unsolicited, isSubscribedToData ? reports : [], isSubscribedToData ? optional : [])
  }

  /// Compares the order of reports (ATT-19).
  private func compareOrder(_ unsolicited: Unsolicited, _ reports: [StoreModel.Report]) throws {
    let order = reports.compactMap(\.key)
    let seen = try unsolicited.items.compactMap { try event($0)?.key }.filter(order.contains)
    guard seen == order.filter(seen.contains) else {
      throw failure("the reports come in the order \(seen), expected \(order)")
    }
  }

  /// Compares events, and GONE if it replaces one, with the required and the allowed reports.
  private mutating func compare(
    _ unsolicited: Unsolicited, _ reports: [StoreModel.Report], _ optional: [StoreModel.Report]
  ) throws {
    // An event without an identity can be too long for this MTU (NTF-11).
    let (canBeGone, isWide) = (hasSync, !probe.isNarrow)
    let isReported = { (report: StoreModel.Report) in report.key != nil && canBeGone || isWide }
    var due = reports.filter(isReported)
    var allowed = optional + reports.filter { !isReported($0) }
    for item in unsolicited.items {
      guard let seen = try event(item) else { continue }
      let matches = { (report: StoreModel.Report) in report.reason == seen.reason && report.key == seen.key }
      let report: StoreModel.Report
      if let index = due.firstIndex(where: matches) {
        report = due.remove(at: index)
      } else if let index = allowed.firstIndex(where: matches) {
        report = allowed.remove(at: index)
      } else {
        throw failure("reported is \(item), expected \(due)")
      }
      guard let number = report.number, let seenItem = seen.number else { continue }
      let offset = itemOffset ?? seenItem - number
      itemOffset = offset
      guard seenItem == number + offset else {
        throw failure("the event of \(report) names item \(seenItem), expected \(number + offset)")
      }
    }
    guard due.isEmpty else { throw failure("not reported: \(due)") }
  }

  /// The notification that an item reports as gone; nil if it is about something else. `number` is
  /// the event's `item`.
  func event(_ item: Unsolicited.Item) throws -> StoreModel.Report? {
    switch item {
    case .count: return nil
    case .other(let pdu): throw failure("an unexpected PDU: [\(Wire.hex(pdu))]")
    case .message(let message):
      if message == [3] { return nil }
      guard probe.isNarrow, hasSync, message.count == 10, message[0] == 4,
        let reason = StoreModel.Reason(rawValue: message[1])
      else { throw failure("an unexpected message on channel 0: [\(Wire.hex(message))]") }
      let (source, id) = (
        UInt32(Wire.number(Array(message[2..<6]))), UInt32(Wire.number(Array(message[6...])))
      )
      return .init(reason: reason, key: .init(source: source, id: id))
    case .event(let json):
      let members = EventMembers.parse(json)
      let number = { (key: String) in members["\"\(key)\""].flatMap { UInt32($0) } }
      let reasons: [String: StoreModel.Reason] = [
        "\"dismissed\"": .dismissed, "\"evicted\"": .evicted, "\"expired\"": .expired,
      ]
      guard let reason = reasons[members["\"ev\""] ?? ""] else {
        throw failure("an unexpected event: \(json)")
      }
      let key = number("src").flatMap { source in number("id").map { StoreModel.Key(source: source, id: $0) }
      }
      return .init(reason: reason, key: key, number: number("item").map { Int($0) })
    }
  }

  func failure(_ message: String, file: String = #fileID, line: Int = #line) -> CaseEnd {
    .fault("seed \(seed), step \(step), \(what): \(message)", file: file, line: line)
  }
}
