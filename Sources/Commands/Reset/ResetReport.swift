import Foundation
import SerialLink

/// The result of `reset`, and how it was verified.
struct ResetReport: Encodable, Sendable {
  /// One change of the lines.
  struct Change: Encodable, Sendable {
    var dtr: Bool
    var rts: Bool
    /// Since the start of its sequence.
    var seconds: Double
  }

  /// How the restart was verified.
  enum Proof: String, Encodable, Sendable {
    case bootID = "boot-id"
    /// The uptime that the device reports is shorter than the time since the reset.
    case uptime
    case bootText = "boot-text"
    case loaderSync = "loader-sync"
    /// Its device node disappeared and returned; the board did not answer.
    case port
    /// The board was not reset.
    case none
  }

  let schema = "notibot.reset"
  let version = 1
  var port: String
  /// Its name after the reset.
  var portAfter: String
  var target: String
  /// `lines`, `usb`, `power` or `none`.
  var way: String
  /// The sequences that were played, the last one successful.
  var sequences: [String] = []
  /// The reset USB device: its id and the names that it reports. Sanitise before printing.
  var device: String?
  var changes: [Change] = []
  var proof = Proof.none
  /// Eight hexadecimal digits; `nil` if no Notibot answered.
  var bootIDBefore: String?
  var bootIDAfter: String?
  /// The `esp_reset_reason_t` that the device reports, or the ROM's word.
  var resetReason: String?
  var seconds = 0.0

  /// As text: one line.
  var text: String {
    var parts = ["\(portAfter.printable): "]
    switch proof {
    case .bootID:
      parts.append("restarted; boot id \(bootIDBefore ?? "unknown") -> \(bootIDAfter ?? "unknown")")
    case .uptime: parts.append("restarted; verified by uptime; boot id \(bootIDAfter ?? "unknown")")
    case .bootText: parts.append("restarted; verified by boot text (\((resetReason ?? "").printable))")
    case .loaderSync: parts.append("the loader answers")
    case .port: parts.append(way == "power" ? "the port disappeared and returned" : "the port is present")
    case .none: parts.append("not reset")
    }
    if way == "lines" {
      parts.append("; lines: \(sequences.joined(separator: ", "))")
    } else if way != "none" {
      parts.append("; by \(way)" + (device.map { " (\($0.printable))" } ?? ""))
    }
    parts.append(String(format: "; %.2f s", seconds))
    return parts.joined()
  }

  /// A boot id as printed in reports.
  static func hex(_ id: UInt32) -> String { String(format: "%08x", id) }
}
