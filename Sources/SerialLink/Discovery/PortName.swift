/// A port as a user types it, in one of the forms listed in `forms`.
///
/// A `PortAddress` can be opened; `PortList.address(of:)` resolves a name to one.
package enum PortName: Hashable, Sendable {
  /// An address that can be opened directly: a path, or a server's port.
  case address(PortAddress)
  /// The only known board that is connected.
  case automatic
  /// The USB device with this vendor, product and, if given, serial number.
  case usb(USBID, serial: String?)
  /// The board that reports this identity after connecting.
  case deviceID(String)
  /// The serial port of a labgrid place, which has to be acquired first.
  case labgrid(LabgridName)
  /// The Bluetooth LE device with this name or address; `nil`: the default adapter.
  case bluetooth(peer: String, adapter: String?)
  /// The device that serves its attributes at this unix socket, as over Bluetooth LE.
  case attributes(path: String)
  /// A device that the program starts while it is in use.
  case standIn(StandIn)

  /// A device that takes the place of a board.
  package enum StandIn: Hashable, Sendable {
    /// An emulator inside this process; `nil` is its default profile.
    case emulator(profile: String?)
    /// Firmware on an emulated CPU; `nil` is the default image.
    case qemu(image: String?)
    /// An image on a model of the ESP32-C3; `nil` is the reference firmware's for that line.
    case chip(image: String?, line: ChipLine)
  }

  /// The line of an ESP32-C3 that a host uses.
  package enum ChipLine: String, CaseIterable, Sendable {
    /// UART0, behind a bridge with the usual circuit for EN and GPIO9.
    case uart
    /// The chip's own USB-Serial-JTAG.
    case usb
  }
}

extension PortName {
  /// The address, if the name is one.
  package var address: PortAddress? { if case .address(let address) = self { address } else { nil } }

  /// The identity that the board must have, if the name gives one.
  package var deviceID: String? { if case .deviceID(let id) = self { id } else { nil } }

  /// Whether the program starts a device of its own.
  package var isStandIn: Bool { if case .standIn = self { true } else { false } }

  /// Whether the device is reached over a connection, which has neither sessions nor lines.
  package var isConnection: Bool {
    switch self {
    case .bluetooth, .attributes: true
    case .address, .automatic, .usb, .deviceID, .labgrid, .standIn: false
    }
  }

  /// Whether the library can open it; a command starts or acquires the others first.
  package var isOpenable: Bool {
    switch self {
    case .address, .automatic, .usb, .deviceID: true
    case .labgrid, .bluetooth, .attributes, .standIn: false
    }
  }

  /// Whether it is reached through a server, such as `share`, instead of opened as a device.
  package var isRemote: Bool { if case .labgrid = self { true } else { address?.isRemote ?? false } }
}

extension PortName: CustomStringConvertible {
  /// The form that `init(parsing:)` reads back. Not sanitised for a terminal.
  package var description: String {
    switch self {
    case .address(let address): address.description
    case .automatic: "auto"
    case .usb(let id, .some(let serial)): "usb:\(id):\(serial)"
    case .usb(let id, nil): "usb:\(id)"
    case .deviceID(let id): "id:\(id)"
    case .labgrid(let name): "labgrid:\(name)"
    case .bluetooth(let peer, let adapter): "ble:\(peer)\(adapter.map { "@\($0)" } ?? "")"
    case .attributes(let path): "att:\(path)"
    case .standIn(.emulator(let profile)): "emu:\(profile ?? "")"
    case .standIn(.qemu(let image)): "qemu:\(image ?? "")"
    case .standIn(.chip(let image, .uart)): "chip:\(image ?? "")"
    case .standIn(.chip(let image, .usb)): "chip:\(image ?? "")?line=usb"
    }
  }
}
