package import NIOCore

/// Waits for ports to disappear and to appear.
package enum PortWait {
  /// How often a condition is checked without an event, because sysfs and some links change
  /// silently.
  static let interval = TimeAmount.milliseconds(250)

  /// Returns when `condition` holds, which is checked at each change in `folders`, and
  /// periodically. Returns `false` if it does not hold within `limit`, or if this task is
  /// cancelled.
  /// - Throws: `PortError` when nothing can be watched.
  package static func until(
    upTo limit: Duration, folders: [String] = PortArrivals.deviceFolders, on loop: any EventLoop,
    _ condition: @escaping @Sendable () -> Bool
  ) async throws(PortError) -> Bool {
    let (events, sink) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let arrivals = try await PortArrivals.watch(
      path: nil, folders: folders, interest: .departuresToo, on: loop, report: { _ in sink.yield() })
    let clock = loop.scheduleRepeatedTask(initialDelay: interval, delay: interval) { _ in sink.yield() }
    sink.yield()
    let holds = await first(in: events, upTo: limit, on: loop, end: sink) { condition() }
    clock.cancel()
    await arrivals.close()
    return holds
  }

  /// Returns when something has appeared at `path` or among the devices, after `limit`, or when
  /// this task is cancelled. If nothing can be watched, it returns after `limit`.
  package static func forArrival(at path: String?, upTo limit: Duration, on loop: any EventLoop) async {
    let (events, sink) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
    let arrivals = try? await PortArrivals.watch(path: path, on: loop) { _ in sink.yield() }
    _ = await first(in: events, upTo: limit, on: loop, end: sink) { true }
    await arrivals?.close()
  }

  /// Whether `condition` holds at one of the events before `limit` is over.
  private static func first(
    in events: AsyncStream<Void>, upTo limit: Duration, on loop: any EventLoop,
    end sink: AsyncStream<Void>.Continuation, where condition: () -> Bool
  ) async -> Bool {
    let end = loop.scheduleTask(in: TimeAmount(limit)) { sink.finish() }
    defer { end.cancel() }
    for await _ in events where condition() { return true }
    return false
  }
}
