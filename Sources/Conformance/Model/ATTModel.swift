import SuiteWire

/// The answers of a bearer, as far as section 3 of PROTOCOL.md determines them: reading, writing
/// and long writes. A plain value, written from the text alone.
struct ATTModel: Sendable {
  /// A part that waits for Execute Write.
  struct Part: Sendable {
    var handle: UInt8
    var offset: Int
    var value: [UInt8]
  }

  /// The allowed answers, and the resulting states.
  struct Outcome: Sendable {
    var answer: [UInt8]
    var model: ATTModel
  }

  /// The minimum size of a device's queue (ATT-14).
  private static let partsAtLeast = 8
  private static let partBytesAtLeast = 1024
  /// ATT-13.
  private static let dataLimitBytes = 512

  /// The largest PDU that the server accepts.
  let serverMTU: Int
  /// The values of handles 1, 2 and 5.
  let fixed: [UInt8: [UInt8]]
  /// The valid notifications in JSON; all others are invalid.
  var notifications: Set<[UInt8]> = []
  private(set) var mtu = 23
  private var hasExchangedMTU = false
  private(set) var cccds: [UInt8: UInt8] = [4: 0, 7: 0]
  private(set) var parts: [Part] = []
  /// The value of Count.
  private(set) var count: Int
  /// Whether the latest request changed it for a client that has subscribed and remains so.
  private(set) var isCountDue = false

  init(serverMTU: Int, fixed: [UInt8: [UInt8]], count: Int) {
    self.serverMTU = serverMTU
    self.fixed = fixed
    self.count = count
  }

  /// The offset at which the next part of a handle must begin.
  func end(of handle: UInt8) -> Int {
    parts.filter { $0.handle == handle }.reduce(0) { $0 + $1.value.count }
  }

  /// The allowed answers to a request. Its handle has no high byte unless `handle` does not exist.
  func outcomes(of pdu: [UInt8]) -> [Outcome] {
    var model = self
    model.isCountDue = false
    let opcode = pdu[0]
    let error = { (handle: [UInt8], code: UInt8) in [0x01, opcode] + handle + [code] }
    guard pdu.count <= mtu, isWellFormed(pdu) else {
      if opcode == 0x18 { model.parts = [] }
      return [Outcome(answer: error([0, 0], 0x04), model: model)]
    }
    if opcode == 0x02 { return [model.exchange(Int(Wire.word(pdu, at: 1)))] }
    if opcode == 0x18 { return [model.execute(pdu[1])] }
    let name = Array(pdu[1...2])
    guard name[1] == 0, let handle = pdu[1...1].first, (1...7).contains(handle) else {
      return [Outcome(answer: error(name, 0x01), model: model)]
    }
    switch opcode {
    case 0x0A, 0x0C:
      guard let value = value(of: handle) else { return [Outcome(answer: error(name, 0x02), model: model)] }
      let offset = opcode == 0x0C ? Int(Wire.word(pdu, at: 3)) : 0
      guard offset <= value.count else { return [Outcome(answer: error(name, 0x07), model: model)] }
      return [Outcome(answer: [opcode + 1] + value.dropFirst(offset).prefix(mtu - 1), model: model)]
    case 0x12:
      let code = isWritable(handle) ? model.write(Array(pdu[3...]), to: handle) : 0x03
      return [Outcome(answer: code == 0 ? [0x13] : error(name, code), model: model)]
    case _:
      guard isWritable(handle) else { return [Outcome(answer: error(name, 0x03), model: model)] }
      let part = Part(handle: handle, offset: Int(Wire.word(pdu, at: 3)), value: Array(pdu[5...]))
      let queued = parts.reduce(0) { $0 + $1.value.count }
      let full = Outcome(answer: error(name, 0x09), model: model)
      model.parts.append(part)
      let echo = Outcome(answer: [0x17] + pdu.dropFirst(), model: model)
      let hasRoom = parts.count < Self.partsAtLeast && queued + part.value.count <= Self.partBytesAtLeast
      return hasRoom ? [echo] : [echo, full]
    }
  }

  private func isWellFormed(_ pdu: [UInt8]) -> Bool {
    switch pdu[0] {
    case 0x02, 0x0A: pdu.count == 3
    case 0x0C: pdu.count == 5
    case 0x12: pdu.count >= 3
    case 0x16: pdu.count >= 5
    case 0x18: pdu.count == 2 && pdu[1] <= 1
    case _: false
    }
  }

  private func isWritable(_ handle: UInt8) -> Bool { [4, 6, 7].contains(handle) }

  private func value(of handle: UInt8) -> [UInt8]? {
    switch handle {
    case 3: Wire.u16(UInt16(clamping: count))
    case 6: nil
    case 4, 7: [cccds[handle] ?? 0, 0]
    case _: fixed[handle] ?? []
    }
  }

  /// ATT-8.
  private func exchange(_ client: Int) -> Outcome {
    var model = self
    if !hasExchangedMTU { model.mtu = max(23, min(client, serverMTU)) }
    model.hasExchangedMTU = true
    return Outcome(answer: [0x03] + Wire.u16(UInt16(serverMTU)), model: model)
  }

  private mutating func write(_ value: [UInt8], to handle: UInt8) -> UInt8 {
    if handle != 6 {
      let code = check(value)
      if code == 0 { cccds[handle] = value[0] }
      return code
    }
    if value.count > Self.dataLimitBytes { return 0x0D }
    guard notifications.contains(value) else { return 0x80 }
    count += 1
    isCountDue = cccds[4] == 1
    return 0
  }

  /// Of a CCCD's value. ATT-12.
  private func check(_ value: [UInt8]) -> UInt8 {
    guard value.count == 2 else { return 0x0D }
    return value[0] > 1 || value[1] != 0 ? 0xFD : 0
  }

  /// ATT-14.
  private func execute(_ flag: UInt8) -> Outcome {
    var model = self
    model.parts = []
    let done = [0x19] as [UInt8]
    if flag == 0 { return Outcome(answer: done, model: model) }
    var values: [UInt8: [UInt8]] = [:]
    let error = { (handle: UInt8, code: UInt8) in
      Outcome(answer: [0x01, 0x18, handle, 0, code], model: model)
    }
    for part in parts {
      guard part.offset == values[part.handle, default: []].count else { return error(part.handle, 0x07) }
      values[part.handle, default: []] += part.value
    }
    for handle in [4, 7] as [UInt8] {
      let code = values[handle].map(check) ?? 0
      if code != 0 { return error(handle, code) }
    }
    if let value = values[6] {
      let code = model.write(value, to: 6)
      if code != 0 { return error(6, code) }
    }
    for handle in [4, 7] as [UInt8] {
      if let value = values[handle] { model.cccds[handle] = value[0] }
    }
    model.isCountDue = model.isCountDue && model.cccds[4] == 1
    return Outcome(answer: done, model: model)
  }
}
