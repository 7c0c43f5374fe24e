/// Derives events from listings: ports that appeared, and ports that disappeared.
///
/// A pure value: its driver lists the ports at each sign of a change, and reports ports that are
/// known to have left in between, so that a board that was unplugged and replugged at once is
/// reported as both.
package struct PortWatch: Equatable, Sendable {
  /// The event of a port.
  package enum Event: Hashable, Sendable {
    /// It existed when the watch began.
    case present(PortInfo)
    case added(PortInfo)
    case removed(PortInfo)
  }

  /// In the order of the last listing; `nil` before the first.
  private var known: [PortInfo]?
  private var events: [Event] = []

  package init() {}

  /// A port has left, even if it has already returned.
  package mutating func portLeft(_ path: String) {
    guard let index = known?.firstIndex(where: { $0.path == path }), let port = known?.remove(at: index)
    else {
      return
    }
    events.append(.removed(port))
  }

  /// Takes a listing of all present ports.
  package mutating func listed(_ ports: [PortInfo]) {
    guard let before = known else {
      events += ports.map { .present($0) }
      known = ports
      return
    }
    // A link that udev creates later does not make it a different port.
    events += before.filter { old in !ports.contains { $0.isSamePort(as: old) } }.map { .removed($0) }
    events += ports.filter { new in !before.contains { $0.isSamePort(as: new) } }.map { .added($0) }
    known = ports
  }

  /// The next event, or `nil`.
  package mutating func nextEvent() -> Event? {
    events.isEmpty ? nil : events.removeFirst()
  }
}

extension PortInfo {
  fileprivate func isSamePort(as other: PortInfo) -> Bool {
    path == other.path && usb?.id == other.usb?.id && usb?.serial == other.usb?.serial
      && usb?.location == other.usb?.location && usb?.interface == other.usb?.interface
  }
}
