import Glibc
import Synchronization
import Testing

@testable import SerialLink

/// Computers assembled from files, and the findings on them.
@Suite struct DiagnosisTests {
  private let tree: FakeTree
  private let directory: TemporaryDirectory
  private var computer: Computer

  private static let allowed = Computer.Node(isAccessible: true, group: 20, isOpenToGroup: true)
  private static let refused = Computer.Node(isAccessible: false, group: 20, isOpenToGroup: true)

  /// A user without permissions, no services, no rules, no port in use.
  init() throws {
    tree = try FakeTree()
    directory = tree.directory
    computer = Computer(environment: [:], user: Computer.User(id: 1000, name: "ada", groups: [1000]))
    computer.sysfsRoot = directory.file("sys")
    computer.deviceRoot = directory.file("dev")
    computer.procRoot = directory.file("proc")
    computer.configurationRoot = directory.file("etc")
    computer.runtimeRoot = directory.file("run")
    computer.ruleFolders = [directory.file("lib")]
    computer.lockDirectory = directory.file("lock")
    computer.udevProperties = { _ in [:] }
    computer.node = { _ in Self.allowed }
    computer.holders = { _ in [:] }
    computer.makesTerminals = { true }
  }

  private func findings(_ check: String) -> [Diagnosis.Finding] {
    Diagnosis(of: computer).findings().filter { $0.check == check }
  }

  private func finding(_ check: String) throws -> Diagnosis.Finding {
    let found = findings(check)
    #expect(found.count == 1, "\(found)")
    return try #require(found.first)
  }

  private func plug(_ name: String = "ttyUSB0", at location: String = "1-1", id: String = "10c4:ea60") throws
  {
    try tree.addUSB(name, at: location, id: id)
    try directory.link(
      "sys/bus/usb/devices/\(location)", to: directory.file("sys/devices/pci0000:00/usb1/\(location)"))
  }

  // MARK: Selection

