/// `value` in upper-case hexadecimal with as many digits as its type has.
package func hex<Value: FixedWidthInteger & UnsignedInteger>(_ value: Value) -> String {
  let digits = String(value, radix: 16, uppercase: true)
  return String(repeating: "0", count: Value.bitWidth / 4 - digits.count) + digits
}

/// Bytes as upper-case hexadecimal pairs, with `separator` between them.
package func hex(_ bytes: some Sequence<UInt8>, separator: String = "") -> String {
  bytes.map { hex($0) }.joined(separator: separator)
}
