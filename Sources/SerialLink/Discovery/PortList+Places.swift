extension PortList {
  /// What is known about the port that a name means; `nil` for one that is not in this list, such as a pseudo-terminal.
  package func info(for specifier: PortName) -> PortInfo? {
    switch specifier {
    case .path(let path):
      let target = FileSystem.resolved(path) ?? path
      return ports().first { $0.path == target }
    case .automatic, .usb: return try? port(for: specifier)
    case .deviceID, .rfc2217, .socket, .labgrid, .emulator, .qemu: return nil
    }
  }

  /// The port of the device that is plugged in there, if its node is there too. A bridge with several ports has several
  /// interfaces. Its name may be another than before.
  package func port(at location: String, interface: Int?) -> PortInfo? {
    ports().first {
      $0.usb?.location == location && $0.usb?.interface == interface && FileSystem.status(of: $0.path) != nil
    }
  }

  /// What is known about the port that `path` leads to; `nil` for a pseudo-terminal and what is no port.
  package func port(leadingTo path: String) -> PortInfo? {
    guard let target = FileSystem.resolved(path) else { return nil }
    return ports().first { $0.path == path || $0.path == target || FileSystem.resolved($0.path) == target }
  }
}
