import ArgumentParser
import Conformance
import Foundation
import Reports
import SerialLink

/// The report of `soak`.
struct SoakReport: Encodable, Sendable {
  /// From queued to delivered, in milliseconds.
  struct Latencies: Encodable, Sendable {
    var p50: Double
    var p99: Double
    var max: Double
  }

  /// The method that detects lost and duplicated notifications.
  enum Check: String, Encodable, Sendable {
    /// Each notification was compared with the emulator's list.
    case list
    /// Host and device compared count and digest. Source: PROTOCOL.md NTF-34.
    case digest
    /// Interrupted before the comparison, or the two did not agree or could not be compared.
    case none
  }

  let schema = "notibot.soak"
  let version = 1
  /// The computer and the program of the measurement.
  let bench = RunIdentity.Bench(notibot: Notibot.configuration.version)
  var port: String
  var seconds = 0.0
  var queued = 0
  var delivered = 0
  var refused = 0
  /// Left the display without a request of this host.
  var gone = 0
  /// Still queued at the end.
  var undelivered = 0
  var lost = 0
  var doubled = 0
  /// Comparisons in which host and device did not agree on the display.
  var differences = 0
  var check = Check.none
  var sessions = 0
  var restarts = 0
  var reboots = 0
  var unplugs = 0
  /// Frames that the host retransmitted.
  var resends = 0
  /// Corrupt frames that the host received.
  var crcErrors = 0
  var latencyMs: Latencies?
  /// Share of the time with an open session, 0 to 1.
  var upShare = 0.0
  /// After a tenth of the time, and at the end.
  var residentBytesStart = 0
  var residentBytesEnd = 0

  /// Why the soak did not run to its end; `nil` if it did.
  var trouble: String?
  /// Why silence and undelivered notifications prove nothing about the device: this process was
  /// late; `nil` if it was on time.
  var lateness: String?
  /// Delivery times in milliseconds, in ranges of equal width on a logarithmic scale.
  var histogram: [Bucket] = []
  /// The state over time, at most `SoakRecord.samplesLimit`.
  var samples: [RunSample] = []
  /// Changes of the connection and lines of the console, at most `SoakRecord.eventsLimit`.
  var events: [RunEvent] = []

  /// Recovery of a device that did not answer; `nil` if it always answered, or without `--recover`.
  var recovery: RecoveryAccount?

  var isFlawless: Bool { isExact && undelivered == 0 }
  /// Whether the only fault is one that a late host could have caused.
  var isUndecided: Bool { isExact && undelivered > 0 && lateness != nil }
  /// Whether nothing was found that is wrong however late the host was.
  var isExact: Bool { lost == 0 && doubled == 0 && differences == 0 }

  /// As text: one line per figure.
  var text: String {
    func row(_ name: String, _ value: String) -> String {
      name.padding(toLength: 24, withPad: " ", startingAt: 0) + value
    }
    var rows = [
      row("seconds", String(format: "%.1f", seconds)), row("queued", "\(queued)"),
      row("delivered", "\(delivered)"), row("refused", "\(refused)"), row("gone", "\(gone)"),
      row("not delivered", "\(undelivered)"), row("lost", "\(lost)"), row("doubled", "\(doubled)"),
      row("differences", "\(differences)"), row("checked by", check.rawValue),
      row("sessions", "\(sessions)"), row("restarts", "\(restarts)"),
      row("sent again", "\(resends)"), row("CRC errors", "\(crcErrors)"),
    ]
    if reboots + unplugs > 0 { rows.append(row("rebooted, unplugged", "\(reboots), \(unplugs)")) }
    if let latencyMs {
      rows.append(row("delivery ms p50", String(format: "%.2f", latencyMs.p50)))
      rows.append(row("delivery ms p99", String(format: "%.2f", latencyMs.p99)))
      rows.append(row("delivery ms max", String(format: "%.2f", latencyMs.max)))
    }
    rows.append(row("up, % of the time", String(format: "%.1f", upShare * 100)))
    rows.append(row("memory MB, start", String(format: "%.1f", Double(residentBytesStart) / 1e6)))
    rows.append(row("memory MB, end", String(format: "%.1f", Double(residentBytesEnd) / 1e6)))
    rows += (recovery?.steps ?? []).map { row("recovery, \($0.step)", $0.summary.printable) }
    return rows.joined(separator: "\n")
  }
}
