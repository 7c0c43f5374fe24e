import Testing

@testable import SerialLink

/// Builds the parts of sysfs and /dev that a port list reads.
struct FakeTree {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
    try directory.write("", to: "sys/class/tty/.keep")
    try directory.link("sys/class/tty/ptmx", to: "../../devices/virtual/tty/ptmx")
    try directory.write("5:2\n", to: "sys/devices/virtual/tty/ptmx/dev")
  }

  var list: PortList { PortList(sysfsRoot: directory.file("sys"), deviceRoot: directory.file("dev")) }

  /// A USB port at `location`, such as `1-1.4`. A native CDC port hangs on the interface itself, a
  /// bridge's on a directory of its own below it.
  func addUSB(
    _ name: String, at location: String, id: String, serial: String? = nil, interface: Int = 0,
    driver: String = "cp210x"
  ) throws {
    let device = "sys/devices/pci0000:00/usb1/\(location)"
    let bus = "\(device)/\(location):1.\(interface)"
    let tty = name.hasPrefix("ttyACM") ? bus : "\(bus)/\(name)"
    try directory.write("1d6b\n", to: "sys/devices/pci0000:00/usb1/idVendor")
    try directory.write("0002\n", to: "sys/devices/pci0000:00/usb1/idProduct")
    try directory.write(String(id.prefix(4)) + "\n", to: "\(device)/idVendor")
    try directory.write(String(id.suffix(4)) + "\n", to: "\(device)/idProduct")
    if let serial { try directory.write(serial + "\n", to: "\(device)/serial") }
    try directory.write("0\(interface)\n", to: "\(bus)/bInterfaceNumber")
    try directory.write("", to: "\(tty)/tty/\(name)/dev")
    try directory.link("\(tty)/driver", to: "/sys/bus/usb-serial/drivers/\(driver)")
    try directory.link("\(tty)/tty/\(name)/device", to: "../..")
    try directory.link("sys/class/tty/\(name)", to: directory.file("\(tty)/tty/\(name)"))
  }

  /// A built-in UART; type 0 is an empty slot.
  func addUART(_ name: String, type: Int) throws {
    let device = "sys/devices/platform/\(name)-port"
    try directory.write("\(type)\n", to: "\(device)/tty/\(name)/type")
    try directory.link("\(device)/tty/\(name)/device", to: "../..")
    try directory.link("sys/class/tty/\(name)", to: directory.file("\(device)/tty/\(name)"))
  }
}

@Suite struct PortListTests {
  let tree: FakeTree

  init() throws {
    tree = try FakeTree()
  }

  private func error(for name: PortName) -> PortError.Code? {
    portError { () throws(PortError) in _ = try tree.list.port(for: name) }?.code
  }

