import Glibc

/// A local serial port, as sysfs describes it.
package struct PortInfo: Hashable, Sendable {
  /// The USB device that a port belongs to.
  package struct USB: Hashable, Sendable {
    package let id: USBID
    /// The serial number reported by the device. It does not identify a board: many bridges share
    /// `0001` or have none.
    package let serial: String?
    package let manufacturer: String?
    package let product: String?
    /// 0 or more; several ports of one bridge differ only in this.
    package let interface: Int?
    /// Its location, such as `1-1.4`: bus, then hub ports.
    package let location: String
    /// The adapter with this id; `nil` if it is unknown.
    package let adapter: USBAdapter?
  }

  /// Such as `/dev/ttyUSB0`. It can be a different board after replugging.
  package let path: String
  /// `nil` for a port that is not USB.
  package let usb: USB?
  /// The kernel's driver, such as `cp210x`.
  package let driver: String?
  /// Links below /dev/serial/by-id and by-path, if udev made them.
  package let byID: String?
  package let byPath: String?

  /// Whether its device node exists here.
  var hasNode: Bool { FileSystem.status(of: path) != nil }

  /// Whether `auto` can choose it.
  package var isKnownBoard: Bool { usb?.adapter != nil }
}

/// The local serial ports.
///
/// The roots are parameters, so that tests can assemble any set of boards from files.
package struct PortList: Sendable {
  /// Where sysfs is mounted.
  package var sysfsRoot: String
  /// Where device nodes are.
  package var deviceRoot: String

  package init(sysfsRoot: String = "/sys", deviceRoot: String = "/dev") {
    self.sysfsRoot = sysfsRoot
    self.deviceRoot = deviceRoot
  }

  /// The paths of all ports of this computer, for the remedy of an error.
  package static func paths() -> [String] {
    PortList().ports().filter(\.hasNode).map(\.path)
  }

  /// Why there is no port at `path`.
  package func absence(of path: String) -> PortError.Code {
    let ports = ports()
    let target = FileSystem.target(ofLink: path).flatMap(lastComponent).map { "\(deviceRoot)/\($0)" } ?? path
    guard ports.allSatisfy({ $0.path != target || $0.hasNode }) else { return .nodeMissing }
    return .notFound(present: ports.filter(\.hasNode).map(\.path))
  }

  /// Every USB port, and every built-in UART that has hardware behind it; `ttyUSB2` before
  /// `ttyUSB10`.
  package func ports() -> [PortInfo] {
    let byID = links(in: "serial/by-id")
    let byPath = links(in: "serial/by-path")
    return FileSystem.names(in: "\(sysfsRoot)/class/tty")
      .compactMap { port(named: $0, byID: byID, byPath: byPath) }
      .sorted { naturallyPrecedes($0.path, $1.path) }
  }
}

// MARK: - Reading sysfs

extension PortList {
  private func port(named name: String, byID: [String: String], byPath: [String: String]) -> PortInfo? {
    // Consoles and PTYs have no device behind them.
    guard let device = FileSystem.resolved("\(sysfsRoot)/class/tty/\(name)/device") else { return nil }
    let usb = usb(above: device)
    // The kernel creates ttyS0…31 even without UARTs; type 0 means that there is none.
    if usb == nil, ["0", nil].contains(FileSystem.line(at: "\(sysfsRoot)/class/tty/\(name)/type")) {
      return nil
    }
    let path = "\(deviceRoot)/\(name)"
    let driver = FileSystem.target(ofLink: "\(device)/driver").flatMap(lastComponent)
    return PortInfo(path: path, usb: usb, driver: driver, byID: byID[name], byPath: byPath[name])
  }

  /// Walks up from the tty's device, past its interface, to the directory that has a vendor number.
  private func usb(above device: String) -> PortInfo.USB? {
    let root = FileSystem.resolved(sysfsRoot) ?? sysfsRoot
    var directory = device
    var interface: Int?
    while directory.hasPrefix(root), directory != root, let name = lastComponent(directory) {
      if interface == nil, let digits = FileSystem.line(at: "\(directory)/bInterfaceNumber") {
        interface = Int(digits, radix: 16)
      }
      if let vendor = FileSystem.line(at: "\(directory)/idVendor").flatMap({ USBID.number($0) }),
        let product = FileSystem.line(at: "\(directory)/idProduct").flatMap({ USBID.number($0) })
      {
        let id = USBID(vendor: vendor, product: product)
        return PortInfo.USB(
          id: id, serial: text("\(directory)/serial"), manufacturer: text("\(directory)/manufacturer"),
          product: text("\(directory)/product"), interface: interface, location: name,
          adapter: USBAdapter.known(id))
      }
      directory = String(directory.dropLast(name.utf8.count + 1))
    }
    return nil
  }

  /// A string descriptor of the device; `nil` if it has none.
  private func text(_ path: String) -> String? {
    FileSystem.line(at: path).flatMap { $0.isEmpty ? nil : $0 }
  }

  /// From a device's name, such as `ttyUSB0`, to the link that leads to it.
  private func links(in directory: String) -> [String: String] {
    var links: [String: String] = [:]
    for name in FileSystem.names(in: "\(deviceRoot)/\(directory)") {
      let path = "\(deviceRoot)/\(directory)/\(name)"
      if let device = FileSystem.target(ofLink: path).flatMap(lastComponent), links[device] == nil {
        links[device] = path
      }
    }
    return links
  }

  private func lastComponent(_ path: String) -> String? {
    path.split(separator: "/").last.map(String.init)
  }

  /// Sort key: letters, then the number at the end.
  private func naturallyPrecedes(_ left: String, _ right: String) -> Bool {
    let (leftStem, leftNumber) = stemAndNumber(left)
    let (rightStem, rightNumber) = stemAndNumber(right)
    return (leftStem, leftNumber) < (rightStem, rightNumber)
  }

  private func stemAndNumber(_ path: String) -> (String, Int) {
    let digits = path.reversed().prefix { $0.isASCII && $0.isNumber }
    return (String(path.dropLast(digits.count)), Int(String(digits.reversed())) ?? -1)
  }
}
