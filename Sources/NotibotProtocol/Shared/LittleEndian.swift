extension [UInt8] {
  /// Appends `value`, least significant byte first.
  // No loop over shifts: unless it is specialised, each of them is a call through a table.
  @inlinable
  package mutating func appendLittleEndian<Value: FixedWidthInteger>(_ value: Value) {
    Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
  }

  /// The value whose least significant byte stands at `offset`, or nil when it runs past the end.
  @inlinable
  package func littleEndian<Value: FixedWidthInteger & BitwiseCopyable>(
    at offset: Int, as type: Value.Type
  ) -> Value? {
    guard offset >= 0, offset <= count - MemoryLayout<Value>.size else { return nil }
    return withUnsafeBytes { Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
  }
}
