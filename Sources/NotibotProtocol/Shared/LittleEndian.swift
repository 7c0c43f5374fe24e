extension [UInt8] {
  /// Appends `value`, least significant byte first.
  // Inlinable: an unspecialised loop was half of the time that opening a large journal takes.
  @inlinable
  package mutating func appendLittleEndian<Value: FixedWidthInteger>(_ value: Value) {
    for shift in stride(from: 0, to: Value.bitWidth, by: 8) {
      append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  /// The value whose least significant byte stands at `offset`, or nil when it runs past the end.
  @inlinable
  package func littleEndian<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type) -> Value? {
    let lengthBytes = Value.bitWidth / 8
    guard offset >= 0, offset <= count - lengthBytes else { return nil }
    var value: Value = 0
    for index in 0..<lengthBytes {
      value |= Value(truncatingIfNeeded: self[offset + index]) << (8 * index)
    }
    return value
  }
}
