import NotibotProtocol

/// The attributes of the device and their permissions. Source: PROTOCOL.md section 3, table of
/// handles.
///
/// If there is room in front of the service, GAP and GATT are there, as on a device with a
/// Bluetooth stack.
struct AttributeTable: Equatable, Sendable {
  /// The source of an attribute's value.
  enum Content: Equatable, Sendable {
    /// Always the same bytes.
    case fixed([UInt8])
    case count
    case data
    case cccd(Subscription)
    /// Of a characteristic that is only indicated.
    case hidden
  }

  /// The characteristic that a CCCD or a notification belongs to.
  enum Subscription: Equatable, Sendable {
    case count
    case data
    /// Of GATT. Never indicated: the table does not change.
    case serviceChanged

    /// The value of the CCCD with which a client subscribes.
    var enabled: UInt8 { self == .serviceChanged ? 2 : 1 }
  }

  struct Attribute: Equatable, Sendable {
    let handle: UInt16
    let type: BluetoothUUID
    let content: Content

    /// Source: PROTOCOL.md ATT-11.
    var isReadable: Bool { content != .data && content != .hidden }
    /// Source: PROTOCOL.md ATT-11.
    var isWritable: Bool {
      switch content {
      case .data, .cccd: true
      case .fixed, .count, .hidden: false
      }
    }
  }

  /// A generic display.
  private static let appearance: [UInt8] = [0x40, 0x01]

  /// In handle order: GAP and GATT from 1 or nothing, then the service without gaps.
  let attributes: [Attribute]
  private let frontCount: UInt16
  /// The handle of the service.
  private let first: UInt16

  /// - Parameters:
  ///   - first: the handle of the service, up to `NotibotProfile.lastFirstHandle`.
  ///   - name: the device name in GAP.
  init(first: UInt16 = NotibotProfile.Handle.service, name: String = DeviceProfile.usualBluetoothName) {
    let front = Self.front(name: name)
    self.first = first
    frontCount = front.count < Int(first) ? UInt16(front.count) : 0
    attributes = front.prefix(Int(frontCount)) + Self.service(from: first)
  }

  private static func front(name: String) -> [Attribute] {
    let rows: [(type: UInt16, content: Content)] = [
      (0x2800, .fixed([0x00, 0x18])), (0x2803, .fixed([0x02, 3, 0, 0x00, 0x2A])),
      (0x2A00, .fixed(Array(name.utf8))),
      (0x2803, .fixed([0x02, 5, 0, 0x01, 0x2A])), (0x2A01, .fixed(appearance)),
      (0x2800, .fixed([0x01, 0x18])), (0x2803, .fixed([0x20, 8, 0, 0x05, 0x2A])), (0x2A05, .hidden),
      (0x2902, .cccd(.serviceChanged)),
    ]
    return rows.enumerated().map {
      Attribute(handle: UInt16($0.offset + 1), type: .short($0.element.type), content: $0.element.content)
    }
  }

  private static func service(from first: UInt16) -> [Attribute] {
    let offset = first - 1
    let contents: [UInt16: Content] = [
      NotibotProfile.Handle.countCCCD: .cccd(.count), NotibotProfile.Handle.dataCCCD: .cccd(.data),
    ]
    let declared = NotibotProfile.declarations(from: first).map {
      Attribute(
        handle: $0.handle, type: .short($0.type), content: contents[$0.handle - offset] ?? .fixed($0.value))
    }
    let values = [
      Attribute(handle: offset + NotibotProfile.Handle.count, type: NotibotProfile.count, content: .count),
      Attribute(handle: offset + NotibotProfile.Handle.data, type: NotibotProfile.data, content: .data),
    ]
    return (declared + values).sorted { $0.handle < $1.handle }
  }

  /// The handle on this device of an attribute of PROTOCOL.md's table.
  func handle(_ listed: UInt16) -> UInt16 { first - 1 + listed }

  /// The handle behind the service, if GAP and GATT are not in front of it.
  var handleBehind: UInt16? { frontCount == 0 ? first + NotibotProfile.attributesCount : nil }

  /// The attribute with a handle; nil if there is none.
  func attribute(_ handle: UInt16) -> Attribute? {
    if handle >= first {
      let index = Int(handle - first) + Int(frontCount)
      return index < attributes.count ? attributes[index] : nil
    }
    return handle >= 1 && handle <= frontCount ? attributes[Int(handle) - 1] : nil
  }

  /// The attributes whose handles are in a range, both ends included.
  func attributes(in range: HandleRange) -> [Attribute] {
    attributes.filter { range.start <= $0.handle && $0.handle <= range.end }
  }

  /// The last handle of the group that an attribute opens: for a service that of the service, for
  /// any other attribute its own.
  ///
  /// - Parameter isOpen: `ServerTraits.hasOpenGroups`.
  func groupEnd(of attribute: Attribute, isOpen: Bool) -> UInt16 {
    let enders: [BluetoothUUID]
    switch attribute.type {
    case .primaryService: enders = [.primaryService]
    case .characteristic where isOpen: enders = [.primaryService, .characteristic]
    default: return attribute.handle
    }
    let behind = attributes.drop { $0.handle <= attribute.handle }
    guard let end = behind.firstIndex(where: { enders.contains($0.type) }) else {
      return isOpen ? .max : attributes[attributes.count - 1].handle
    }
    return attributes[end - 1].handle
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
