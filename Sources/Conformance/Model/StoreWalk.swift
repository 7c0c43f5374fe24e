import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Drives a device with random operations of a host and compares all its answers and reports with a
/// model.
struct StoreWalk {
  /// How often each operation is drawn, and its targets.
  struct Plan: Sendable {
    /// The writers that the walk uses.
    var sources = 2
    /// The share of each operation, in any unit.
    var fresh = 30
    var changes = 25
    var olds = 8
    var removals = 12
    var plains = 6
    var refusals = 6
    var syncs = 6
    var sessions = 3
    var subscriptions = 4
    var dismissals = 6
    var waits = 1
    var presses = 0
    /// Sessions in which the device must wait for credit.
    var waiting = 0
    /// Whether sessions have different MTUs and features.
    var isVaried = false
    /// The percentage of the writes with an `exp`.
    var expiring = 25
    /// The free places of the store, if it can be filled.
    var room: Int?
  }

  private enum Operation {
    case fresh, change, old, removal, plain, refusal, sync, session, subscription, dismissal, wait, press,
      waiting
  }

  /// The largest store that is filled.
  private static let fillLimit = 160
  /// The number of gone notifications at which the walk only removes: every device remembers 64
  /// (NTF-26).
  private static let goneLimit = 40
  /// Notifications without identity and `exp`, which only a dismissal removes.
  private static let lastingLimit = 3
  /// The maximum number of notifications that can expire at once: so many events are queued
  /// (ATT-19).
  private static let expiringLimit = 8

  let bench: Bench
  let plan: Plan
  var model: StoreModel
  var draw: WriteDrawer
  private(set) var sources: [UInt32] = []
  let seed: UInt64
  private let capacity: Int
  /// Seconds between the CLOCKs of two sessions; expiries between them are in the middle. Long if
  /// operations take time.
  let clockStep: UInt64
  /// Count without the walk's notifications.
  let base: Int
  /// The item of the model's number 0; nil until an event has named one.
  var itemOffset: Int?
  var isSubscribedToData = false
  var isSubscribedToCount = false
  var clock = Sample.noon
  /// Those in use in the session.
  private(set) var features = Probe.deliveryFeatures
  /// Whether there was a SYNC in the session: before it a RESYNC may be left out (NTF-33).
  var isSynced = false
  private var lasting = 0
  var step = 0
  /// The operation of the current step, for messages.
  var what = ""

  var probe: Probe { bench.probe }

  // MARK: The walk

  /// Runs a walk.
  ///
  /// - Throws: a finding at the first step whose outcome the model does not allow, with the seed,
  ///   the step and the operation.
  static func run(_ plan: Plan, on bench: Bench, steps: Int = 200) async throws {
    var walk = try await StoreWalk(plan, on: bench)
    try await walk.openSession()
    let steps = bench.hasExactTime ? 2 * steps : bench.hasVirtualTime ? steps : steps / 4
    for _ in 0..<steps { try await walk.advance() }
    try await walk.finish()
  }

  private init(_ plan: Plan, on bench: Bench) async throws {
    self.bench = bench
    self.plan = plan
    let probe = bench.probe
    seed = bench.seed
    clockStep = bench.hasExactTime ? 40 : 20_000
    if bench.control != nil { try await bench.restart() }
    try await probe.openDelivery(clock: Sample.noon)
    try await probe.requireStoreRoom(4)
    try await probe.sync(Sync(probe.makeSource()))
    // Afterwards every writer that the device knows has no notifications, and the number of known
    // writers is determined.
    let known: Int?
    do { known = try await probe.pushOutSource() } catch CaseEnd.skip { known = nil }
    // A device with more writers than can be counted forgets none of a few.
    let writersLimit = known ?? 4
    capacity = Int(probe.session.announced.number(of: 0x13) ?? 0)
    let stored = try await probe.readCount()
    guard capacity >= stored + 4 else {
      throw CaseEnd.skip("the store's capacity is not announced, or too small")
    }
    var (room, base) = (capacity - stored, stored)
    // Each writer that was used for this has taken a number, and so does each filler.
    var numbered = known ?? 0
    let most = known.map { $0 <= 16 ? $0 + 2 : 6 } ?? 3
    sources = (0..<min(plan.sources, most)).map { _ in probe.makeSource() }
    let canClear = bench.control != nil
    if let wanted = plan.room, room <= Self.fillLimit, room > wanted, canClear || plan.sources < writersLimit
    {
      // Notifications with an identity are removed after the case; these must be neither forgotten
      // nor evicted.
      let filler = probe.makeSource()
      for id in 1...UInt32(room - wanted) {
        let identified = Sample.json(id: id, more: ",\"lvl\":3,\"src\":\(filler)")
        try await probe.expectWritten(canClear ? Sample.json("filler") : identified, "filler \(id)")
      }
      numbered += room - wanted
      (base, room) = (base + room - wanted, wanted)
    }
    itemOffset = bench.control == nil || known == nil ? nil : numbered
    self.base = base
    model = StoreModel(room: room, writersLimit: writersLimit)
    draw = WriteDrawer(random: SeededGenerator(seed: bench.seed), textLimit: probe.isNarrow ? 10 : 60)
  }

