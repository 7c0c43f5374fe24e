import Foundation
import NIOCore
import NotibotProtocol
import SerialLink

/// Snapshots of the display for viewers, at most one per `snapshotInterval`. A viewer that is slow
/// gets the newest only, so nothing is queued for it.
extension EmulatorServer {
  /// The most viewers at a time.
  package static let viewersLimit = 8
  static let snapshotInterval = Duration.milliseconds(25)

  /// The viewers, and what they need beyond the device's own state.
  struct Viewing {
    var viewers: [UInt64: AsyncStream<[UInt8]>.Continuation] = [:]
    var viewersBefore: UInt64 = 0
    var line = LineView()
    /// The earliest time of the next snapshot, and whether it is scheduled.
    var next = Instant(nanoseconds: 0)
    var isScheduled = false
  }

  /// A snapshot, as one line of JSON.
  private struct Snapshot: Encodable {
    var ok = true
    /// Of the clock that the viewer also reads, in milliseconds since 1970-01-01 UTC.
    var time: Int64
    var port: String?
    var statistics: DeviceStatistics
    /// The newest, at most `EmulatedDevice.listLimit`, oldest first.
    var items: [ControlReply.Item]
    var frames: [LineView.Entry]
    var console: [LineView.Entry]
  }

  /// Snapshots as one line of JSON each, without the line end: one now, then one after each change.
  /// The stream ends with the emulator; nil if there are too many viewers, or it has stopped.
  package func view() -> AsyncStream<[UInt8]>? {
    guard !hasStopped, viewing.viewers.count < Self.viewersLimit else { return nil }
    viewing.viewersBefore += 1
    let number = viewing.viewersBefore
    let (stream, viewer) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(1))
    let loop = loop
    viewer.onTermination = { _ in
      loop.execute { self.assumeIsolated { $0.endView(number) } }
    }
    if viewing.viewers.isEmpty { viewing.line = LineView() }
    viewing.viewers[number] = viewer
    if let snapshot = snapshot() { viewer.yield(snapshot) }
    return stream
  }

  private func endView(_ number: UInt64) {
    viewing.viewers[number] = nil
  }

  /// Ends all streams.
  func endViews() {
    for viewer in viewing.viewers.values { viewer.finish() }
  }

  /// Takes bytes that pass on the line.
  func show(_ bytes: [UInt8], _ direction: Direction) {
    if !viewing.viewers.isEmpty { viewing.line.receive(bytes, direction) }
  }

  /// Something may have changed: sends a snapshot now, or as soon as the interval allows.
  func showChanges() {
    guard !viewing.viewers.isEmpty, !viewing.isScheduled else { return }
    let now = Self.now
    guard now < viewing.next else { return sendSnapshot(now) }
    schedule(after: viewing.next - now)
  }

  private func schedule(after delay: Duration) {
    viewing.isScheduled = true
    loop.assumeIsolated().scheduleTask(in: TimeAmount(delay)) {
      self.assumeIsolated { server in
        server.viewing.isScheduled = false
        server.viewing.line.flush()
        server.sendSnapshot(Self.now)
      }
    }
  }

  private func sendSnapshot(_ now: Instant) {
    guard !hasStopped, !viewing.viewers.isEmpty, let snapshot = snapshot() else { return }
    viewing.next = now + Self.snapshotInterval
    for viewer in viewing.viewers.values { viewer.yield(snapshot) }
    // Text without a line end becomes visible after a silence.
    if viewing.line.hasCandidate { schedule(after: Self.snapshotInterval) }
  }

  private func snapshot() -> [UInt8]? {
    let snapshot = Snapshot(
      time: Int64(Date().timeIntervalSince1970 * 1000), port: portPath, statistics: statistics,
      items: wired.device.newest.map { ControlReply.Item($0) }, frames: viewing.line.frames,
      console: viewing.line.console)
    return (try? snapshot.printableJSON()).map { Array($0.utf8) }
  }
}