  @Test func `auto selects the only known board`() throws {
    try plug()
    let found = try finding("selection")
    #expect(found.severity == .good)
    #expect(
      found.text
        == "auto selects \(directory.file("dev"))/ttyUSB0 (10c4:ea60 Silicon Labs CP210x): the only known board"
    )
  }

  @Test func `no board, or two, is a warning, since the computer has no fault`() throws {
    #expect(try finding("selection").severity == .warning)
    try plug()
    try plug("ttyUSB1", at: "1-2")
    let found = try finding("selection")
    #expect(found.severity == .warning)
    #expect(found.text.contains("2 ports match"))
  }

  @Test mutating func `a variable with a missing port is trouble, and is named`() throws {
    computer.node = { _ in nil }
    computer.environment = ["ESPPORT": "/dev/ttyUSB9"]
    let found = try finding("selection")
    #expect(found.severity == .trouble)
    #expect(found.text == "ESPPORT names /dev/ttyUSB9, which does not exist")
    #expect(found.command == "unset ESPPORT")
    computer.environment = ["NOTIBOT_PORT": "usb:303a:1001"]
    #expect(try finding("selection").severity == .trouble)
    computer.environment = ["NOTIBOT_PORT": "gopher://x"]
    #expect(try finding("selection").severity == .trouble)
    computer.environment = ["NOTIBOT_PORT": "emu:"]
    #expect(try finding("selection").severity == .good)
  }

  // MARK: Drivers and speed

  @Test func `a known board on the bus without a port has no driver`() throws {
    try directory.write("10c4\n", to: "sys/devices/1-4/idVendor")
    try directory.write("ea60\n", to: "sys/devices/1-4/idProduct")
    try directory.link("sys/bus/usb/devices/1-4", to: directory.file("sys/devices/1-4"))
    let found = try finding("driver")
    #expect(found.severity == .trouble)
    #expect(found.command == "sudo modprobe cp210x")
    #expect(found.text.hasPrefix("10c4:ea60 at 1-4 (Silicon Labs CP210x) has no serial port"))
  }

  @Test func `a board with a port has a driver`() throws {
    try plug()
    let found = try finding("driver")
    #expect(found.severity == .good)
    #expect(found.text.hasSuffix("ttyUSB0 uses the driver cp210x"))
  }

  @Test(arguments: [("16", Diagnosis.Finding.Severity.warning), ("1", .good)])
  func `an FTDI chip that holds bytes back is a warning`(
    latency: String, severity: Diagnosis.Finding.Severity
  )
    throws
  {
    try plug(id: "0403:6001")
    try directory.write("\(latency)\n", to: "sys/bus/usb-serial/devices/ttyUSB0/latency_timer")
    let found = try finding("latency")
    #expect(found.severity == severity)
    #expect((found.command?.contains("echo 1 | sudo tee ") ?? false) == (severity == .warning))
  }

  // MARK: Rights

  @Test mutating func `a user outside the group of the port gets the command to join it`() throws {
    try plug()
    computer.node = { _ in Self.refused }
    try directory.write("dialout:x:20:bob\n", to: "etc/group")
    let found = try finding("rights")
    #expect(found.severity == .trouble)
    #expect(found.text.hasSuffix("ada is not in the group dialout"))
    #expect(found.command == "sudo usermod -a -G dialout ada, then log out and in again")
  }

  @Test mutating func `a login older than the membership is distinguished`() throws {
    try plug()
    computer.node = { _ in Self.refused }
    try directory.write("root:x:0:\ndialout:x:20:bob,ada\n", to: "etc/group")
    let found = try finding("rights")
    #expect(found.severity == .trouble)
    #expect(found.text.hasSuffix("but logged in before that"))
    #expect(found.command == "newgrp dialout, or log out and in again")
  }

  @Test mutating func `without a board the usual group is a warning`() throws {
    try directory.write("uucp:x:14:\n", to: "etc/group")
    #expect(try finding("rights").severity == .warning)
    computer.user.groups = [14]
    #expect(findings("rights") == [])
    computer.user = Computer.User(id: 0, name: "root", groups: [0])
    #expect(findings("rights") == [])
  }

  /// The first lines of Debian's and Ubuntu's database.
  private static let debianGroups = "uucp:x:10:\ntty:x:5:\ndialout:x:20:\nserial:x:30:\n"

  private func commandForRights() throws -> String? { try finding("rights").command }

  @Test mutating func `without a port, a rule or a board the group is dialout, though uucp comes first`()
    throws
  {
    try directory.write(Self.debianGroups, to: "etc/group")
    #expect(try commandForRights() == "sudo usermod -a -G dialout ada, then log out and in again")
  }

  @Test mutating func `the group of a present port precedes udev's rule, which precedes the usual group`()
    throws
  {
    try directory.write(Self.debianGroups, to: "etc/group")
    try directory.write(
      "KERNEL==\"ptmx\", GROUP=\"tty\"\nKERNEL==\"tty[A-Z]*[0-9]|ttymxc[0-9]*\", GROUP=\"serial\"\n",
      to: "lib/50-udev-default.rules")
    #expect(try commandForRights()?.contains("-G serial ") == true)
    try tree.addUART("ttyS0", type: 4)
    computer.node = { _ in Computer.Node(isAccessible: false, group: 10, isOpenToGroup: true) }
    #expect(try commandForRights()?.contains("-G uucp ") == true)
  }

  // MARK: Locks

  @Test mutating func `a board in use is trouble if it is the selected one, otherwise a warning`() throws {
    try plug()
    let path = directory.file("dev") + "/ttyUSB0"
    computer.holders = { _ in [path: PortHolder(pid: 77, command: "picocom \(path)")] }
    let alone = try finding("in use")
    #expect(alone.severity == .trouble)
    #expect(alone.text == "\(path) is in use by process 77 (picocom \(path))")
    #expect(alone.command == "kill 77")
    try plug("ttyUSB1", at: "1-2")
    #expect(try finding("in use").severity == .warning)
  }

  @Test func `a lock of a dead process is stale, one of a live process is not`() throws {
    try directory.write("        41\n", to: "lock/LCK..ttyUSB0")
    let found = try finding("lock")
    #expect(found.severity == .warning)
    #expect(found.text == "\(directory.file("lock"))/LCK..ttyUSB0 is stale: process 41 no longer exists")
    #expect(found.command == "sudo rm \(directory.file("lock"))/LCK..ttyUSB0")
    try directory.write("", to: "proc/41/comm")
    #expect(findings("lock") == [])
  }

  @Test func `a lock without a pid is trouble for its board`() throws {
    try directory.write("garbage\n", to: "lock/LCK..ttyUSB0")
    #expect(try finding("lock").severity == .warning)
    try plug()
    #expect(try finding("lock").severity == .trouble)
  }

  // MARK: Services

  @Test mutating func `ModemManager is a warning until a rule makes it ignore the board`() throws {
    #expect(try finding("ModemManager").severity == .good)
    try plug()
    try directory.write("ModemManager\n", to: "proc/812/comm")
    let found = try finding("ModemManager")
    #expect(found.severity == .warning)
    #expect(found.text.contains("process 812"))
    #expect(found.command == UdevRules.installation)
    computer.udevProperties = { $0 == "ttyUSB0" ? ["ID_MM_DEVICE_IGNORE": "1"] : [:] }
    #expect(try finding("ModemManager").severity == .good)
  }

  @Test func `a brltty rule for the board is a warning, one for another board is not`() throws {
    try plug(id: "1a86:7523")
    try directory.write(#"ENV{PRODUCT}=="10c4/ea60/*", RUN="brltty""#, to: "lib/85-brltty.rules")
    #expect(findings("brltty") == [])
    try directory.write(#"ENV{PRODUCT}=="1a86/7523/*", RUN="brltty""#, to: "lib/85-brltty.rules")
    let found = try finding("brltty")
    #expect(found.severity == .warning)
    #expect(found.command == "sudo apt-get remove brltty")
    // This disables rules.
    try directory.link("etc/udev/rules.d/85-brltty.rules", to: "/dev/null")
    #expect(findings("brltty") == [])
  }

  @Test func `our rules are installed, old or missing; without udev they are not needed`() throws {
    #expect(try finding("udev").severity == .good)
    try directory.write("", to: "run/udev/control")
    #expect(try finding("udev").command == UdevRules.installation)
    try directory.write("# old\n", to: "etc/udev/rules.d/59-notibot.rules")
    #expect(try finding("udev").text.contains("by another version"))
    try directory.write(UdevRules.text, to: "etc/udev/rules.d/59-notibot.rules")
    #expect(try finding("udev").severity == .good)
  }

  // MARK: Bluetooth

  @Test func `adapters are listed without their connections, and with what uses them`() throws {
    #expect(try finding("Bluetooth").text == "this computer has no Bluetooth adapter")
    for name in ["hci0", "hci0:11", "hci1"] {
      try directory.write("", to: "sys/class/bluetooth/\(name)/uevent")
    }
    #expect(try finding("Bluetooth").text == "hci0, hci1: bluetoothd is not running")
    try directory.write("bluetoothd\n", to: "proc/900/comm")
    let found = try finding("Bluetooth")
    #expect(found.severity == .good)
    #expect(
      found.text
        == "hci0, hci1: used by bluetoothd (process 900) until it is switched off: sudo btmgmt --index N power off"
    )
  }

  @Test(
    arguments: [
      ("0", "0", nil, nil), ("1", "0", "hci0 is blocked (rfkill)", "sudo rfkill unblock bluetooth"),
      ("1", "1", "hci0 is off by a switch or key of this computer (rfkill)", nil),
    ] as [(String, String, String?, String?)])
  func `a blocked adapter is a warning, with the command that unblocks it`(
    soft: String, hard: String, text: String?, command: String?
  ) throws {
    let values = [("type", "bluetooth"), ("name", "hci0"), ("soft", soft), ("hard", hard)]
    for (name, value) in values { try directory.write("\(value)\n", to: "sys/class/rfkill/rfkill1/\(name)") }
    for name in ["type", "soft"] {
      try directory.write(name == "type" ? "wlan\n" : "1\n", to: "sys/class/rfkill/rfkill0/\(name)")
    }
    let warnings = findings("Bluetooth").filter { $0.severity == .warning }
    #expect(warnings.map(\.text) == [text].compactMap(\.self))
    #expect(warnings.first?.command == command)
  }

  // MARK: The rest

  @Test mutating func `without pseudo-terminals no emulator runs`() throws {
    #expect(try finding("terminal").severity == .good)
    computer.makesTerminals = { false }
    #expect(try finding("terminal").severity == .trouble)
  }

  @Test mutating func `programs are searched in PATH, and a missing one is a warning`() throws {
    #expect(findings("program").map(\.severity) == [.warning, .warning])
    try directory.write("#!/bin/sh\n", to: "bin/uhubctl")
    #expect(chmod(directory.file("bin/uhubctl"), 0o755) == 0)
    computer.environment = ["PATH": "/nonexistent:\(directory.file("bin"))"]
    #expect(findings("program").map(\.severity) == [.good, .warning])
  }

  @Test func `a computer without problems has no trouble`() throws {
    try plug()
    #expect(!Diagnosis(of: computer).findings().contains { $0.severity == .trouble })
  }
}
