// Other software on the computer that uses serial ports.
extension Diagnosis {
  /// ModemManager sends AT commands to ports that could be modems, and keeps them open for seconds.
  func modemManager() -> [Finding] {
    guard let pid = computer.process(named: "ModemManager") else {
      return [Finding(.good, "ModemManager", "ModemManager is not running")]
    }
    let probed = boards.filter { computer.udevProperties($0.name)["ID_MM_DEVICE_IGNORE"] != "1" }
    guard !probed.isEmpty else {
      let text = "ModemManager is running (process \(pid))"
      return [
        Finding(
          .good, "ModemManager", boards.isEmpty ? text : "\(text) and ignores the boards")
      ]
    }
    return probed.map { board in
      Finding(
        .warning, "ModemManager",
        "ModemManager is running (process \(pid)), and no udev rule makes it ignore \(board.path)",
        command: UdevRules.installation)
    }
  }

  /// brltty claims some USB bridges as braille displays: their ports disappear seconds after they
  /// were added.
  func brltty() -> [Finding] {
    guard let rules = brlttyRules() else { return [] }
    let present = boards.compactMap(\.usb).map { ($0.id, $0.location) } + orphans.map { ($0.id, $0.location) }
    return present.filter { rules.text.contains(Self.product($0.0)) }.map { id, location in
      Finding(
        .warning, "brltty", "\(rules.path) claims \(id) at \(location) as a braille display",
        command: "sudo apt-get remove brltty")
    }
  }

  /// Vendor and product as in udev's PRODUCT: hexadecimal without leading zeros, each followed by a
  /// slash.
  private static func product(_ id: USBID) -> String {
    "\(String(id.vendor, radix: 16))/\(String(id.product, radix: 16))/"
  }

  /// The file with brltty's rules, which name products as `ENV{PRODUCT}=="1a86/7523/*"`.
  private func brlttyRules() -> (path: String, text: String)? {
    for folder in computer.allRuleFolders {
      for name in FileSystem.names(in: folder) where name.contains("brltty") && name.hasSuffix(".rules") {
        let path = "\(folder)/\(name)"
        // A link to /dev/null disables rules.
        guard let bytes = FileSystem.contents(of: path, limitBytes: 1 << 20), !bytes.isEmpty else {
          return nil
        }
        return (path, String(decoding: bytes, as: UTF8.self))
      }
    }
    return nil
  }

  // MARK: Our own rules

  func udevRules() -> [Finding] {
    guard computer.hasUdev else {
      return [Finding(.good, "udev", "udev is not running (container?): the host sets permissions and links")]
    }
    let files = computer.allRuleFolders.flatMap { folder in
      [UdevRules.fileName, UdevRules.formerFileName].map { "\(folder)/\($0)" }
    }
    guard let path = files.first(where: { FileSystem.status(of: $0) != nil }) else {
      return [
        Finding(
          .warning, "udev", "the rules for boards are not installed", command: UdevRules.installation)
      ]
    }
    guard FileSystem.contents(of: path).map({ $0 == Array(UdevRules.text.utf8) }) ?? false else {
      return [
        Finding(
          .warning, "udev", "\(path) was written by another version of notibot",
          command: UdevRules.installation)
      ]
    }
    return [Finding(.good, "udev", "\(path) is installed")]
  }
}
