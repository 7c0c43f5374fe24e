// Bluetooth adapters, for `emulate --ble` and the port `ble:`. Boards need none: nothing here is
// trouble.
extension Diagnosis {
  func bluetooth() -> [Finding] {
    // A connection has an entry as well, such as hci0:11.
    let adapters = FileSystem.names(in: "\(computer.sysfsRoot)/class/bluetooth").filter {
      $0.hasPrefix("hci") && !$0.contains(":")
    }
    guard !adapters.isEmpty else {
      return blockedAdapters() + [Finding(.good, "Bluetooth", "this computer has no Bluetooth adapter")]
    }
    let use =
      computer.process(named: "bluetoothd").map {
        "used by bluetoothd (process \($0)) until it is switched off: sudo btmgmt --index N power off"
      } ?? "bluetoothd is not running"
    return blockedAdapters() + [Finding(.good, "Bluetooth", "\(adapters.joined(separator: ", ")): \(use)")]
  }

  /// Radios that are switched off. Some computers then have no adapter. Source: the kernel's
  /// Documentation/ABI/stable/sysfs-class-rfkill.
  private func blockedAdapters() -> [Finding] {
    let folder = "\(computer.sysfsRoot)/class/rfkill"
    return FileSystem.names(in: folder).compactMap { entry in
      func value(_ name: String) -> String? { FileSystem.line(at: "\(folder)/\(entry)/\(name)") }
      guard value("type") == "bluetooth" else { return nil }
      let name = value("name") ?? entry
      if value("hard") == "1" {
        return Finding(.warning, "Bluetooth", "\(name) is off by a switch or key of this computer (rfkill)")
      }
      guard value("soft") == "1" else { return nil }
      return Finding(
        .warning, "Bluetooth", "\(name) is blocked (rfkill)", command: "sudo rfkill unblock bluetooth")
    }
  }
}
