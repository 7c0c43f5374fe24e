package import NIOCore

/// Waits for ports to go and to come.
package enum PortWait {
  /// How often a condition is looked at though nothing was told: sysfs and some links change without a word.
  static let interval = TimeAmount.milliseconds(250)

  /// Returns when `condition` holds, which is looked at whenever something goes or comes in `folders`, and now and then. `false`
  /// when it does not within `limit`, or when this task is cancelled.
  /// - Throws: `PortError` when nothing can be watched.
  package static func until(
    upTo limit: Duration, folders: [String] = PortArrivals.deviceFolders, on loop: any EventLoop,
    _ condition: @escaping @Sendable () -> Bool
  ) async throws(PortError) -> Bool {
    let (events, sink) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let arrivals = try await PortArrivals.watch(
      path: nil, folders: folders, interest: .departuresToo, on: loop, report: { _ in sink.yield() })
    let clock = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in sink.yield() }
    let end = loop.scheduleTask(in: TimeAmount(limit)) { sink.finish() }
    sink.yield()
    var holds = false
    for await _ in events {
      holds = condition()
      if holds { break }
    }
    clock.cancel()
    end.cancel()
    await arrivals.close()
    return holds
  }
}

extension PortList {
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
