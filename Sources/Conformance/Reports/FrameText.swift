import SuiteWire

/// A frame in words for the reader of a report, payload included.
enum FrameText {
  static func line(of frame: WireFrame) -> String {
    var parts = [frame.kind.name]
    if frame.kind == .data { parts.append("\(frame.seq)") }
    if frame.session != 0 { parts.append("session \(frame.session)") }
    if carriesAck(frame.kind) { parts.append("ack \(frame.ack) +\(frame.credit)") }
    let payload = payloadText(of: frame)
    return parts.joined(separator: " ") + (payload.isEmpty ? "" : ": \(payload)")
  }

  private static func carriesAck(_ kind: WireFrame.Kind) -> Bool {
    switch kind {
    case .hello, .syn, .udata, .rst: false
    case .synAck, .data, .ack, .nak, .ping, .pong, .fin: true
    }
  }

  private static func payloadText(of frame: WireFrame) -> String {
    let payload = frame.payload
    guard !payload.isEmpty else { return "" }
    switch (frame.kind, frame.channel) {
    case (.hello, _), (.syn, _), (.synAck, _), (.rst, _): return PayloadText.tlvs(payload)
    case (.data, 4): return PayloadText.attribute(payload)
    case (.data, 0): return PayloadText.sync(payload)
    case (.udata, 1): return "log " + (Transcriber.text(payload) ?? PayloadText.hex(payload))
    case (.nak, _): return "holds \(PayloadText.hex(payload))"
    case (.pong, _): return "handled \(Wire.number(payload))"
    case (.data, _), (.udata, _):
      return "channel \(frame.channel), \(Transcriber.text(payload) ?? PayloadText.hex(payload))"
    case (.ack, _), (.ping, _), (.fin, _): return PayloadText.hex(payload)
    }
  }
}

/// Payloads in words. Source: PROTOCOL.md LNK-5, section 3, NTF-30.
enum PayloadText {
  static func hex(_ bytes: [UInt8]) -> String { Wire.hex(bytes, limit: Transcriber.hexLimitBytes) }

  // MARK: Link

  private static let names: [UInt8: String] = [
    0x81: "MAGIC", 0x82: "NONCE", 0x83: "VERSIONS", 0x84: "VERSION", 0x05: "FEATURES", 0x06: "LIMITS",
    0x07: "SRC", 0x08: "RUN", 0x09: "CLOCK", 0x0A: "BOOT_ID", 0x0B: "BOOT_COUNT", 0x0C: "RESET_REASON",
    0x0D: "UPTIME", 0x0E: "DEVICE_ID", 0x0F: "FIRMWARE_NAME", 0x10: "FIRMWARE_VERSION", 0x11: "BUILD_HASH",
    0x12: "PROFILE_HASH", 0x13: "CAPACITY", 0x14: "REASON", 0x15: "REFUSED",
  ]

  /// TLVs by their names; MAGIC only if it is wrong.
  static func tlvs(_ payload: [UInt8]) -> String {
    guard let tlvs = TLV.parse(payload) else { return "malformed TLVs \(hex(payload))" }
    return tlvs.filter { $0 != .magic }.map { tlv in
      "\(names[tlv.type] ?? "TLV \(number(tlv.type))") \(value(of: tlv))"
    }.joined(separator: ", ")
  }

  private static func value(of tlv: TLV) -> String {
    switch tlv.type {
    case 0x0F, 0x10: return String(decoding: tlv.value, as: UTF8.self)
    case 0x83 where tlv.value.count == 2: return "\(tlv.value[0])-\(tlv.value[1])"
    case 0x06 where tlv.value.count == 8:
      return "\(tlv.value[0]) frames, \(tlv.value[1]) requests, MTU \(Wire.word(tlv.value, at: 2)), "
        + "\(Wire.number(Array(tlv.value[4...]))) bytes"
    case 0x84, 0x08, 0x0B, 0x0C, 0x13, 0x14: return "\(Wire.number(tlv.value))"
    case 0x0D: return "\(Wire.number(tlv.value)) ms"
    case 0x05, 0x07, 0x0A, 0x12, 0x15: return "0x" + String(Wire.number(tlv.value), radix: 16)
    case _: return hex(tlv.value)
    }
  }

