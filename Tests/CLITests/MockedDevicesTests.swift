import Foundation
import Glibc
import Testing

/// `notibot` with boards on mocked ports.
@Suite(
  .inTurn, .enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")"))
struct MockedDevicesTests {
  private static let all: [JSON] = [
    "cp2102-a", "cp2102-b", "ch340", "ftdi", "jtag", "s3", "s3-rom", "stranger", "cp2105-0", "cp2105-1",
  ]

  private func ports(_ boards: [JSON], _ options: String...) async throws -> [JSON] {
    let machine = try MockedMachine(boards, ["devices", "--json"] + options)
    let ending = await machine.program.ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
    return try JSON(parsing: ending.output)["ports"].elements
  }

  // MARK: The list

  @Test(
    arguments: [
      ("cp2102-a", "10c4:ea60", "0001", "Silicon Labs CP210x", nil, "cp210x", "1-1"),
      ("ch340", "1a86:7523", nil, "WCH CH340", nil, "ch341-uart", "1-3"),
      ("ftdi", "0403:6001", "A50285BI", "FTDI FT232R", nil, "ftdi_sio", "1-4"),
      ("jtag", "303a:1001", "7C:DF:A1:00:00:01", "ESP32 USB-Serial/JTAG", nil, "cdc_acm", "1-5"),
      ("s3", "303a:4001", "123456", "ESP32 TinyUSB CDC", nil, "cdc_acm", "1-6"),
      ("s3-rom", "303a:0009", "0", "ESP32-S3 ROM USB", "ESP32-S3", "cdc_acm", "1-7"),
    ] as [(JSON, JSON, String?, JSON, String?, JSON, JSON)])
  func `a known board is listed with all identifying fields`(
    board: JSON, id: JSON, serial: String?, name: JSON, chip: String?, driver: JSON, location: JSON
  ) async throws {
    let port = try #require(try await ports([board]).first)
    #expect(port["isKnownBoard"] == true)
    #expect(port["usbID"] == id)
    #expect(port["serial"].string == serial)
    #expect(port["board"] == name)
    #expect(port["chip"].string == chip)
    #expect(port["driver"] == driver)
    #expect(port["location"] == location)
    #expect(port["byPath"].string?.hasPrefix("/dev/serial/by-path/pci-") == true)
    #expect(port["heldBy"] == .null)
  }

  @Test func `a monitor finds a board's id among the serial numbers`() async throws {
    let words = ["monitor", "-p", "id:7CDFA1000001", "--timeout", "0.3"]
    let found = await (try MockedMachine(["ftdi", "jtag"], words)).program.ending()
    // A mocked port cannot be opened.
    #expect(found.errors.contains("cannot open /dev/ttyACM0"), "\(found.errors)")
    let other = await (try MockedMachine(["ftdi"], words)).program.ending()
    #expect(other.status == .exited(10), "\(other.errors)")
    #expect(other.errors.contains("no USB device has the serial number"))
  }

  @Test func `an unknown board is listed with its own texts, sanitised`() async throws {
    let port = try #require(try await ports(["stranger"]).first)
    #expect(port["isKnownBoard"] == false)
    #expect(port["board"] == .null)
    #expect(port["product"] == "Modem")
    let table = try await MockedMachine.run(["stranger"], "devices")
    #expect(table.output.contains("Modem") && table.output.contains(#"X\u{1b}[2J"#))
    #expect(!table.output.hasControls)
  }

  @Test func `two ports of one bridge differ only in the interface`()
    async throws
  {
    let both = try await ports(["cp2105-0", "cp2105-1"])
    #expect(both.map { $0["interface"] } == [0, 1])
    #expect(both.map { $0["location"] } == ["1-9", "1-9"])
    #expect(both.map { $0["serial"] } == ["00A1", "00A1"])
  }

