import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Random requests, each answer compared with a model of the bearer.
extension Suite {
  static let attWalks = chapter(.att) {
    Case(
      "ATT-14/random-walk-of-writes",
      "Reads, writes and long writes of all handles, valid and invalid, are answered according to the rules",
      also: [
        "ATT-3", "ATT-5", "ATT-8", "ATT-10", "ATT-11", "ATT-12", "ATT-13", "ATT-15", "ATT-16", "ATT-17",
        "ATT-18", "NTF-10",
      ],
      needs: [.strict], isOfServer: true
    ) { _, bench in
      try await ATTWalk.run(on: bench)
    }
  }
}

/// Drives a bearer with random requests. Only notifications without identity are stored, and few of
/// them.
private struct ATTWalk {
  /// The maximum number of stored notifications if only a dismissal removes them, and if the case
  /// can dismiss.
  private static let (storedLeast, storedMost) = (2, 30)

  let probe: Probe
  let seed: UInt64
  private var model: ATTModel
  private var draw: WriteDrawer
  private var stored = 0
  private let storedLimit: Int
  /// The value that is written in parts, and the beginning of the next part.
  private var json: [UInt8] = []
  /// The rest of a long write that was drawn as a whole.
  private var pending: [[UInt8]] = []
  private var step = 0

  static func run(on bench: Bench) async throws {
    let probe = bench.probe
    try await probe.open()
    try await probe.requireStoreRoom(storedLeast + 2)
    var walk = try await ATTWalk(probe, seed: bench.seed, canClear: bench.control != nil)
    let steps = bench.hasVirtualTime ? 400 : 80
    for _ in 0..<steps { try await walk.advance() }
    if let control = bench.control { try await control.perform(.clear) }
  }

  private init(_ probe: Probe, seed: UInt64, canClear: Bool) async throws {
    self.probe = probe
    self.seed = seed
    draw = WriteDrawer(random: SeededGenerator(seed: seed), textLimit: 60)
    let model = try await Self.makeModel(probe)
    self.model = model
    let room = probe.session.announced.number(of: 0x13).map { Int($0) - model.count - 2 } ?? 0
    storedLimit = canClear ? max(Self.storedLeast, min(room, Self.storedMost)) : Self.storedLeast
  }

  private static func makeModel(_ probe: Probe) async throws -> ATTModel {
    let declaration = { (properties: UInt8, value: UInt8, id: [UInt8]) in [properties, value, 0] + id }
    let fixed: [UInt8: [UInt8]] = [
      1: Suite.service, 2: declaration(0x12, 3, Suite.count), 5: declaration(0x18, 6, Suite.data),
    ]
    return ATTModel(serverMTU: probe.session.peerMTU, fixed: fixed, count: try await probe.readCount())
  }

  private mutating func advance() async throws {
    step += 1
    if draw.chance(4) { return try await reopen() }
    if draw.chance(5) { try await sendIgnored() }
    try await ask(drawRequest())
    if model.parts.isEmpty { json = [] }
  }

  /// Another bearer: the state of the last one is lost, except for the count (ATT-3).
  private mutating func reopen() async throws {
    try await probe.open()
    let notifications = model.notifications
    let before = model.count
    model = try await Self.makeModel(probe)
    model.notifications = notifications
    json = []
    pending = []
    if draw.chance(60) { try await ask([0x02] + Wire.u16(517)) }
    guard model.count == before else { throw failure([], "Count is \(model.count), expected \(before)") }
  }

  /// A PDU without an answer or an effect: an answer would be mistaken for that of the next
  /// request.
  private mutating func sendIgnored() async throws {
    let value = Array(Sample.json("ignored").prefix(model.mtu - 3))
    let pdus: [[UInt8]] = [
      [0x52, 6, 0] + value, [0x52, 4, 0, 1, 0], [0xD2, 6, 0], [0x13], [0x19], [0x1B, 3, 0, 1, 0], [0x1E],
      [0x40],
    ]
    try await probe.awaitRoom()
    try await probe.sendData(draw.pick(pdus) ?? [0x13])
  }

  private mutating func ask(_ pdu: [UInt8]) async throws {
    var seen: [[UInt8]] = []
    let reply = try await probe.request(pdu, notifications: &seen)
    let outcomes = model.outcomes(of: pdu)
    guard let outcome = outcomes.first(where: { $0.answer == reply }) else {
      let allowed = outcomes.map { "[\(Wire.hex($0.answer, limit: 32))]" }.joined(separator: " or ")
      throw failure(pdu, "the answer is [\(Wire.hex(reply, limit: 32))], expected \(allowed)")
    }
    if outcome.model.count > model.count { stored += 1 }
    model = outcome.model
    guard seen.isEmpty else { throw failure(pdu, "before the answer comes \(seen)") }
    guard model.isCountDue else { return }
    let count = try await probe.request([0x0A, 3, 0], notifications: &seen)
    let deadline = probe.now + probe.settleTime
    while let late = try await probe.nextPDU(until: deadline) { seen.append(late) }
    let value = Wire.u16(UInt16(clamping: model.count))
    guard count == [0x0B] + value, seen == [[0x1B, 3, 0] + value] else {
      throw failure(
        pdu, "the notifications are \(seen), Count [\(Wire.hex(count))], expected a count of \(model.count)")
    }
  }

  // MARK: Drawing