  private mutating func advance() async throws {
    step += 1
    let isTooMuch = model.gone.count + model.unsure.count > Self.goneLimit
    let operation = isTooMuch ? hasKeys ? .removal : .session : drawOperation()
    switch operation {
    case .fresh, .change, .old, .removal, .plain, .refusal: try await write(drawWrite(operation))
    case .sync: try await sync()
    case .session: try await openSession()
    case .subscription: try await subscribe()
    case .dismissal: try await dismiss()
    case .wait: try await wait()
    case .press: try await press()
    case .waiting: try await letWait()
    }
  }

  /// Leaves nothing that cannot be removed, and a usual time.
  private mutating func finish() async throws {
    try await probe.openDelivery(clock: clock + 10 * clockStep)
    let left = try await probe.readCount()
    model.open(source: nil, time: clock + 10 * clockStep)
    probe.expect("Count when all with an exp have expired", left, is: base + model.shown.count)
    if let control = bench.control { try await control.perform(.clear) }
    try await probe.openDelivery(clock: Sample.noon)
  }

  // MARK: Drawing

  private mutating func drawOperation() -> Operation {
    // Without the keys everything would be a notification that only a dismissal removes.
    let writes =
      [
        (.fresh, plan.fresh), (.change, plan.changes), (.old, plan.olds), (.removal, plan.removals),
        (.plain, plan.plains), (.refusal, plan.refusals),
      ].filter { _ in hasKeys } as [(Operation, Int)]
    let shares: [(Operation, Int)] =
      writes + [
        (.sync, hasSync ? plan.syncs : 0), (.session, plan.sessions),
        (.subscription, plan.subscriptions), (.dismissal, plan.dismissals),
        (.wait, bench.hasExactTime ? plan.waits : 0), (.press, plan.presses), (.waiting, plan.waiting),
      ]
    var drawn = draw.number(1...shares.reduce(0) { $0 + $1.1 })
    for (operation, share) in shares {
      drawn -= share
      if drawn <= 0 { return operation }
    }
    return .fresh
  }

