import Foundation
import SerialLink

/// What `reset` has done, and how it is known.
struct ResetReport: Encodable, Sendable {
  /// One change of the lines.
  struct Change: Encodable, Sendable {
    var dtr: Bool
    var rts: Bool
    /// Since the start of its sequence.
    var seconds: Double
  }

  /// How it is known that the board restarted.
  enum Proof: String, Encodable, Sendable {
    case bootID = "boot-id"
    /// The time since boot that the device tells is shorter than since the reset.
    case uptime
    case bootText = "boot-text"
    case loaderSync = "loader-sync"
    /// Its node went and came back; nothing on it spoke.
    case port
    /// Nothing was done to it.
    case none
  }

  let schema = "notibot.reset"
  let version = 1
  var port: String
  /// Under which name it is now.
  var portAfter: String
  var target: String
  /// `lines`, `usb`, `power` or `none`.
  var way: String
  /// The sequences that were played, the last one successful.
  var sequences: [String] = []
  /// What was reset below its tty: USB number and what the device calls itself. Sanitise before printing.
  var device: String?
  var changes: [Change] = []
  var proof = Proof.none
  /// Eight hexadecimal digits; none where no Notibot answered.
  var bootIDBefore: String?
  var bootIDAfter: String?
  /// The number of `esp_reset_reason_t` that the device tells, or the ROM's word.
  var resetReason: String?
  var seconds = 0.0

  /// For a person: one line.
  var text: String {
    var parts = ["\(portAfter.printable): "]
    switch proof {
    case .bootID:
      parts.append("restarted, boot id \(bootIDBefore ?? "unknown") is \(bootIDAfter ?? "unknown") now")
    case .uptime: parts.append("restarted, boot id \(bootIDAfter ?? "unknown"), by the time since its boot")
    case .bootText: parts.append("restarted, by its boot text (\((resetReason ?? "").printable))")
    case .loaderSync: parts.append("in the loader, which answers")
    case .port: parts.append(way == "power" ? "went and came back" : "there after it")
    case .none: parts.append("left alone")
    }
    if way == "lines" {
      parts.append("; lines: \(sequences.joined(separator: ", "))")
    } else if way != "none" {
      parts.append("; by \(way)" + (device.map { " (\($0.printable))" } ?? ""))
    }
    parts.append(String(format: "; %.2f s", seconds))
    return parts.joined()
  }

  /// A boot id as all reports write it.
  static func hex(_ id: UInt32) -> String { String(format: "%08x", id) }
}
