import CLibusb
import Glibc

/// The USB devices of this computer, below their drivers. Each call can take as long as the device
/// needs, up to seconds: not for an event loop.
package enum USBDevices {
  /// A device, from its descriptors.
  package struct Description: Hashable, Sendable {
    package let place: USBPlace
    package let id: USBID
    /// The device's own names; `nil` if it has none or cannot be opened. As the device sent them.
    package let manufacturer: String?
    package let product: String?
    package let serial: String?
  }

  /// The result of a reset.
  package enum ResetResult: Hashable, Sendable {
    /// It is the same device as before, and its driver kept it.
    case kept
    /// Its descriptors have changed, so that it was removed and returns as a new device.
    case reenumerated
  }

  /// Resets the device's port, like replugging it, but without interrupting its power.
  ///
  /// - Parameter port: the affected serial port, for an error.
  /// - Throws: `.notFound` if nothing is plugged in there; `.permissionDenied`, naming the USB
  ///   node; `.deviceGone`; otherwise `.system`.
  package static func reset(at place: USBPlace, port: String) throws(PortError) -> ResetResult {
    let devices = try Listing(operation: "reset", port: port)
    guard let device = devices.device(at: place) else {
      throw PortError(
        .notFound(present: devices.descriptions().map { "\($0.place) (\($0.id))" }),
        port: "USB port \(place)", operation: "reset")
    }
    let handle = try Handle(device, operation: "reset")
    switch libusb_error(rawValue: libusb_reset_device(handle.raw)) {
    case LIBUSB_SUCCESS: return .kept
    case LIBUSB_ERROR_NOT_FOUND: return .reenumerated
    case let error: throw failure(error, node: node(of: device), operation: "reset")
    }
  }

  /// The device that is plugged in there, with its texts if it can be opened; `nil` for none.
  package static func description(at place: USBPlace) -> Description? {
    guard let devices = try? Listing(operation: "list", port: "USB") else { return nil }
    return devices.device(at: place).flatMap { description(of: $0, readsTexts: true) }
  }

  // MARK: libusb

  /// All devices, during the lifetime of this value.
  private struct Listing: ~Copyable {
    private let context: OpaquePointer
    private let list: UnsafeMutablePointer<OpaquePointer?>
    private let count: Int

    init(operation: String, port: String) throws(PortError) {
      var context: OpaquePointer?
      let result = libusb_init(&context)
      guard result == 0, let context else {
        throw failure(libusb_error(rawValue: result), node: port, operation: operation)
      }
      var list: UnsafeMutablePointer<OpaquePointer?>?
      let count = libusb_get_device_list(context, &list)
      guard count >= 0, let list else {
        libusb_exit(context)
        throw failure(libusb_error(rawValue: Int32(count)), node: port, operation: operation)
      }
      self.context = context
      self.list = list
      self.count = count
    }

    deinit {
      libusb_free_device_list(list, 1)
      libusb_exit(context)
    }

    func device(at place: USBPlace) -> OpaquePointer? {
      for index in 0..<count {
        if let device = list[index], USBDevices.place(of: device) == place { return device }
      }
      return nil
    }

    func descriptions() -> [Description] {
      var found: [Description] = []
      for index in 0..<count {
        if let device = list[index], let description = description(of: device, readsTexts: false) {
          found.append(description)
        }
      }
      return found
    }
  }

  /// An open device.
  private struct Handle: ~Copyable {
    let raw: OpaquePointer

    init(_ device: OpaquePointer, operation: String) throws(PortError) {
      var handle: OpaquePointer?
      let result = libusb_open(device, &handle)
      guard result == 0, let handle else {
        throw failure(libusb_error(rawValue: result), node: node(of: device), operation: operation)
      }
      raw = handle
    }

    deinit {
      libusb_close(raw)
    }

    func text(_ index: UInt8) -> String? {
      guard index > 0 else { return nil }
      let text = [UInt8](unsafeUninitializedCapacity: 256) { buffer, count in
        count = Int(max(0, libusb_get_string_descriptor_ascii(raw, index, buffer.baseAddress, 256)))
      }
      return text.isEmpty ? nil : String(decoding: text, as: UTF8.self)
    }
  }

  /// `nil` for a root hub.
  private static func place(of device: OpaquePointer) -> USBPlace? {
    let ports = [UInt8](unsafeUninitializedCapacity: 8) { buffer, count in
      count = Int(max(0, libusb_get_port_numbers(device, buffer.baseAddress, 8)))
    }
    return ports.isEmpty ? nil : USBPlace(bus: libusb_get_bus_number(device), ports: ports)
  }

  private static func description(of device: OpaquePointer, readsTexts: Bool) -> Description? {
    var descriptor = libusb_device_descriptor()
    guard let place = place(of: device), libusb_get_device_descriptor(device, &descriptor) == 0 else {
      return nil
    }
    let id = USBID(vendor: descriptor.idVendor, product: descriptor.idProduct)
    guard readsTexts, let handle = try? Handle(device, operation: "read") else {
      return Description(place: place, id: id, manufacturer: nil, product: nil, serial: nil)
    }
    return Description(
      place: place, id: id, manufacturer: handle.text(descriptor.iManufacturer),
      product: handle.text(descriptor.iProduct), serial: handle.text(descriptor.iSerialNumber))
  }

  /// The path of the kernel's device node, for an error about permissions.
  private static func node(of device: OpaquePointer) -> String {
    func digits(_ number: UInt8) -> String {
      String(repeating: "0", count: 3 - String(number).count) + String(number)
    }
    return
      "/dev/bus/usb/\(digits(libusb_get_bus_number(device)))/\(digits(libusb_get_device_address(device)))"
  }

  private static func failure(_ error: libusb_error, node: String, operation: String) -> PortError {
    let code: PortError.Code =
      switch error {
      case LIBUSB_ERROR_ACCESS: .permissionDenied(group: nil)
      case LIBUSB_ERROR_NO_DEVICE: .deviceGone
      case LIBUSB_ERROR_BUSY: .system(errno: EBUSY)
      case LIBUSB_ERROR_TIMEOUT: .system(errno: ETIMEDOUT)
      case LIBUSB_ERROR_NO_MEM: .system(errno: ENOMEM)
      case LIBUSB_ERROR_NOT_SUPPORTED: .system(errno: EOPNOTSUPP)
      case _: .system(errno: EIO)
      }
    return PortError(code, port: node, operation: operation)
  }
}