  private mutating func drawWrite(_ operation: Operation) -> StoreWrite {
    let source = draw.pick(sources) ?? 0
    // Without the key it belongs to the session's src; sometimes there is none.
    let key = source == model.source || draw.chance(3) ? nil : source
    let named = draw.chance(30) ? source : key
    let owner = named ?? model.source ?? source
    let above = model.highest(owner) + UInt32(draw.number(1...3))
    let event = draw.pick([nil, nil, "a", "m"]) ?? nil
    let level = draw.pick([nil, 0, 1, 2, 3]) ?? nil
    let expires = drawExpiry()
    let ids = model.stored.compactMap { $0.key?.source == owner ? $0.key?.id : nil }
    let leaving = model.gone.keys.filter { $0.source == owner }.map(\.id).sorted()
    let unsure = model.unsure.filter { $0.source == owner }.map(\.id).sorted()
    switch operation {
    case .change:
      guard let id = draw.pick(ids), let old = model.stored(.init(source: owner, id: id)) else { break }
      if draw.chance(20) { return .identified(old.draft, id: id, source: old.draft.source) }
      if draw.chance(10) {
        return .identified(draw.altered(old.draft), id: id, source: old.draft.source)
      }
      let revision = max(0, old.draft.revision + (draw.pick([1, 1, 1, 2, 256, 0, -1, -300]) ?? 1))
      let draft = draw.draft(
        id: id, revision: min(revision, 65535), level: level, expires: expires, source: named, event: event)
      return .identified(draft, id: id, source: named)
    case .old:
      let id = draw.pick(leaving + [UInt32(draw.number(1...Int(max(1, above - 1))))]) ?? 1
      let draft = draw.draft(
        id: id, revision: draw.pick([0, 0, 1, 65535]) ?? 0, level: level, expires: expires, source: named)
      return .identified(draft, id: id, source: named)
    case .removal:
      let all = model.gone.keys.sorted { ($0.source, $0.id) < ($1.source, $1.id) }
      if let key = draw.pick(all), draw.chance(50) || all.count > Self.goneLimit / 2 {
        return draw.removal(id: key.id, source: key.source)
      }
      return draw.removal(id: draw.pick(ids + leaving + unsure + [above]) ?? above, source: named)
    case .plain:
      let isLasting = expires == nil && bench.control != nil && lasting < Self.lastingLimit
      if isLasting { lasting += 1 }
      let ending = isLasting ? nil : expires ?? clock + clockStep / 2
      return .plain(draw.draft(id: nil, level: level, expires: ending, source: nil))
    case .refusal: return draw.refused(id: above, source: named)
    case .fresh, .sync, .session, .subscription, .dismissal, .wait, .press, .waiting: break
    }
    let revision = draw.pick([0, 0, 0, 1, 300]) ?? 0
    let draft = draw.draft(
      id: above, revision: revision, level: level, expires: expires, source: named, event: event)
    return .identified(draft, id: above, source: named)
  }

  /// Never near the time of a session, because the device's own clock advances.
  private mutating func drawExpiry() -> UInt64? {
    guard draw.chance(plan.expiring) else { return nil }
    return draw.pick([
      0, clock - clockStep / 2, clock + clockStep / 2, clock + 5 * clockStep / 2, 4_294_967_295,
    ])
  }

  // MARK: Operations

  var hasKeys: Bool { features & 0b0010 != 0 }
  var hasSync: Bool { features & 0b0110 == 0b0110 }

  /// The state of a session at its beginning.
  mutating func begin(features: UInt32) {
    self.features = features
    (isSynced, isSubscribedToData, isSubscribedToCount) = (false, false, false)
  }

  mutating func drawMTU() -> UInt16 {
    plan.isVaried && draw.chance(50) ? draw.pick([23, 30, 47, 50, 52, 56, 64, 127]) ?? 23 : 517
  }

  mutating func openSession() async throws {
    let source = draw.chance(70) ? draw.pick(sources) : nil
    if draw.chance(60) {
      let steps = draw.number(0...2)
      clock = draw.chance(15) ? clock - clockStep : clock + UInt64(steps) * clockStep
    }
    let hasClock = step == 0 || draw.chance(70)
    let features =
      plan.isVaried ? draw.pick([0, 1, 0b0011, 0b0101, 0b0111, 0b0111]) ?? 0 : Probe.deliveryFeatures
    let mtu = drawMTU()
    what = "a session with SRC \(source.map { "\($0)" } ?? "none"), CLOCK \(hasClock ? "\(clock)" : "none")"
    what += ", features \(features), MTU \(mtu)"
    let tlvs = probe.deliveryTLVs(source: source, features: features, clock: hasClock ? clock : nil)
    try await probe.open(tlvs)
    if mtu != 23 { try await probe.request([0x02] + Wire.u16(mtu)) }
    model.open(source: source, time: hasClock ? clock : nil)
    // A value drawn for a CLOCK that was not sent can be used later.
    clock = model.time ?? clock
    begin(features: features)
    for handle in [4, 7] as [UInt8] where draw.chance(80) { try await setCCCD(handle, to: 1) }
    try await judge(Unsolicited(), count: model.shown.count)
  }

  private mutating func subscribe() async throws {
    let handle: UInt8 = draw.chance(50) ? 4 : 7
    let value: UInt8 = draw.chance(70) ? 1 : 0
    what = "\(value) to the CCCD \(handle)"
    try await setCCCD(handle, to: value)
    try await judge(Unsolicited(), count: model.shown.count)
  }

