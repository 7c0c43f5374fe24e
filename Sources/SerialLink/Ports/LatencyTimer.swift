import CSerialShim
import Glibc

/// How long an FTDI bridge can hold back a few bytes before it sends them to the computer: 16 ms by
/// default, which delays every short answer. Lowered while a port is open, and restored when it
/// closes.
///
/// Source: FTDI AN232B-04; the kernel's drivers/usb/serial/ftdi_sio.c.
package struct LatencyTimer: Hashable, Sendable {
  /// How it was lowered, and therefore how it is restored.
  enum Change: Hashable, Sendable {
    /// It was low enough, or could not be changed.
    case none
    /// With the driver's attribute, which had this value.
    case attribute(String, before: Int)
    /// With the port's low-latency flag, which every user can set; the attribute does not show it.
    case flag
  }

  static let wantedMs = 1

  /// In force while the port is open, in milliseconds.
  package let milliseconds: Int
  let change: Change

  /// Lowers the timer of an open port; `nil` for a port without one, which is any port except
  /// FTDI's.
  static func lower(_ descriptor: Int32, devicePath: String, sysfsRoot: String) -> LatencyTimer? {
    guard let name = devicePath.split(separator: "/").last else { return nil }
    let attribute = "\(sysfsRoot)/class/tty/\(name)/device/latency_timer"
    guard let before = FileSystem.line(at: attribute).flatMap({ Int($0) }) else { return nil }
    if before <= wantedMs { return LatencyTimer(milliseconds: before, change: .none) }
    if FileSystem.overwrite(attribute, with: "\(wantedMs)"), FileSystem.line(at: attribute) == "\(wantedMs)" {
      return LatencyTimer(milliseconds: wantedMs, change: .attribute(attribute, before: before))
    }
    // 1: it was already set, and is not changed at the close.
    switch serial_shim_set_low_latency(descriptor, 1) {
    case 0: return LatencyTimer(milliseconds: wantedMs, change: .flag)
    case 1: return LatencyTimer(milliseconds: wantedMs, change: .none)
    case _: return LatencyTimer(milliseconds: before, change: .none)
    }
  }

  /// Restores the part that needs the open port. The owner calls this before the close; a lost port
  /// needs nothing.
  func restore(on descriptor: Int32) {
    if case .flag = change { _ = serial_shim_set_low_latency(descriptor, 0) }
  }

  /// Restores the part that does not need the open port.
  func restoreAttribute() {
    if case .attribute(let path, let before) = change { _ = FileSystem.overwrite(path, with: "\(before)") }
  }
}
