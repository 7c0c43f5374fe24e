import SuiteWire

/// Values of a finding in the words of PROTOCOL.md.
enum FindingText {
  /// What differs, the actual value, and the expected one.
  static func difference<Value>(_ what: String, _ actual: Value, _ expected: Value) -> String {
    // Bytes of what is named so are a PDU.
    let isPDU = ["answer", "echo", "PDU"].contains { what.contains($0) }
    return "\(what) is \(show(actual, isPDU)), expected \(show(expected, isPDU))"
  }

  private static func show<Value>(_ value: Value, _ isPDU: Bool) -> String {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional {
      return mirror.children.first.map { show(any: $0.value, isPDU) } ?? "missing"
    }
    return show(any: value, isPDU)
  }

  private static func show(any value: Any, _ isPDU: Bool) -> String {
    switch value {
    // First: an empty array is an array of any type.
    case let values as any Collection where values.isEmpty: return "none"
    case let bytes as [UInt8]:
      let hex = "[\(Wire.hex(bytes, limit: 64))]"
      return isPDU ? "\(PayloadText.attribute(bytes)) \(hex)" : hex
    case let frames as [WireFrame]:
      return frames.map(FrameText.line).joined(separator: "; ")
    case let number as UInt64 where number > 0xFFFF: return "\(number) (0x\(String(number, radix: 16)))"
    case _: return "\(value)"
    }
  }
}
