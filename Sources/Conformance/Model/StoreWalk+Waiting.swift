import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Sessions in which notifications wait for credit, and presses.
extension StoreWalk {
  /// The number of events that every device can queue (ATT-19).
  private static let waitingLimit = 8

  /// Opens a session without credit for notifications, dismisses some and lets others expire, and
  /// then grants credit or opens the next session.
  mutating func letWait() async throws {
    let source = draw.pick(sources)
    what = "a session without credit, SRC \(source.map { "\($0)" } ?? "none")"
    let tlvs = probe.deliveryTLVs(source: source, features: Probe.deliveryFeatures, clock: nil)
    try await probe.openShut(tlvs)
    model.open(source: source, time: nil)
    begin(features: Probe.deliveryFeatures)
    _ = try await probe.requestAlone([0x02] + Wire.u16(drawMTU()))
    for handle in [4, 7] as [UInt8] where draw.chance(80) {
      let reply = try await probe.requestAlone([0x12, handle, 0, 1, 0])
      guard reply == [0x13] else { throw failure("the answer is [\(Wire.hex(reply))], expected [13]") }
      if handle == 4 { isSubscribedToCount = true } else { isSubscribedToData = true }
    }
    let before = model
    let endsEarly = draw.chance(25)
    // Whether the device has handled a SYNC that waits is unknown: this one forgets no writer.
    let latest = model.writers.last.flatMap { $0.source == 0 ? nil : $0.source }
    let known = sources.filter { source in model.writers.contains { $0.source == source } }
    let synced = draw.chance(60) ? (endsEarly ? latest : draw.pick(known)) : nil
    var due: (reports: [StoreModel.Report], optional: [StoreModel.Report]) = ([], [])
    if let synced {
      due = model.sync(synced)
      isSynced = true
      try await probe.sendData(Sync(synced).bytes, channel: 0)
      _ = try await probe.fence()
    }
    let (dismissals, expiries) = try await happen()
    what += ", SYNC of \(synced.map { "\($0)" } ?? "none"), then \(dismissals + expiries)"
    if endsEarly { return try await openSession() }
    try await probe.grantAll()
    var unsolicited = Unsolicited()
    if let synced {
      let answer = try await probe.awaitSynced(unsolicited: &unsolicited)
      try expect(answer, of: synced, after: unsolicited, dismissals, before: before)
    }
    let later = dismissals + expiries
    let again = later.filter { $0.key?.source == synced }
    try await judge(
      unsolicited, due.reports + later, optional: due.optional + again, count: before.shown.count,

      waiting: dismissals.filter { $0.key?.source != synced })
  }

  /// Dismisses notifications, and lets time pass. Returns the reports of each.
  private mutating func happen() async throws -> (
    dismissals: [StoreModel.Report], expiries: [StoreModel.Report]
  ) {
    var (dismissals, expiries): ([StoreModel.Report], [StoreModel.Report]) = ([], [])
    for _ in 0..<draw.number(0...4) {
      if draw.chance(20), bench.hasExactTime {
        let before = model
        let reports = model.wait(clockStep)
        guard dismissals.count + expiries.count + reports.count <= Self.waitingLimit else {
          model = before
          continue
        }
        expiries += reports
        clock = model.time ?? clock
        let early = try await probe.listen(for: .seconds(Int64(clockStep)))
        guard early.items.isEmpty else { throw failure("without credit comes \(early.items)") }
      } else if let control = bench.control, let itemOffset, let one = draw.pick(model.shown),
        dismissals.count + expiries.count < Self.waitingLimit
      {
        dismissals += model.dismiss(one.number)
        try await control.perform(.dismiss(UInt32(one.number + itemOffset)))
      }
    }
    return (dismissals, expiries)
  }

  /// Compares SYNCED with the notifications that remain after the reports before it (NTF-31).
  private func expect(
    _ synced: Synced, of source: UInt32, after unsolicited: Unsolicited, _ dismissals: [StoreModel.Report],
    before: StoreModel
  ) throws {
    let reported = try unsolicited.items.compactMap { try event($0)?.key }
    let left = model.held(source)
    // Without a subscription it is not visible when they were counted.
    let unseen = dismissals.compactMap(\.key).filter { $0.source == source && !reported.contains($0) }
    let whole = before.held(source).filter { one in
      left.contains { $0.id == one.id } || unseen.contains { $0.id == one.id }
    }
    let allowed = isSubscribedToData ? [whole] : [whole, left]
    guard synced.source == source, synced.highest == model.highest(source),
      allowed.contains(where: { $0.count == Int(synced.count) && Holding.digest(of: $0) == synced.digest })
    else {
      throw failure(
        "SYNCED is \(synced), expected src \(source), n \(whole.count), hwm \(model.highest(source))")
    }
  }

  /// An action of a notification that is shown.
  mutating func press() async throws {
    guard let control = bench.control, let itemOffset, let one = draw.pick(model.shown) else { return }
    let (item, act) = (UInt32(one.number + itemOffset), UInt8(draw.number(0...3)))
    what = "action \(act) of item \(item)"
    try await control.perform(.action(item, act))
    var unsolicited = try await probe.listen()
    var actions: [String] = []
    unsolicited.items.removeAll { seen in
      guard case .event(let json) = seen, EventMembers.parse(json)["\"ev\""] == "\"action\"" else {
        return false
      }
      actions.append(json)
      return true
    }
    let expected = isSubscribedToData ? 1 : 0
    guard actions.count == expected || probe.isNarrow && actions.isEmpty else {
      throw failure("the events are \(actions), expected \(expected)")
    }
    for json in actions {
      let members = EventMembers.parse(json)
      let seen = ["item", "act", "id", "src"].map { members["\"\($0)\""] }
      let wanted = ["\(item)", "\(act)", one.key.map { "\($0.id)" }, one.key.map { "\($0.source)" }]
      guard seen == wanted else { throw failure("the event is \(json)") }
    }
    try await judge(unsolicited, count: model.shown.count)
  }
}
