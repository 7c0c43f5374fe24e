/// The attribute table of a Notibot. Source: PROTOCOL.md section 3.
package enum NotibotProfile {
  /// `4fafc201-1fb5-459e-8fcc-c5c9c331914b`
  package static let service = BluetoothUUID.long(high: 0x4FAF_C201_1FB5_459E, low: 0x8FCC_C5C9_C331_914B)
  /// `beb5483e-36e1-4688-b7f5-ea07361b26a8`
  package static let count = BluetoothUUID.long(high: 0xBEB5_483E_36E1_4688, low: 0xB7F5_EA07_361B_26A8)
  /// `1c95d5e3-d8f7-413a-bf3d-7a2e5d7be87e`
  package static let data = BluetoothUUID.long(high: 0x1C95_D5E3_D8F7_413A, low: 0xBF3D_7A2E_5D7B_E87E)

  /// The handles of PROTOCOL.md's table, which begins at 1.
  package enum Handle {
    package static let service: UInt16 = 1
    package static let countDeclaration: UInt16 = 2
    package static let count: UInt16 = 3
    package static let countCCCD: UInt16 = 4
    package static let dataDeclaration: UInt16 = 5
    package static let data: UInt16 = 6
    package static let dataCCCD: UInt16 = 7
  }

  /// The properties in the declaration of Count.
  package static let countProperties: CharacteristicProperties = [.read, .notify]
  /// The properties in the declaration of Data.
  package static let dataProperties: CharacteristicProperties = [.write, .notify]

  /// The longest value of Data, in bytes. Source: PROTOCOL.md ATT-13.
  package static let dataLimitBytes = 512
  /// The MTU of a bearer before Exchange MTU, in bytes. Source: PROTOCOL.md ATT-3.
  package static let firstMTU: UInt16 = 23

  /// The service and its attributes have so many handles in a row.
  package static let attributesCount: UInt16 = 7
  /// The highest first one.
  package static let lastFirstHandle = UInt16.max - (attributesCount - 1)

  /// The declarations and descriptors, in handle order, that the profile hash covers.
  ///
  /// - Parameter first: the handle of the service, up to `lastFirstHandle`.
  package static func declarations(from first: UInt16 = 1) -> [Declaration] {
    let offset = first - 1
    return [
      Declaration(handle: offset + Handle.service, type: 0x2800, value: service.littleEndian),
      Declaration(
        characteristic: count, properties: countProperties, handle: offset + Handle.countDeclaration,
        valueHandle: offset + Handle.count),
      Declaration(handle: offset + Handle.countCCCD, type: 0x2902, value: []),
      Declaration(
        characteristic: data, properties: dataProperties, handle: offset + Handle.dataDeclaration,
        valueHandle: offset + Handle.data),
      Declaration(handle: offset + Handle.dataCCCD, type: 0x2902, value: []),
    ]
  }

  /// The PROFILE_HASH of the table above.
  package static let hash = profileHash(of: declarations())

  /// The CRC-32 over handle, type and value of each declaration. Source: PROTOCOL.md ATT-4.
  package static func profileHash(of declarations: [Declaration]) -> UInt32 {
    var bytes: [UInt8] = []
    for declaration in declarations {
      bytes.appendLittleEndian(declaration.handle)
      bytes.appendLittleEndian(declaration.type)
      bytes.append(contentsOf: declaration.value)
    }
    return CRC32.checksum(bytes)
  }
}

/// An attribute that describes others: a service, a characteristic, a descriptor. Source:
/// PROTOCOL.md ATT-4.
package struct Declaration: Hashable, Sendable {
  package var handle: UInt16
  /// The 16-bit UUID of what it declares.
  package var type: UInt16
  /// Its value when read; empty for a CCCD, whose value depends on the bearer.
  package var value: [UInt8]

  package init(handle: UInt16, type: UInt16, value: [UInt8]) {
    self.handle = handle
    self.type = type
    self.value = value
  }

  /// The declaration of a characteristic: properties, value handle, UUID.
  package init(
    characteristic: BluetoothUUID, properties: CharacteristicProperties, handle: UInt16, valueHandle: UInt16
  ) {
    var value = [properties.rawValue]
    value.appendLittleEndian(valueHandle)
    value.append(contentsOf: characteristic.littleEndian)
    self.init(handle: handle, type: 0x2803, value: value)
  }
}

/// The properties of a characteristic. Source: Bluetooth Core specification Vol 3 Part G 3.3.1.1.
package struct CharacteristicProperties: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  package static let read = CharacteristicProperties(rawValue: 0x02)
  package static let write = CharacteristicProperties(rawValue: 0x08)
  package static let notify = CharacteristicProperties(rawValue: 0x10)
}