  private mutating func drawRequest() -> [UInt8] {
    if pending.isEmpty, model.parts.isEmpty, draw.chance(30) { drawLongWrite() }
    if !pending.isEmpty {
      if draw.chance(97) { return pending.removeFirst() }
      pending = []
    }
    let handle = UInt8(draw.pick([0, 1, 2, 3, 4, 4, 5, 6, 6, 7, 7, 8, 255]) ?? 0)
    let high = UInt8(draw.chance(3) ? 1 : 0)
    switch draw.number(1...100) {
    case ...12: return [0x0A, handle, high]
    case ...22:
      return [0x0C, handle, high]
        + Wire.u16(UInt16(draw.pick([0, 1, 2, 3, 15, 16, 17, 18, 19, 20, 65535]) ?? 0))
    case ...40: return [0x12, handle, high] + drawValue(of: handle)
    case ...44: return [0x02] + Wire.u16(UInt16(draw.pick([0, 22, 23, 24, 64, 517, 65535]) ?? 0))
    case ...50: return drawBroken(handle)
    case ...66: return [0x18, UInt8(draw.pick([0, 1, 1, 1, 1, 2, 255]) ?? 0)]
    case ...80: return drawPart(of: 6)
    case _: return drawPart(of: UInt8(draw.pick([4, 7, 4, 7, 6, 3, 0, 8]) ?? 0), high: high)
    }
  }

  /// A notification and CCCDs in at most 8 parts, interleaved, and Execute Write.
  private mutating func drawLongWrite() {
    var lanes: [[[UInt8]]] = []
    let hasData = draw.chance(stored < storedLimit ? 75 : 10)
    let whole = hasData ? drawNotification() : []
    let least = (whole.count + 5) / 6
    if hasData || draw.chance(5), least <= model.mtu - 5 {
      var (lane, offset) = ([[UInt8]](), draw.chance(8) ? 1 : 0)
      repeat {
        let end = min(whole.count, offset + max(1, draw.number(least...max(least, model.mtu - 5))))
        lane.append([0x16, 6, 0] + Wire.u16(UInt16(offset)) + whole[min(offset, end)..<end])
        offset = end
      } while offset < whole.count
      lanes.append(lane)
    }
    for handle in [4, 7] as [UInt8] where draw.chance(hasData ? 40 : 80) {
      let value = draw.chance(20) ? drawValue(of: handle) : [UInt8(draw.number(0...1)), 0]
      lanes.append([[0x16, handle, 0, 0, 0] + value])
    }
    while let lane = lanes.indices.randomElement(using: &draw.random) {
      pending.append(lanes[lane].removeFirst())
      if lanes[lane].isEmpty { lanes.remove(at: lane) }
    }
    pending.append([0x18, 1])
  }

  private mutating func drawBroken(_ handle: UInt8) -> [UInt8] {
    let broken: [[UInt8]] = [
      [0x02], [0x02, 23], [0x02, 23, 0, 0], [0x0A], [0x0A, handle], [0x0A, handle, 0, 0],
      [0x0C, handle, 0, 0],
      [0x0C, handle, 0, 0, 0, 0], [0x12], [0x12, handle], [0x16, handle, 0, 0], [0x18], [0x18, 1, 0],
    ]
    let blanks = [UInt8](repeating: 0x20, count: 60)
    // One byte longer than the MTU, if that is small.
    if model.mtu < 60, draw.chance(20) {
      return Array(([draw.chance(50) ? 0x12 : 0x16, 6, 0, 0, 0] + blanks).prefix(model.mtu + 1))
    }
    return draw.pick(broken) ?? [0x0A]
  }

  private mutating func drawValue(of handle: UInt8) -> [UInt8] {
    guard handle == 6 else {
      return draw.pick([[0, 0], [1, 0], [1, 0], [2, 0], [0, 1], [1], [1, 0, 0], []]) ?? []
    }
    let room = model.mtu - 3
    let whole = drawNotification()
    return Array(whole.prefix(room))
  }

  /// A valid notification as long as there is room for it; otherwise an invalid one.
  private mutating func drawNotification() -> [UInt8] {
    if draw.chance(10) { return Sample.json(length: draw.number(513...520)) }
    let text = String(repeating: "x", count: draw.number(0...60))
    guard stored < storedLimit else { return Array(Sample.json(text).dropLast()) }
    let json = draw.chance(20) ? Sample.json(length: 512) : Sample.json(text)
    model.notifications.insert(json)
    return json
  }

  /// The next part of a notification, sometimes with another offset; or of another handle.
  private mutating func drawPart(of handle: UInt8, high: UInt8 = 0) -> [UInt8] {
    var offset = model.end(of: handle)
    if draw.chance(7) { offset = max(0, offset + (draw.pick([-1, 1, 18, 256]) ?? 1)) }
    var value = drawValue(of: handle == 6 ? 0 : handle)
    if handle == 6 {
      if offset == 0 || json.isEmpty { json = drawNotification() }
      let rest = json.dropFirst(offset)
      let length = draw.pick([0, 1, 18, model.mtu, model.mtu, model.mtu]) ?? 18
      value = Array(rest.prefix(min(length, model.mtu - 5)))
    } else if draw.chance(20) {
      value = Array(value.prefix(1))
    }
    return [0x16, handle, high] + Wire.u16(UInt16(clamping: offset)) + value
  }

  private func failure(_ pdu: [UInt8], _ message: String, file: String = #fileID, line: Int = #line)
    -> CaseEnd
  {
    .fault(
      "seed \(seed), step \(step), request [\(Wire.hex(pdu, limit: 32))]: \(message)", file: file, line: line)
  }
}
