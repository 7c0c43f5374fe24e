import NotibotProtocol

/// The attributes of the device and their permissions. Source: PROTOCOL.md section 3, table of
/// handles.
enum AttributeTable {
  /// The longest value that fits into the answer to Read By Type at the least MTU, 23, after four
  /// other bytes. Read By Group Type has two more, and only the service's 16.
  static let valueLimitBytes = 19
  /// The handles that fit into the answer to Find By Type Value at the least MTU.
  static let sameTypeLimit = 5
  /// The handles and types that fit into the answer to Find Information at the least MTU.
  static let typesLimitBytes = 21

  /// The source of an attribute's value.
  enum Content: Equatable, Sendable {
    /// Always the same bytes.
    case fixed([UInt8])
    case count
    case data
    case cccd(Subscription)
  }

  /// The characteristic that a CCCD or a notification belongs to.
  enum Subscription: Equatable, Sendable {
    case count
    case data
  }

  struct Attribute: Equatable, Sendable {
    let handle: UInt16
    let type: BluetoothUUID
    let content: Content

    /// Source: PROTOCOL.md ATT-11.
    var isReadable: Bool { content != .data }
    /// Source: PROTOCOL.md ATT-11.
    var isWritable: Bool {
      switch content {
      case .data, .cccd: true
      case .fixed, .count: false
      }
    }
  }

  /// In handle order, from 1, without gaps. A value has at most `valueLimitBytes`, a type at most
  /// `sameTypeLimit` attributes, and types of one length in a row at most `typesLimitBytes`.
  static let attributes: [Attribute] = [
    declared(0),
    declared(1),
    Attribute(handle: NotibotProfile.Handle.count, type: NotibotProfile.count, content: .count),
    Attribute(
      handle: NotibotProfile.Handle.countCCCD, type: .clientCharacteristicConfiguration,
      content: .cccd(.count)),
    declared(3),
    Attribute(handle: NotibotProfile.Handle.data, type: NotibotProfile.data, content: .data),
    Attribute(
      handle: NotibotProfile.Handle.dataCCCD, type: .clientCharacteristicConfiguration, content: .cccd(.data)),
  ]

  /// The attribute with a handle; nil if there is none.
  static func attribute(_ handle: UInt16) -> Attribute? {
    handle >= 1 && Int(handle) <= attributes.count ? attributes[Int(handle) - 1] : nil
  }

  /// The attributes whose handles are in a range, both ends included.
  static func attributes(in range: HandleRange) -> ArraySlice<Attribute> {
    let first = min(max(Int(range.start), 1) - 1, attributes.count)
    let end = min(Int(range.end), attributes.count)
    return first < end ? attributes[first..<end] : []
  }

  /// The last handle of the group that an attribute opens: for the service the last handle of all,
  /// for any other attribute its own.
  static func groupEnd(of attribute: Attribute) -> UInt16 {
    attribute.type == .primaryService ? UInt16(attributes.count) : attribute.handle
  }

  private static func declared(_ index: Int) -> Attribute {
    let declaration = NotibotProfile.declarations[index]
    return Attribute(
      handle: declaration.handle, type: .short(declaration.type), content: .fixed(declaration.value))
  }
}

extension BluetoothUUID {
  /// The same UUID in its shortest form: a 128-bit UUID on the Bluetooth base becomes the 16-bit
  /// one. Source: Bluetooth Core specification Vol 3 Part B 2.5.1.
  var shortest: BluetoothUUID {
    switch self {
    case .short: return self
    case .long(let high, let low):
      let isOfBase = low == 0x8000_0080_5F9B_34FB && high & 0xFFFF_0000_FFFF_FFFF == 0x0000_0000_0000_1000
      return isOfBase ? .short(UInt16(truncatingIfNeeded: high >> 32)) : self
    }
  }
}
