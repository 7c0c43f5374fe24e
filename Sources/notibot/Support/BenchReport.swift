import ArgumentParser
import Conformance
import Foundation
import SerialLink

/// What `notibot bench` has measured.
struct BenchReport: Encodable, Sendable {
  struct RoundTrips: Encodable, Sendable {
    var p50: Double
    var p99: Double
    var max: Double
  }

  /// What lies between host and device. Figures of one are not to be compared with those of another.
  enum Path: String, Encodable, Sendable {
    /// A port of this machine: a board's adapter, or a pseudo-terminal.
    case local
    /// A server's port.
    case network
    /// An emulator in this process, behind a pseudo-terminal of its own.
    case emulator

    init(_ name: PortName) {
      self = name.isStandIn ? .emulator : name.isRemote ? .network : .local
    }
  }

  /// How long commands to the line take.
  struct Commands: Encodable, Sendable {
    var rate: RoundTrips?
    var lines: RoundTrips?
  }

  let schema = "notibot.bench"
  let version = 1
  /// The machine and the program that measured.
  let bench = RunIdentity.Bench(notibot: Notibot.configuration.version)
  var path = Path.local
  var count: Int
  var window: Int
  var textBytes: Int
  var seconds: Double
  var accepted: Int
  var refused: Int
  /// Answered by the device.
  var notificationsPerSecond: Double
  /// From host to device, all that was written.
  var bytesPerSecond: Double
  /// Of this process, and of the peer when its id was given.
  var cpuMicrosecondsPerNotification: Double
  var hostCPUMicrosecondsPerNotification: Double
  var peerCPUMicrosecondsPerNotification: Double?
  /// DATA frames sent again.
  var resends: Int
  var residentBytesStart: Int
  var residentBytesEnd: Int
  var lineBitsPerSecond: Int?
  /// Notifications per second over those that the line can carry back to back; 1 is all of it.
  var lineShare: Double?
  var roundTripMicroseconds: RoundTrips?
  var commandMicroseconds: Commands?
  /// How long the port's FTDI bridge may keep bytes back; none on other ports.
  var latencyTimerMs: Int?

  /// For a person: a line for each figure.
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
    rows.append(row("memory MB, start", "%.1f", Double(residentBytesStart) / 1e6))
    rows.append(row("memory MB, end", "%.1f", Double(residentBytesEnd) / 1e6))
    if path == .network {
      rows.append("path                    network: not to be compared with a port of this machine")
    }
    return rows.joined(separator: "\n")
  }
}
