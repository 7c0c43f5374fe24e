import ArgumentParser
import Conformance
import Foundation
import Reports
import SerialLink

/// The results of `notibot bench`.
struct BenchReport: Encodable, Sendable {
  struct RoundTrips: Encodable, Sendable {
    var p50: Double
    var p99: Double
    var max: Double
  }

  /// The path between host and device. Figures of different paths are not comparable.
  enum Path: String, Encodable, Sendable {
    /// A port of this computer: a board's adapter, or a pseudo-terminal.
    case local
    /// A server's port.
    case network
    /// An emulator in this process, behind a pseudo-terminal of its own.
    case emulator
    /// Bluetooth, or an attribute socket.
    case connection

    init(_ name: PortName) {
      self = name.isStandIn ? .emulator : name.isConnection ? .connection : name.isRemote ? .network : .local
    }
  }

  /// Times of port commands.
  struct Commands: Encodable, Sendable {
    var rate: RoundTrips?
    var lines: RoundTrips?
  }

  let schema = "notibot.bench"
  let version = 1
  /// The computer and the program of the measurement.
  let bench = RunIdentity.Bench(notibot: Notibot.configuration.version)
  var path = Path.local
  var count: Int
  var window: Int
  var textBytes: Int
  var seconds = 0.0
  var accepted = 0
  var refused = 0
  /// Answered by the device.
  var notificationsPerSecond = 0.0
  /// All bytes written from host to device.
  var bytesPerSecond = 0.0
  /// CPU time of this process, and of the peer if its id was given.
  var cpuMicrosecondsPerNotification = 0.0
  var hostCPUMicrosecondsPerNotification = 0.0
  var peerCPUMicrosecondsPerNotification: Double?
  /// DATA frames sent again.
  var resends = 0
  var residentBytesStart = 0
  var residentBytesEnd = 0
  var lineBitsPerSecond: Int?
  /// Notifications per second relative to the maximum of the line; 1 is the maximum.
  var lineShare: Double?
  var roundTripMicroseconds: RoundTrips?
  var commandMicroseconds: Commands?
  /// Latency timer of the port's FTDI bridge; `nil` for other ports.
  var latencyTimerMs: Int?

  /// Round trips in microseconds, in ranges of equal width on a logarithmic scale.
  var histogram: [Bucket] = []
  /// The state over time at full speed.
  var samples: [RunSample] = []
  /// Why not all runs were completed; `nil` if they were.
  var trouble: String?
  /// The figures of each run with `--repeat`; all others are those of the run with the median
  /// throughput.
  var runs: [Run]?

  /// The figures of one run.
  struct Run: Encodable, Sendable {
    var notificationsPerSecond: Double
    var bytesPerSecond: Double
    var cpuMicrosecondsPerNotification: Double
    var hostCPUMicrosecondsPerNotification: Double
    var peerCPUMicrosecondsPerNotification: Double?
    var lineShare: Double?
    var resends: Int
    var refused: Int
    var residentBytesEnd: Int
    var roundTripMicroseconds: RoundTrips?
  }

  var run: Run {
    Run(
      notificationsPerSecond: notificationsPerSecond, bytesPerSecond: bytesPerSecond,
      cpuMicrosecondsPerNotification: cpuMicrosecondsPerNotification,
      hostCPUMicrosecondsPerNotification: hostCPUMicrosecondsPerNotification,
      peerCPUMicrosecondsPerNotification: peerCPUMicrosecondsPerNotification, lineShare: lineShare,
      resends: resends, refused: refused, residentBytesEnd: residentBytesEnd,
      roundTripMicroseconds: roundTripMicroseconds)
  }

  /// The report of repeated runs; `nil` of none.
  static func of(_ reports: [BenchReport]) -> BenchReport? {
    let sorted = reports.sorted { $0.notificationsPerSecond < $1.notificationsPerSecond }
    guard var report = sorted.isEmpty ? nil : sorted[(sorted.count - 1) / 2] else { return nil }
    if reports.count > 1 { report.runs = reports.map(\.run) }
    return report
  }

  /// As text: one line per figure.
  var text: String {
    func row(_ name: String, _ format: String, _ value: Double) -> String {
      name.padding(toLength: 24, withPad: " ", startingAt: 0) + String(format: format, value)
    }
    var rows = [
      row("notifications/s", "%.0f", notificationsPerSecond),
      row("kB/s to the device", "%.1f", bytesPerSecond / 1000),
      row("CPU us/notification", "%.2f", cpuMicrosecondsPerNotification),
    ]
    if let peer = peerCPUMicrosecondsPerNotification {
      rows.append(row("  of the host", "%.2f", hostCPUMicrosecondsPerNotification))
      rows.append(row("  of the peer", "%.2f", peer))
    }
    if let trips = roundTripMicroseconds {
      rows.append(row("round trip us p50", "%.1f", trips.p50))
      rows.append(row("round trip us p99", "%.1f", trips.p99))
      rows.append(row("round trip us max", "%.1f", trips.max))
    }
    if let rate = commandMicroseconds?.rate { rows.append(row("rate command us p50", "%.1f", rate.p50)) }
    if let lines = commandMicroseconds?.lines { rows.append(row("modem lines us p50", "%.1f", lines.p50)) }
    if let lineShare { rows.append(row("share of the line, %", "%.1f", lineShare * 100)) }
    if let latencyTimerMs { rows.append(row("latency timer ms", "%.0f", Double(latencyTimerMs))) }
    rows.append(row("sent again", "%.0f", Double(resends)))
    if let runs {
      let rates = runs.map { String(format: "%.0f", $0.notificationsPerSecond) }.joined(separator: " ")
      rows.append("notifications/s by run  \(rates)")
    }
    rows.append(row("memory MB, start", "%.1f", Double(residentBytesStart) / 1e6))
    rows.append(row("memory MB, end", "%.1f", Double(residentBytesEnd) / 1e6))
    if path == .network || path == .connection {
      rows.append("path                    \(path): not comparable with a port of this computer")
    }
    return rows.joined(separator: "\n")
  }
}
