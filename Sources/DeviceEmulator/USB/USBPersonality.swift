package import SerialLink

/// The USB serial hardware that an emulator can be.
package enum USBPersonality: String, CaseIterable, Equatable, Sendable {
  /// The USB-Serial-JTAG of an ESP32-C3, C6, H2, P4 or S3; driver cdc_acm.
  case jtag
  /// Silicon Labs CP2102; driver cp210x.
  case cp2102
  /// FTDI FT232R; driver ftdi_sio.
  case ftdi

  /// The profile of a device with this hardware.
  package var profile: DeviceProfile {
    switch self {
    case .jtag: .usbSerialJTAG
    case .cp2102: .cp2102
    case .ftdi: .ftdi
    }
  }

  /// The personality of a profile; jtag if the profile has no USB hardware of its own.
  package init(of profile: DeviceProfile) {
    self = Self.allCases.first { $0.profile.name == profile.name } ?? .jtag
  }

  package var id: USBID {
    switch self {
    case .jtag: USBID(vendor: 0x303A, product: 0x1001)
    case .cp2102: USBID(vendor: 0x10C4, product: 0xEA60)
    case .ftdi: USBID(vendor: 0x0403, product: 0x6001)
    }
  }

  /// Bytes towards the host that the chip holds while the host does not take them. Sources:
  /// ESP32-C3 manual, CP2102 and FT232R data sheets.
  var bufferBytes: Int {
    switch self {
    case .jtag: 64
    case .cp2102: 576
    case .ftdi: 256
    }
  }

  /// The endpoints of the serial line, without the direction bit.
  var dataIn: UInt8 { 1 }
  var dataOut: UInt8 {
    switch self {
    case .jtag: 1
    case .cp2102, .ftdi: 2
    }
  }

  /// The endpoints from and to the host, as in the configuration.
  var endpointsIn: ClosedRange<UInt8> { self == .jtag ? 1...3 : 1...1 }
  var endpointsOut: ClosedRange<UInt8> { self == .jtag ? 1...2 : 2...2 }

  /// Whether bytes for a host wait in the chip while no program has the port open; an adapter has a
  /// UART that goes on.
  var keepsOutputWhileClosed: Bool { self == .jtag }

  /// Whether the device has a supply of its own, as GET_STATUS reports it.
  var isSelfPowered: Bool { self == .jtag }

  var deviceDescriptor: [UInt8] {
    switch self {
    case .jtag: [18, 1, 0, 2, 0xEF, 2, 1, 64] + numbers(revision: 0x0101)
    case .cp2102: [18, 1, 0x10, 1, 0, 0, 0, 64] + numbers(revision: 0x0100)
    case .ftdi: [18, 1, 0, 2, 0, 0, 0, 8] + numbers(revision: 0x0600)
    }
  }

  private func numbers(revision: UInt16) -> [UInt8] {
    let numbers: [UInt16] = [id.vendor, id.product, revision]
    let bytes = numbers.flatMap { (number: UInt16) -> [UInt8] in [UInt8(number & 0xFF), UInt8(number >> 8)] }
    return bytes + [1, 2, 3, 1]
  }

  /// Configuration, interface and endpoint descriptors. Sources: USB 2.0, 9.6; CDC 1.20, 5.2.3;
  /// `lsusb -v` of the hardware.
  var configurationDescriptor: [UInt8] {
    switch self {
    case .jtag:
      [9, 2, 98, 0, 3, 1, 0, 0xC0, 0xFA]  // 3 interfaces, self-powered, 500 mA
        + [8, 11, 0, 2, 2, 2, 0, 0]  // interfaces 0 and 1 are one function
        + [9, 4, 0, 0, 1, 2, 2, 0, 0]  // 0: CDC control
        + [5, 0x24, 0, 0x10, 1]  // CDC 1.10
        + [4, 0x24, 2, 2]  // line coding and lines, but no break
        + [5, 0x24, 6, 0, 1] + [5, 0x24, 1, 3, 1]  // union, call management
        + [7, 5, 0x82, 3, 64, 0, 1]
        + [9, 4, 1, 0, 2, 10, 2, 0, 0]  // 1: CDC data
        + [7, 5, 0x01, 2, 64, 0, 1] + [7, 5, 0x81, 2, 64, 0, 1]
        + [9, 4, 2, 0, 2, 0xFF, 0xFF, 1, 0]  // 2: JTAG
        + [7, 5, 0x02, 2, 64, 0, 1] + [7, 5, 0x83, 2, 64, 0, 1]
    case .cp2102:
      [9, 2, 32, 0, 1, 1, 0, 0x80, 50] + [9, 4, 0, 0, 2, 0xFF, 0, 0, 2]
        + [7, 5, 0x81, 2, 64, 0, 0] + [7, 5, 0x02, 2, 64, 0, 0]
    case .ftdi:
      [9, 2, 32, 0, 1, 1, 0, 0xA0, 45] + [9, 4, 0, 0, 2, 0xFF, 0xFF, 0xFF, 2]
        + [7, 5, 0x81, 2, 64, 0, 0] + [7, 5, 0x02, 2, 64, 0, 0]
    }
  }

  /// Class, subclass and protocol of each interface.
  var interfaces: [[UInt8]] {
    switch self {
    case .jtag: [[2, 2, 0], [10, 2, 0], [0xFF, 0xFF, 1]]
    case .cp2102: [[0xFF, 0, 0]]
    case .ftdi: [[0xFF, 0xFF, 0xFF]]
    }
  }

  /// Manufacturer and product, as on the wire; the jtag's end in a zero.
  var names: [String] {
    switch self {
    case .jtag: ["Espressif\0", "USB JTAG/serial debug unit\0"]
    case .cp2102: ["Silicon Labs", "CP2102 USB to UART Bridge Controller"]
    case .ftdi: ["FTDI", "FT232R USB UART"]
    }
  }

  /// The serial number of a device with this MAC address.
  package func serial(ofMAC address: String) -> String {
    self == .jtag ? address : String(address.filter { $0 != ":" })
  }
}

