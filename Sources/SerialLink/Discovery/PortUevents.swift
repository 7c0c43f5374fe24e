import CLibudev
import Dispatch
import Glibc
package import NIOCore
import Synchronization

/// A uevent of a serial port.
package enum PortUevent: Hashable, Sendable {
  /// The port exists. If udev runs, its rules have been applied: permissions, properties and links
  /// are final.
  case added(path: String)
  /// The port is gone.
  case removed(path: String)
  /// Another change of the port: a driver was bound, rules were applied again.
  case changed(path: String)
}

/// Reports serial ports that appear and disappear, as announced by the kernel or udev on netlink.
///
/// There are no events in a container without uevents; `PortArrivals` therefore watches folders
/// too.
package final class PortUevents: Sendable {
  /// The sender of the events.
  package enum Source: Hashable, Sendable {
    /// udevd, when it has applied its rules.
    case udev
    /// The kernel, before the node has its permissions or, occasionally, exists.
    case kernel

    /// udevd if it runs, otherwise the kernel.
    /// - Parameter runtimeRoot: where `/run` is.
    package static func available(runtimeRoot: String = "/run") -> Source {
      FileSystem.status(of: "\(runtimeRoot)/udev/control") == nil ? .kernel : .udev
    }
  }

  private struct Watch: ~Copyable {
    var monitor: UdevMonitor
    var readiness: (any DispatchSourceRead)?
  }

  private let watch: Mutex<Watch>

  /// Watches until `close`; `nil` when the system offers no such events.
  /// - Parameter report: called on `loop`, in the order of the events.
  package static func watch(
    source: Source = .available(), on loop: any EventLoop,
    report: @escaping @Sendable (PortUevent) -> Void
  ) -> PortUevents? {
    guard let monitor = UdevMonitor(source) else { return nil }
    let uevents = PortUevents(monitor)
    uevents.start { events in
      loop.execute { events.forEach(report) }
    }
    return uevents
  }

  private init(_ monitor: consuming sending UdevMonitor) {
    watch = Mutex(Watch(monitor: monitor, readiness: nil))
  }

  private func start(report: @escaping @Sendable ([PortUevent]) -> Void) {
    watch.withLock { watch in
      let readiness = DispatchSource.makeReadSource(
        fileDescriptor: watch.monitor.descriptor, queue: .global())
      // Keeps this object until `close`: the descriptor must outlive the source.
      readiness.setEventHandler { [self] in
        let events = self.watch.withLock { $0.monitor.receive() }
        if !events.isEmpty { report(events) }
      }
      watch.readiness = readiness
      readiness.resume()
    }
  }

  /// Stops watching. An event that was already read can still be reported.
  package func close() {
    watch.withLock { watch in
      watch.readiness?.cancel()
      watch.readiness = nil
    }
  }
}

/// A netlink socket with the uevents of serial ports. Not thread-safe.
private struct UdevMonitor: ~Copyable {
  /// Events taken in one batch; the rest stay in the socket.
  private static let batchLimit = 64

  private let context: OpaquePointer
  private let monitor: OpaquePointer

  init?(_ source: PortUevents.Source) {
    guard let context = udev_new() else { return nil }
    let name =
      switch source {
      case .udev: "udev"
      case .kernel: "kernel"
      }
    guard let monitor = udev_monitor_new_from_netlink(context, name) else {
      udev_unref(context)
      return nil
    }
    guard udev_monitor_filter_add_match_subsystem_devtype(monitor, "tty", nil) >= 0,
      udev_monitor_enable_receiving(monitor) >= 0
    else {
      udev_monitor_unref(monitor)
      udev_unref(context)
      return nil
    }
    self.context = context
    self.monitor = monitor
  }

  deinit {
    udev_monitor_unref(monitor)
    udev_unref(context)
  }

  /// Readable when an event is pending.
  var descriptor: Int32 { udev_monitor_get_fd(monitor) }

  /// The pending events; libudev has verified their sender.
  mutating func receive() -> [PortUevent] {
    var events: [PortUevent] = []
    while events.count < Self.batchLimit, let device = udev_monitor_receive_device(monitor) {
      defer { udev_device_unref(device) }
      guard let action = udev_device_get_action(device), let node = udev_device_get_devnode(device) else {
        continue
      }
      let path = String(cString: node)
      switch String(cString: action) {
      case "add", "online": events.append(.added(path: path))
      case "remove", "offline": events.append(.removed(path: path))
      case _: events.append(.changed(path: path))
      }
    }
    return events
  }
}