  @Test func `with --links the links that udev made are in the table`() async throws {
    let ending = try await MockedMachine.run(["jtag"], "devices", "--links")
    #expect(ending.lines.first?.hasSuffix("BY ID  BY PATH") == true, "\(ending.output)")
    #expect(ending.output.contains("/dev/serial/by-path/pci-0000_00_14_0-usb-0_5_1_0"))
  }

  // MARK: Choosing

  @Test func `auto never chooses between two boards of one serial number, and lists them`() async throws {
    for port in ["auto", "usb:10c4:ea60", "usb:10c4:ea60:0001"] {
      let ending = try await MockedMachine.run(["cp2102-a", "cp2102-b", "stranger"], "count", "-p", port)
      #expect(ending.status == .exited(10))
      #expect(ending.output == "")
      #expect(
        ending.errors
          == "notibot: cannot choose \(port): 2 ports match: /dev/ttyUSB0 (10c4:ea60 0001), /dev/ttyUSB1 (10c4:ea60 0001); choose one of them with --port\n"
      )
    }
  }

  @Test(arguments: ["count", "test", "watch"])
  func `an unknown board alone is noBoard for auto`(command: String) async throws {
    let ending = try await MockedMachine.run(["stranger"], command)
    #expect(ending.status == .exited(10))
    #expect(ending.errors.contains("no known board is connected"), "\(ending.errors)")
    #expect(ending.errors.contains("/dev/ttyACM3 (dead:beef"), "\(ending.errors)")
    #expect(!ending.errors.hasControls)
  }

  @Test func `an unknown serial number is noBoard, and the error lists the present boards`()
    async throws
  {
    let ending = try await MockedMachine.run(["cp2102-a", "ftdi"], "count", "-p", "usb:0403:6001:OTHER")
    #expect(ending.status == .exited(10))
    #expect(ending.errors.contains("/dev/ttyUSB3 (0403:6001 A50285BI)"), "\(ending.errors)")
  }

  // MARK: Rights and locks

  @Test(.enabled(if: Privilege.canBeGivenUp, "needs setpriv to give up what root may"))
  func `a port without permission is reported, by the doctor too`() async throws {
    let closed: JSON = [
      "tty": "ttyUSB0", "at": "1-1", "id": "10c4:ea60", "driver": "cp210x", "closed": true,
    ]
    let prefix = geteuid() == 0 ? [Privilege.setpriv] + Privilege.dropping : []
    let ending = try await MockedMachine.run([closed], "count", prefix: prefix)
    #expect(ending.status == .exited(12), "\(ending.errors)")
    #expect(ending.errors.contains("/dev/ttyUSB0: permission denied"))
    let doctor = try await MockedMachine.run([closed], "doctor", prefix: prefix)
    #expect(doctor.status == .exited(18), "\(doctor.errors)")
    #expect(doctor.output.contains("trouble  no permission to open /dev/ttyUSB0"), "\(doctor.output)")
  }

  @Test func `a port locked by a live process is busy, with its holder`() async throws {
    let lock = "/var/lock/LCK..ttyUSB7742"
    try Data(String(format: "%10d\n", getpid()).utf8).write(to: URL(fileURLWithPath: lock))
    defer { unlink(lock) }
    let board: JSON = ["tty": "ttyUSB7742", "at": "1-1", "id": "10c4:ea60", "driver": "cp210x"]
    let ending = try await MockedMachine.run([board], "count")
    #expect(ending.status == .exited(11), "\(ending.errors)")
    #expect(ending.errors.contains("is that of process \(getpid())"), "\(ending.errors)")
    let listed = try #require(try await ports([board], "--probe").first)
    #expect(listed["heldBy"]["pid"].number == Double(getpid()))
    #expect(listed["unasked"] == "not probed: in use")
  }

  @Test func `only known boards are probed`() async throws {
    let asked = try await ports(["cp2102-a", "stranger"], "--probe", "--timeout", "0.1")
    let answers = asked.map { $0["unasked"].string ?? "" }
    // Files replace the terminals: opening one would reveal that.
    #expect(answers == ["not probed: unknown board", "not a serial port"])
  }

  // MARK: Plugging

  @Test func `devices --watch reports present, added and removed ports`() async throws {
    let machine = try MockedMachine(["cp2102-a"], ["devices", "--watch", "--json"])
    let output = machine.program.output
    func event(_ index: Int) async throws -> [JSON] {
      let document = try JSON(parsing: try await output.line(index))
      return [document["event"], document["port"], document["usbID"]]
    }
    #expect(try await event(0) == ["present", "/dev/ttyUSB0", "10c4:ea60"])
    try await machine.change("plug jtag")
    #expect(try await event(1) == ["added", "/dev/ttyACM0", "303a:1001"])
    try await machine.change("unplug cp2102-a")
    #expect(try await event(2) == ["removed", "/dev/ttyUSB0", "10c4:ea60"])
    machine.send(SIGINT)
    let ending = await machine.program.ending()
    #expect(ending.status == .exited(130))
    #expect(ending.lines.count == 3)
  }

  @Test func `a uevent alone is enough: a board that left and is already back is reported as both`()
    async throws
  {
    let machine = try MockedMachine(["jtag"], ["devices", "--watch"])
    let line = "/dev/ttyACM0 303a:1001 7C:DF:A1:00:00:01 ESP32 USB-Serial/JTAG at 1-5"
    #expect(try await machine.program.output.line(0) == "present \(line)")
    try await machine.change("uevent remove jtag")
    #expect(try await machine.program.output.line(1) == "removed \(line)")
    #expect(try await machine.program.output.line(2) == "added \(line)")
    machine.send(SIGTERM)
    #expect(await machine.program.ending().status == .exited(143))
  }

  @Test func `a watch with a time limit ends on its own`() async throws {
    let ending = try await MockedMachine.run(["jtag"], "devices", "--watch", "--timeout", "0.1")
    #expect(ending.status == .exited(0))
    #expect(ending.lines.count == 1)
  }

  @Test func `a forwarder that waits for a board tries it when it is connected`() async throws {
    let directory = try TemporaryDirectory()
    let machine = try MockedMachine(
      ["stranger"],
      [
        "forward", "-p", "auto", "--listen", "unix:\(directory.file("socket"))", "--outbox",
        directory.file("outbox"), "--json",
      ])
    let waiting = try JSON(parsing: try await machine.program.output.line(0))
    #expect(waiting["event"] == "down")
    try await machine.change("plug cp2102-a")
    let tried = try JSON(parsing: try await machine.program.output.line(1))
    // A file replaces the terminal.
    #expect(tried["reason"] == "cannot open /dev/ttyUSB0: not a serial port")
    machine.send(SIGTERM)
    _ = await machine.program.ending()
  }

  // MARK: The doctor

  @Test func `the doctor reports the choice of auto, and the latency of an FTDI chip`() async throws {
    let ending = try await MockedMachine.run(["ftdi"], "doctor", "--json")
    #expect(ending.status == .exited(0), "\(ending.errors)")
    let findings = try JSON(parsing: ending.output)["findings"].elements
    let selection = findings.first { $0["check"] == "selection" }
    #expect(selection?["text"] == "auto selects /dev/ttyUSB3 (0403:6001 FTDI FT232R): the only known board")
    let latency = findings.first { $0["check"] == "latency" }
    #expect(latency?["severity"] == "warning")
    #expect(latency?["command"] == "echo 1 | sudo tee /sys/bus/usb-serial/devices/ttyUSB3/latency_timer")
  }

  @Test func `the doctor finds a board without a driver`() async throws {
    let orphan: JSON = ["tty": "ttyUSB0", "at": "1-1", "id": "10c4:ea60", "driver": "cp210x", "orphan": true]
    let ending = try await MockedMachine.run([orphan], "doctor")
    #expect(ending.status == .exited(18), "\(ending.output)")
    #expect(ending.output.contains("trouble  10c4:ea60 at 1-1 (Silicon Labs CP210x) has no serial port"))
    #expect(ending.output.contains("fix: sudo modprobe cp210x"))
  }
}