  private mutating func setCCCD(_ handle: UInt8, to value: UInt8) async throws {
    let reply = try await probe.request([0x12, handle, 0, value, 0])
    guard reply == [0x13] else { throw failure("the answer is [\(Wire.hex(reply))], expected [13]") }
    if handle == 4 { isSubscribedToCount = value == 1 } else { isSubscribedToData = value == 1 }
  }

  /// Lets the device's clock advance past the next time at which something can expire.
  private mutating func wait() async throws {
    let before = model
    let reports = model.wait(clockStep)
    guard reports.count <= Self.expiringLimit else {
      model = before
      return
    }
    what = "a wait of \(clockStep) s"
    clock = model.time ?? clock
    let unsolicited = try await probe.listen(for: .seconds(Int64(clockStep)))
    try await judge(unsolicited, reports, count: before.shown.count)
  }

  private mutating func dismiss() async throws {
    guard let control = bench.control, let itemOffset, let one = draw.pick(model.shown) else { return }
    what = "the dismissal of \(one.key.map { "\($0)" } ?? "one without identity"), number \(one.number)"
    let before = model
    let reports = model.dismiss(one.number)
    try await control.perform(.dismiss(UInt32(one.number + itemOffset)))
    try await judge(Unsolicited(), reports, count: before.shown.count)
  }

  private mutating func write(_ write: StoreWrite) async throws {
    what = "a write of \(String(decoding: write.json, as: UTF8.self))"
    var unsolicited = Unsolicited()
    let pdu = try await drawPDU(write.json, unsolicited: &unsolicited)
    let reply = try await probe.request(pdu, unsolicited: &unsolicited, file: #fileID, line: #line)
    let outcomes = model.outcomes(of: write)
    let opcode = pdu[0]
    let answer = { (code: UInt8) in code == 0 ? [opcode + 1] : [0x01, opcode, 6, 0, code] }
    guard let outcome = outcomes.first(where: { answer($0.code) == reply }) else {
      let allowed = outcomes.map { "[\(Wire.hex(answer($0.code)))]" }.joined(separator: " or ")
      throw failure("the answer is [\(Wire.hex(reply))], expected \(allowed)")
    }
    let before = model
    model = outcome.model
    let isForgotten = before.resyncs == 0 && model.resyncs > 0 && hasSync
    try await judge(
      unsolicited, outcome.reports, optional: outcome.optional, count: before.shown.count,
      resyncs: isForgotten ? (isSynced ? 1 : 0)...1 : 0...0)
  }

  /// The PDU that writes a value, sometimes as a long write that is not necessary.
  private mutating func drawPDU(_ json: [UInt8], unsolicited: inout Unsolicited) async throws -> [UInt8] {
    guard plan.isVaried, draw.chance(15), json.count <= 7 * (probe.session.mtu - 5) else {
      return try await probe.writePDU(json, unsolicited: &unsolicited)
    }
    try await probe.prepare(json, unsolicited: &unsolicited)
    return [0x18, 1]
  }

  private mutating func sync() async throws {
    let source = draw.chance(50) ? model.source ?? sources[0] : draw.pick(sources) ?? sources[0]
    let known = draw.pick([0, model.highest(source), .max]) ?? 0
    what = "SYNC of \(source), known \(known)"
    let before = model
    let (reports, optional) = model.sync(source)
    isSynced = true
    var unsolicited = Unsolicited()
    let held = model.held(source)
    let claimed = draw.chance(50) ? held : []
    let synced = try await probe.sync(Sync(source, known: known, held: claimed), unsolicited: &unsolicited)
    let expected = (source, held.count, Holding.digest(of: held), model.highest(source), capacity)
    guard (synced.source, Int(synced.count), synced.digest, synced.highest, Int(synced.capacity)) == expected
    else {
      throw failure(
        "SYNCED is \(synced), expected src \(source), n \(held.count), digest "
          + "0x\(String(expected.2, radix: 16)), hwm \(expected.3), capacity \(capacity)")
    }
    // Reports come before SYNCED, so only Count is allowed to follow.
    let early = unsolicited
    try await judge(
      unsolicited, reports, optional: optional, count: before.shown.count,
      resyncs: 0...0, isOver: isSubscribedToData ? early.items.count : nil)
  }
}
