/// udev rules for exactly the known adapters: the local user can open them, ModemManager ignores
/// them, each location has a stable link, and an FTDI chip does not hold back bytes for 16 ms.
package enum UdevRules {
  /// Before 60-serial.rules by number, not only by its letters, and before 73-seat-late.rules,
  /// which acts on the tag `uaccess`. Source: systemd, rules.d/60-serial.rules and
  /// 73-seat-late.rules.in.
  package static let fileName = "59-notibot.rules"
  /// The file name of versions before 0.2; it works as well.
  package static let formerFileName = "60-notibot.rules"
  /// The folder of the administrator's rules, below the configuration root.
  package static let folder = "udev/rules.d"

  /// The command that installs them.
  package static let installation =
    "notibot udev-rules | sudo tee /etc/\(folder)/\(fileName) && sudo udevadm control --reload && sudo udevadm trigger"

  /// The file, with the newline at its end.
  package static var text: String {
    ([
      "# Boards that notibot knows. Made by: notibot udev-rules",
      "",
      #"ACTION=="remove", GOTO="notibot_end""#,
      #"SUBSYSTEM=="usb", ENV{DEVTYPE}=="usb_device", GOTO="notibot_device""#,
      #"SUBSYSTEM=="usb-serial", GOTO="notibot_latency""#,
      #"SUBSYSTEM=="tty", SUBSYSTEMS=="usb", GOTO="notibot_port""#,
      #"GOTO="notibot_end""#,
      "",
      "# ModemManager asks the device, not its port.",
      #"LABEL="notibot_device""#,
    ]
      + vendors.map { vendor in
        "ATTR{idVendor}==\"\(USBID.digits(vendor))\", ATTR{idProduct}==\"\(products(of: vendor))\", ENV{ID_MM_DEVICE_IGNORE}=\"1\""
      }
      + [
        #"GOTO="notibot_end""#,
        "",
        #"LABEL="notibot_latency""#,
        "DRIVER==\"ftdi_sio\", \(parent(USBAdapter.ftdi)), ATTR{latency_timer}=\"1\"",
        #"GOTO="notibot_end""#,
        "",
        "# 60-serial.rules comes later, so that the path is not known yet.",
        #"LABEL="notibot_port""#,
        #"IMPORT{builtin}="path_id""#,
      ]
      + vendors.map { vendor in
        "\(parent(vendor)), TAG+=\"uaccess\", ENV{ID_MM_DEVICE_IGNORE}=\"1\", ENV{NOTIBOT_BOARD}=\"1\""
      }
      + [
        #"ENV{NOTIBOT_BOARD}=="1", ENV{ID_PATH_TAG}=="?*", SYMLINK+="notibot/%E{ID_PATH_TAG}""#,
        "", #"LABEL="notibot_end""#, "",
      ]).joined(separator: "\n")
  }

  /// In the order of the table.
  private static var vendors: [UInt16] {
    USBAdapter.table.reduce(into: []) { seen, entry in
      if !seen.contains(entry.vendor) { seen.append(entry.vendor) }
    }
  }

  /// All products of a vendor, as udev writes alternatives.
  private static func products(of vendor: UInt16) -> String {
    USBAdapter.table.filter { $0.vendor == vendor }.flatMap { $0.products.map(USBID.digits) }.joined(
      separator: "|")
  }

  private static func parent(_ vendor: UInt16) -> String {
    "ATTRS{idVendor}==\"\(USBID.digits(vendor))\", ATTRS{idProduct}==\"\(products(of: vendor))\""
  }
}