  /// A message of SYNC.
  static func sync(_ message: [UInt8]) -> String {
    func field(_ offset: Int, _ length: Int) -> UInt64 {
      Wire.number(Array(message.dropFirst(offset).prefix(length)))
    }
    switch (message[0], message.count) {
    case (1, 19...): return "SYNC src \(field(1, 4)), known \(field(5, 4)), n \(field(9, 2))"
    case (2, 25...): return "SYNCED src \(field(1, 4)), n \(field(5, 2)), highest id \(field(15, 4))"
    case (3, _): return "RESYNC"
    case (4, 10...): return "GONE reason \(field(1, 1)), src \(field(2, 4)), id \(field(6, 4))"
    case (5, 16...):
      return "ACTION \(field(1, 1)), src \(field(2, 4)), id \(field(6, 4)), rev \(field(10, 2)), "
        + "press \(field(12, 4))"
    case (6, 9...): return "TAKEN src \(field(1, 4)), press \(field(5, 4))"
    case _: return "SYNC message \(hex(message))"
    }
  }

  // MARK: Attributes

  private static let operations: [UInt8: String] = [
    0x01: "Error", 0x02: "Exchange MTU", 0x03: "MTU", 0x04: "Find Information", 0x05: "Information",
    0x06: "Find By Type Value", 0x07: "Found", 0x08: "Read By Type", 0x09: "Read By Type answer",
    0x0A: "Read", 0x0B: "Value", 0x0C: "Read Blob", 0x0D: "Part", 0x10: "Read By Group Type",
    0x11: "Groups", 0x12: "Write", 0x13: "Written", 0x16: "Prepare Write", 0x17: "Prepared",
    0x18: "Execute Write", 0x19: "Executed", 0x1B: "Notification", 0x1D: "Indication",
    0x1E: "Confirmation", 0x52: "Write Command",
  ]
  private static let errors: [UInt8: String] = [
    0x01: "invalid handle", 0x02: "read not permitted", 0x03: "write not permitted", 0x04: "invalid PDU",
    0x06: "request not supported", 0x07: "invalid offset", 0x09: "prepare queue full",
    0x0A: "attribute not found", 0x0B: "attribute not long", 0x0D: "invalid attribute value length",
    0x10: "unsupported group type", 0x11: "insufficient resources: the store is full",
    0x80: "not a valid notification", 0x81: "same id and rev, other bytes",
    0xFD: "CCCD improperly configured",
  ]
  private static let handles: [UInt16: String] = [3: "Count", 4: "Count's CCCD", 6: "Data", 7: "Data's CCCD"]

  /// A PDU of the attribute protocol.
  static func attribute(_ pdu: [UInt8]) -> String {
    guard let opcode = pdu.first else { return "empty PDU" }
    let name = operations[opcode] ?? "opcode \(number(opcode))"
    let rest = Array(pdu.dropFirst())
    switch (opcode, rest.count) {
    case (0x01, 4...):
      let error = errors[rest[3]].map { "\(number(rest[3])), \($0)" } ?? number(rest[3])
      return "\(name) \(error) (to \(operations[rest[0]] ?? number(rest[0])))"
    case (0x02, 2), (0x03, 2): return "\(name) \(Wire.word(rest, at: 0))"
    case (0x0A, 2): return "\(name) \(handle(rest))"
    case (0x0C, 4): return "\(name) \(handle(rest)) from \(Wire.word(rest, at: 2))"
    case (0x12, 2...), (0x52, 2...), (0x1B, 2...), (0x1D, 2...):
      return "\(name) \(handle(rest)), \(value(Array(rest.dropFirst(2))))"
    case (0x16, 4...), (0x17, 4...):
      return "\(name) \(handle(rest)) at \(Wire.word(rest, at: 2)), \(value(Array(rest.dropFirst(4))))"
    case (0x0B, _), (0x0D, _): return "\(name), \(value(rest))"
    case _: return rest.isEmpty ? name : "\(name) \(hex(rest))"
    }
  }

  private static func handle(_ bytes: [UInt8]) -> String {
    let handle = Wire.word(bytes, at: 0)
    return handles[handle] ?? "handle \(handle)"
  }

  private static func value(_ bytes: [UInt8]) -> String {
    let length = bytes.count == 1 ? "1 byte" : "\(bytes.count) bytes"
    if bytes.isEmpty { return "no value" }
    if bytes.count <= 2 { return "\(length), value \(Wire.number(bytes))" }
    return "\(length), \(Transcriber.text(bytes) ?? hex(bytes))"
  }

  private static func number(_ byte: UInt8) -> String { "0x" + Wire.hex([byte]).uppercased() }
}
