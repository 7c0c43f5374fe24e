/// The TLV types that are known. The raw value is the whole type byte, with bit 7 set on critical
/// ones: 0x85 is not FEATURES but an unknown critical type. Source: PROTOCOL.md LNK-5.
package enum TLVType: UInt8, CaseIterable, Hashable, Sendable {
  case magic = 0x81
  case nonce = 0x82
  case versions = 0x83
  case version = 0x84
  case features = 0x05
  case limits = 0x06
  case src = 0x07
  case run = 0x08
  case clock = 0x09
  case bootID = 0x0A
  case bootCount = 0x0B
  case resetReason = 0x0C
  case uptime = 0x0D
  case deviceID = 0x0E
  case firmwareName = 0x0F
  case firmwareVersion = 0x10
  case buildHash = 0x11
  case profileHash = 0x12
  case capacity = 0x13
  case reason = 0x14
  case refused = 0x15

  /// The minimum length of a value in bytes; more are ignored.
  package var lengthBytes: Int {
    switch self {
    case .firmwareName, .firmwareVersion, .buildHash: 0
    case .version, .resetReason, .reason, .refused: 1
    case .versions, .capacity: 2
    case .magic, .features, .src, .run, .bootID, .bootCount, .profileHash: 4
    case .deviceID: 6
    case .nonce, .limits, .uptime: 8
    case .clock: 10
    }
  }
}

/// The TLVs of a HELLO, SYN, SYNACK or RST payload, checked. Source: PROTOCOL.md LNK-5 to LNK-7.
struct TLVBlock {
  /// The maximum length of a name, version or hash; bytes beyond it are ignored. Source:
  /// PROTOCOL.md LNK-5.
  static let textLimitBytes = 32
  private static let magic: [UInt8] = Array("NBOT".utf8)

  private var values: [TLVType: [UInt8]] = [:]

  /// Reads a payload. Malformed comes before critical: a payload that is both throws why it is
  /// malformed.
  /// - Parameter required: the required types, in addition to MAGIC.
  init(parsing payload: [UInt8], requiring required: [TLVType]) throws(WireError) {
    var unknownCritical: UInt8?
    var offset = 0
    guard payload.isEmpty || payload[0] == TLVType.magic.rawValue else { throw .badMagic }
    while offset < payload.count {
      guard offset + 2 <= payload.count, offset + 2 + Int(payload[offset + 1]) <= payload.count else {
        throw .truncatedTLV(offset: offset)
      }
      let value = Array(payload[(offset + 2)..<(offset + 2 + Int(payload[offset + 1]))])
      if let type = TLVType(rawValue: payload[offset]) {
        guard value.count >= type.lengthBytes else {
          throw .shortTLV(type, expectedBytes: type.lengthBytes, actualBytes: value.count)
        }
        guard values.updateValue(value, forKey: type) == nil else { throw .repeatedTLV(type) }
      } else if payload[offset] & 0x80 != 0, unknownCritical == nil {
        unknownCritical = payload[offset]
      }
      offset += 2 + value.count
    }
    guard let magic = values[.magic] else { throw .missingTLV(.magic) }
    guard magic.starts(with: TLVBlock.magic) else { throw .badMagic }
    for type in required where values[type] == nil { throw .missingTLV(type) }
    if let unknownCritical { throw .unknownCriticalTLV(type: unknownCritical) }
  }

  /// The number of a TLV, or nil when it is absent.
  func number<Value: FixedWidthInteger & BitwiseCopyable>(
    _ type: TLVType, offset: Int = 0, as: Value.Type = Value.self
  )
    -> Value?
  {
    values[type]?.littleEndian(at: offset, as: Value.self)
  }

  /// The number of a required TLV.
  func required<Value: FixedWidthInteger & BitwiseCopyable>(
    _ type: TLVType, offset: Int = 0, as: Value.Type = Value.self
  ) throws(WireError) -> Value {
    guard let value = number(type, offset: offset, as: Value.self) else { throw .missingTLV(type) }
    return value
  }

  /// The first bytes of a TLV, or nil when it is absent.
  func bytes(_ type: TLVType, limitBytes: Int = textLimitBytes) -> [UInt8]? {
    values[type].map { Array($0.prefix(limitBytes)) }
  }

  /// The text of a TLV with invalid UTF-8 replaced, or nil when it is absent. It can contain
  /// control characters.
  func text(_ type: TLVType) -> String? {
    bytes(type).map { String(decoding: $0, as: UTF8.self) }
  }
}

extension [UInt8] {
  /// Appends a TLV of a number.
  mutating func appendTLV<Value: FixedWidthInteger>(_ type: TLVType, _ value: Value?) {
    guard let value else { return }
    append(type.rawValue)
    append(UInt8(Value.bitWidth / 8))
    appendLittleEndian(value)
  }

  /// Appends a TLV of at most 32 bytes.
  mutating func appendTLV(_ type: TLVType, bytes value: [UInt8]?) {
    guard let value = value?.prefix(TLVBlock.textLimitBytes) else { return }
    append(type.rawValue)
    append(UInt8(value.count))
    append(contentsOf: value)
  }

  /// Appends a TLV of text, cut to 32 bytes at a character boundary.
  mutating func appendTLV(_ type: TLVType, text: String?) {
    guard var text else { return }
    while text.utf8.count > TLVBlock.textLimitBytes { text.removeLast() }
    appendTLV(type, bytes: Array(text.utf8))
  }

  /// Appends the MAGIC that every block begins with.
  mutating func appendMagic() {
    appendTLV(.magic, bytes: Array("NBOT".utf8))
  }

  /// Appends VERSIONS.
  mutating func appendTLV(_ versions: VersionRange) {
    appendTLV(.versions, bytes: [versions.lowest, versions.highest])
  }

  /// Appends LIMITS.
  mutating func appendTLV(_ limits: LinkLimits) {
    var value = [limits.frames, limits.requests]
    value.appendLittleEndian(limits.mtu)
    value.appendLittleEndian(limits.bytes)
    appendTLV(.limits, bytes: value)
  }

  /// Appends the TLVs of HELLO and SYNACK about the device's hardware and firmware.
  mutating func appendTLVs(deviceID: DeviceID?, firmwareName: String?, firmwareVersion: String?) {
    appendTLV(.deviceID, bytes: deviceID?.octets)
    appendTLV(.firmwareName, text: firmwareName)
    appendTLV(.firmwareVersion, text: firmwareVersion)
  }
}
