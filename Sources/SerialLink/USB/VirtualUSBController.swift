import Glibc
package import NIOCore

/// The virtual USB controller of Linux (module vhci_hcd), whose ports take devices over a socket.
///
/// Source: Linux, drivers/usb/usbip/vhci_sysfs.c.
package struct VirtualUSBController: Sendable {
  /// Where the kernel has it.
  package static let usualPath = "/sys/devices/platform/vhci_hcd.0"

  /// The state of a port without a device.
  private static let freeState = "004"

  private let path: String

  /// - Parameter path: the folder of the controller; another one for tests.
  package init(path: String = usualPath) {
    self.path = path
  }

  /// Plugs a device into the first free port, and returns its end of the socket.
  /// - Parameters:
  ///   - deviceID: the id that each request contains. Not 0.
  ///   - speed: 1 low, 2 full.
  ///   - initializer: adds the handlers that speak USB/IP as after an import.
  /// - Throws: `PortError` if the module is not loaded, the user is not permitted, or no port is
  ///   free.
  package func attach(
    deviceID: UInt32, speed: UInt32, on loop: any EventLoop, initializer: @escaping SerialChannel.Initializer
  ) async throws(PortError) -> any Channel {
    let (channel, _) = try await UnixSocket.pair(on: loop, initializer: initializer) {
      (descriptor) throws(PortError) in
      try plug(descriptor, deviceID: deviceID, speed: speed)
    }
    return channel
  }

  /// Gives one end of a socket to the kernel, which keeps it.
  private func plug(_ descriptor: Int32, deviceID: UInt32, speed: UInt32) throws(PortError) {
    let file = OwnedDescriptor(owning: try openAttachFile())
    for port in freePorts() {
      let text = Array("\(port) \(descriptor) \(deviceID) \(speed)".utf8)
      guard write(file.raw, text, text.count) < 0 else { return }
      // Another process can have taken the port since.
      guard errno == EBUSY else { throw failure(errno) }
    }
    throw PortError(.noVirtualUSB("no free port"), port: path, operation: "plug into")
  }

  private func openAttachFile() throws(PortError) -> Int32 {
    let descriptor = open(path + "/attach", O_WRONLY | O_CLOEXEC)
    guard descriptor < 0 else { return descriptor }
    throw failure(errno)
  }

  private func failure(_ number: Int32) -> PortError {
    let code: PortError.Code =
      switch number {
      case ENOENT, ENOTDIR: .noVirtualUSB("the kernel module vhci_hcd is not loaded")
      case EACCES, EPERM, EROFS: .noVirtualUSB("only root can plug devices in")
      default: .system(errno: number)
      }
    return PortError(code, port: path, operation: "plug into")
  }

  /// The numbers of the ports for low to high speed, lowest first.
  private func freePorts() -> [Int] {
    let names = FileSystem.names(in: path).filter { $0 == "status" || $0.hasPrefix("status.") }
    return names.flatMap { Self.freePorts(in: FileSystem.contents(of: "\(path)/\($0)") ?? []) }.sorted()
  }

  /// Lines such as `hs  0000 004 000 00000000 000000 0-0`.
  static func freePorts(in status: [UInt8]) -> [Int] {
    String(decoding: status, as: UTF8.self).split(separator: "\n").compactMap { line in
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      guard fields.count >= 3, fields[0] == "hs", fields[2] == freeState else { return nil }
      return Int(fields[1])
    }
  }
}