  @Test func `a port of the kernel without its node is not one that does not exist`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1.4", id: "10c4:ea60")
    try tree.addUSB("ttyUSB1", at: "1-1.5", id: "10c4:ea60")
    try tree.directory.write("", to: "dev/ttyUSB1")
    try tree.directory.link("dev/serial/by-id/one", to: "../../ttyUSB0")
    let present = tree.directory.file("dev/ttyUSB1")
    #expect(tree.list.absence(of: tree.directory.file("dev/ttyUSB0")) == .nodeMissing)
    #expect(tree.list.absence(of: tree.directory.file("dev/serial/by-id/one")) == .nodeMissing)
    #expect(tree.list.absence(of: tree.directory.file("dev/ttyUSB2")) == .notFound(present: [present]))
  }

  @Test func `two ports of one board are not two boards`() throws {
    try tree.addUSB("ttyACM0", at: "1-1.4", id: "303a:1001", interface: 0)
    try tree.directory.write("02\n", to: "sys/devices/pci0000:00/usb1/1-1.4/1-1.4:1.2/bInterfaceNumber")
    try tree.addUSB("ttyACM1", at: "1-1.4", id: "303a:1001", interface: 2)
    guard case .severalInterfaces(let ports)? = error(for: .automatic) else {
      Issue.record("expected one board, got \(String(describing: error(for: .automatic)))")
      return
    }
    #expect(ports.count == 2 && ports[1].hasSuffix("ttyACM1 (interface 2)"))
  }

  @Test func `a bridge is listed with everything that identifies it`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1.4", id: "10c4:ea60", serial: "0001", interface: 1)
    try tree.directory.link("dev/serial/by-id/usb-Silicon_Labs_0001-if00-port0", to: "../../ttyUSB0")
    try tree.directory.link("dev/serial/by-path/pci-usb-0:1.4:1.0-port0", to: "../../ttyUSB0")

    let port = try #require(tree.list.ports().first)

    #expect(port.path == tree.directory.file("dev/ttyUSB0"))
    #expect(port.driver == "cp210x")
    #expect(port.byID == tree.directory.file("dev/serial/by-id/usb-Silicon_Labs_0001-if00-port0"))
    #expect(port.byPath == tree.directory.file("dev/serial/by-path/pci-usb-0:1.4:1.0-port0"))
    #expect(port.usb?.id == USBID(vendor: 0x10C4, product: 0xEA60))
    #expect(port.usb?.serial == "0001")
    #expect(port.usb?.interface == 1)
    #expect(port.usb?.location == "1-1.4")
    #expect(port.usb?.adapter?.name == "Silicon Labs CP210x")
    #expect(port.usb?.product == nil)
  }

  @Test func `the tty of native USB is below the interface itself`() throws {
    try tree.addUSB("ttyACM0", at: "1-2", id: "303a:1001", serial: "7C:DF:A1:00:00:01", driver: "cdc_acm")
    let port = try #require(tree.list.ports().first)
    #expect(port.usb?.serial == "7C:DF:A1:00:00:01")
    #expect(port.usb?.adapter?.name == "ESP32 USB-Serial/JTAG")
    #expect(port.driver == "cdc_acm")
  }

  @Test func `ports are sorted by number, and slots without a UART are skipped`() throws {
    try tree.addUSB("ttyUSB10", at: "1-3", id: "1a86:7523")
    try tree.addUSB("ttyUSB2", at: "1-2", id: "1a86:7523")
    try tree.addUART("ttyS0", type: 4)
    try tree.addUART("ttyS1", type: 0)
    let names = tree.list.ports().map { $0.path.split(separator: "/").last }
    #expect(names == ["ttyS0", "ttyUSB2", "ttyUSB10"])
  }

  @Test func `no sysfs is an empty list`() {
    #expect(PortList(sysfsRoot: "/nonexistent", deviceRoot: "/nonexistent").ports() == [])
  }

  @Test func `auto selects the only known board and ignores unknown boards and built-in UARTs`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "dead:beef")
    try tree.addUSB("ttyUSB1", at: "1-2", id: "1a86:55d4")
    try tree.addUART("ttyS0", type: 4)
    let port = try tree.list.port(for: .automatic)
    #expect(port.path == tree.directory.file("dev/ttyUSB1"))
  }

  @Test func `auto never chooses between two boards`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "10c4:ea60", serial: "0001")
    try tree.addUSB("ttyUSB1", at: "1-2", id: "1a86:7523")
    let dev = tree.directory.file("dev")
    #expect(
      error(for: .automatic)
        == .ambiguous(["\(dev)/ttyUSB0 (10c4:ea60 0001)", "\(dev)/ttyUSB1 (1a86:7523)"]))
  }

  @Test func `auto with unknown boards only lists them`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "dead:beef")
    #expect(error(for: .automatic) == .noBoard(others: ["\(tree.directory.file("dev"))/ttyUSB0 (dead:beef)"]))
  }

  @Test func `a USB id selects its port, even an unknown one, and the serial number decides between two`()
    throws
  {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "dead:beef", serial: "A")
    try tree.addUSB("ttyUSB1", at: "1-2", id: "dead:beef", serial: "B")
    let id = USBID(vendor: 0xDEAD, product: 0xBEEF)
    let port = try tree.list.port(for: .usb(id, serial: "B"))
    #expect(port.path == tree.directory.file("dev/ttyUSB1"))
    guard case .ambiguous(let both) = error(for: .usb(id, serial: nil)) else {
      Issue.record("expected two matches")
      return
    }
    #expect(both.count == 2)
    guard case .notFound(let present) = error(for: .usb(id, serial: "C")) else {
      Issue.record("expected no match")
      return
    }
    #expect(present.count == 2)
  }

  @Test func `all boards that match a name are found, unknown ones only by their USB id`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "dead:beef", serial: "A")
    try tree.addUSB("ttyUSB1", at: "1-2", id: "10c4:ea60", serial: "0001")
    try tree.addUSB("ttyUSB2", at: "1-3", id: "10c4:ea60", serial: "0001")
    try tree.addUSB("ttyUSB3", at: "1-4", id: "1a86:7523")
    let dev = tree.directory.file("dev")
    let id = USBID(vendor: 0x10C4, product: 0xEA60)
    func names(_ names: String...) -> [PortName] { names.map { .address(.tty(path: "\(dev)/\($0)")) } }
    #expect(tree.list.all(matching: .automatic) == names("ttyUSB1", "ttyUSB2", "ttyUSB3"))
    #expect(tree.list.all(matching: .usb(id, serial: nil)) == names("ttyUSB1", "ttyUSB2"))
    let stranger = USBID(vendor: 0xDEAD, product: 0xBEEF)
    #expect(tree.list.all(matching: .usb(stranger, serial: "A")) == names("ttyUSB0"))
  }

  @Test func `a name without a match in the list, or of another form, stands for itself`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "10c4:ea60", serial: "0001")
    let id = USBID(vendor: 0x10C4, product: 0xEA60)
    let names: [PortName] = [
      .address(.tty(path: "/dev/ttyX")), .usb(id, serial: "C"), .deviceID("24:6F:28:AA:BB:CC"),
      .labgrid(LabgridName(place: "a")), .bluetooth(peer: "a", adapter: nil),
      .attributes(path: "/a"), .standIn(.emulator(profile: nil)),
    ]
    for name in names { #expect(tree.list.all(matching: name) == [name]) }
  }

  @Test func `only a name that the list resolves has an address`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "10c4:ea60")
    let path = tree.directory.file("dev/ttyUSB0")
    #expect(try tree.list.address(of: .automatic) == .tty(path: path))
    let server = PortAddress.socket(host: "lab", port: 1)
    #expect(try tree.list.address(of: .address(server)) == server)
    let others: [PortName] = [
      .deviceID("AA"), .labgrid(LabgridName(place: "a")), .standIn(.qemu(image: nil)),
    ]
    for name in others {
      let error = portError { () throws(PortError) in _ = try tree.list.address(of: name) }
      #expect(error?.description == "cannot open \(name): this form is not available here")
      let hint = try #require(error?.hint)
      #expect(hint.hasPrefix("use one of: /dev/NAME, auto, ") && !hint.contains("emu:"), "\(hint)")
    }
  }

  @Test func `a port is known by its path, by a link to it, and not by a server's name`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "10c4:ea60")
    try tree.directory.write("", to: "dev/ttyUSB0")
    let path = tree.directory.file("dev/ttyUSB0")
    try tree.directory.link("mine", to: path)
    #expect(tree.list.info(at: .tty(path: path))?.usb?.location == "1-1")
    #expect(tree.list.info(at: .tty(path: tree.directory.file("mine")))?.path == path)
    #expect(tree.list.info(at: .socket(host: path, port: 1)) == nil)
    #expect(tree.list.info(for: .automatic)?.path == path)
    #expect(tree.list.info(for: .deviceID("AA")) == nil)
  }

  @Test(arguments: [("303a:0009", true), ("303a:7013", true), ("303a:7014", false), ("303a:8123", false)])
  func `of Espressif's USB ids only those of their own boards are known`(text: String, isKnown: Bool) throws {
    try tree.addUSB("ttyACM0", at: "1-1", id: text)
    #expect(try #require(tree.list.ports().first).isKnownBoard == isKnown)
  }

  private func addresses(_ paths: [String]) -> [PortAddress] { paths.map { .tty(path: $0) } }

  @Test
  func `a path is the only candidate until its board's identity is known, then known boards follow it`()
    throws
  {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "10c4:ea60")
    try tree.addUSB("ttyUSB1", at: "1-2", id: "dead:beef")
    let known = tree.directory.file("dev/ttyUSB0")
    #expect(try tree.list.candidates(for: .address(.tty(path: "/p")), isPinned: false) == addresses(["/p"]))
    #expect(
      try tree.list.candidates(for: .address(.tty(path: "/p")), isPinned: true) == addresses(["/p", known]))
    try tree.directory.write("", to: "dev/ttyUSB0")
    try tree.directory.link("mine", to: known)
    let mine = tree.directory.file("mine")
    #expect(try tree.list.candidates(for: .address(.tty(path: mine)), isPinned: true) == addresses([mine]))
  }

  @Test func `a board identity is searched at all known boards and at no others`() throws {
    try tree.addUSB("ttyUSB0", at: "1-1", id: "dead:beef")
    let stranger = "\(tree.directory.file("dev"))/ttyUSB0 (dead:beef)"
    let missing = portError { () throws(PortError) in
      _ = try tree.list.candidates(for: .deviceID("AA"), isPinned: true)
    }
    #expect(missing?.code == .noBoard(others: [stranger]))
    try tree.addUSB("ttyUSB1", at: "1-2", id: "10c4:ea60")
    try tree.addUSB("ttyUSB2", at: "1-3", id: "303a:1001")
    let dev = tree.directory.file("dev")
    let both = ["\(dev)/ttyUSB1", "\(dev)/ttyUSB2"]
    #expect(try tree.list.candidates(for: .deviceID("AA"), isPinned: true) == addresses(both))
    #expect(try tree.list.candidates(for: .automatic, isPinned: true) == addresses(both))
    let stranged = USBID(vendor: 0xDEAD, product: 0xBEEF)
    #expect(
      try tree.list.candidates(for: .usb(stranged, serial: nil), isPinned: true)
        == addresses(["\(dev)/ttyUSB0"] + both))
    #expect(
      try tree.list.candidates(for: .usb(stranged, serial: nil), isPinned: false)
        == addresses(["\(dev)/ttyUSB0"]))
  }
}