/// An emulated USB device among those of its hub.
package struct USBIdentity: Equatable, Sendable {
  /// Characters of a serial number.
  package static let serialLimit = 32
  static let bus: UInt32 = 1
  /// USB/IP's number for full speed.
  package static let fullSpeed: UInt32 = 2

  package let personality: USBPersonality
  package let serial: String
  /// The hub's port, 1...16.
  package let number: UInt32

  package init(_ personality: USBPersonality, serial: String, number: UInt32 = 1) {
    self.personality = personality
    self.serial = serial
    self.number = number
  }

  package var busID: String { "\(Self.bus)-\(number)" }

  /// Bus and device number in one, as in each request. The hub itself is device 1.
  package var deviceID: UInt32 { Self.bus << 16 | (number + 1) }

  /// The name of the port on the computer that the device is attached to.
  package var portName: PortName { .usb(personality.id, serial: serial) }

  /// 312 bytes: the device as in the lists of USB/IP.
  var record: [UInt8] {
    let id = personality.id
    let descriptor = personality.deviceDescriptor
    return USBIP.padded("/sys/devices/notibot/usb\(Self.bus)/\(busID)", toBytes: 256)
      + USBIP.padded(busID, toBytes: USBIP.busIDBytes)
      + [Self.bus, number + 1, Self.fullSpeed].flatMap { USBIP.bigEndian($0) }
      + USBIP.bigEndian(id.vendor) + USBIP.bigEndian(id.product)
      + [descriptor[13], descriptor[12]] + descriptor[4...6]
      + [1, 1, UInt8(personality.interfaces.count)]
  }

  /// The string descriptor with this number; nil if there is none.
  func string(_ number: UInt8) -> [UInt8]? {
    guard number > 0 else { return [4, 3, 9, 4] }
    let texts = personality.names + [serial]
    guard number <= texts.count else { return nil }
    let text = texts[Int(number) - 1].utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    return [UInt8(2 + text.count), 3] + text
  }
}
