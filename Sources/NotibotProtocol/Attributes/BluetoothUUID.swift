/// A UUID as attributes use it: 16 bits for what Bluetooth assigned, 128 for the rest.
/// Source: Bluetooth Core specification Vol 3 Part B 2.5.1; PROTOCOL.md ATT-1.
package enum BluetoothUUID: Hashable, Sendable {
  case short(UInt16)
  /// The first and the last eight bytes as printed.
  case long(high: UInt64, low: UInt64)

  /// Reads 2 or 16 bytes, least significant first; nil for another count.
  package init?(littleEndian bytes: [UInt8]) {
    switch bytes.count {
    case 2: self = .short(UInt16(bytes[0]) | UInt16(bytes[1]) << 8)
    case 16:
      guard let low = bytes.littleEndian(at: 0, as: UInt64.self),
        let high = bytes.littleEndian(at: 8, as: UInt64.self)
      else { return nil }
      self = .long(high: high, low: low)
    default: return nil
    }
  }

  /// Bytes on the wire: 2 or 16.
  package var lengthBytes: Int {
    switch self {
    case .short: 2
    case .long: 16
    }
  }

  /// The bytes on the wire, least significant first.
  package var littleEndian: [UInt8] {
    var bytes: [UInt8] = []
    switch self {
    case .short(let value):
      bytes.appendLittleEndian(value)
    case .long(let high, let low):
      bytes.appendLittleEndian(low)
      bytes.appendLittleEndian(high)
    }
    return bytes
  }

  package static let primaryService = BluetoothUUID.short(0x2800)
  package static let secondaryService = BluetoothUUID.short(0x2801)
  package static let characteristic = BluetoothUUID.short(0x2803)
  package static let clientCharacteristicConfiguration = BluetoothUUID.short(0x2902)
}

extension BluetoothUUID: CustomStringConvertible {
  /// `0x2902`, or `4fafc201-1fb5-459e-8fcc-c5c9c331914b`.
  package var description: String {
    switch self {
    case .short(let value): return "0x" + hex(value)
    case .long(let high, let low):
      let digits = Array((hex(high) + hex(low)).lowercased())
      return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }
  }
}
