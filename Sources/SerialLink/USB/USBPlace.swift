/// The location of a USB device: a bus, and the hub ports from its root on. Unchanged when the
/// device is replugged.
package struct USBPlace: Hashable, Sendable {
  /// As the kernel counts them, 1 or more.
  package let bus: UInt8
  /// At least one, each 1 or more; USB allows seven in a row.
  package let ports: [UInt8]

  private static let depthLimit = 7

  /// Parses the kernel's form: `1-1.4` is port 4 of the hub at port 1 of bus 1. `nil` for anything
  /// else, such as a root hub.
  package init?(location: String) {
    let parts = location.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let bus = UInt8(parts[0]), bus > 0 else { return nil }
    let ports = parts[1].split(separator: ".", omittingEmptySubsequences: false).map { UInt8($0) ?? 0 }
    guard (1...Self.depthLimit).contains(ports.count), !ports.contains(0) else { return nil }
    self.bus = bus
    self.ports = ports
  }

  init(bus: UInt8, ports: [UInt8]) {
    self.bus = bus
    self.ports = ports
  }

  /// The hub that it is plugged into, as the kernel and uhubctl name it: `1-1`, or `1` for a root
  /// hub.
  package var hub: String { Self.name(bus, ports.dropLast()) }

  /// The port of that hub.
  package var port: UInt8 { ports[ports.count - 1] }

  private static func name(_ bus: UInt8, _ ports: some Collection<UInt8>) -> String {
    ports.isEmpty ? "\(bus)" : "\(bus)-" + ports.map(String.init).joined(separator: ".")
  }
}

extension USBPlace: CustomStringConvertible {
  package var description: String { Self.name(bus, ports) }
}
