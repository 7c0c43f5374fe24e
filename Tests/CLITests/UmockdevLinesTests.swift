import Foundation
import Glibc
import Testing

/// The modem lines of a mocked port, with each system call.
@Suite(.inTurn, .enabled(if: Umockdev.isThere, "\(Umockdev.lack ?? "")")) struct UmockdevLinesTests {
  private func expect(
    _ run: Umockdev.Run, _ code: Int32, with parts: [String], _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(run.ending.status == .exited(code), "\(run.ending.errors)", sourceLocation: location)
    let said = code == 0 ? run.ending.output : run.ending.errors
    for part in parts {
      #expect(said.contains(part), "\(said)\(run.ending.errors)", sourceLocation: location)
    }
    if code != 0 {
      #expect(run.ending.errorLines.count == 1, "\(run.ending.errors)", sourceLocation: location)
    }
  }

  @Test
  func `a hard reset changes both lines in one call, holds EN for 100 ms, and is proven by the boot text`()
    async throws
  {
    let run = try await Umockdev.run([], "reset", "-p", "PORT")
    expect(run, 0, with: ["restarted; verified by boot text (POWERON)", "lines: hard"])
    #expect(run.lines == ["01", "00"])
    #expect(run.steps("TIOCMBIS").isEmpty && run.steps("TIOCMBIC").isEmpty)
    let changes = run.steps("TIOCMSET")
    try #require(changes.count == 2)
    // A busy computer adds delays: at least as long, but not ten times.
    let pulse = changes[1].seconds - changes[0].seconds
    #expect(pulse > 0.095 && pulse < 1, "\(pulse)")
    #expect(run.steps("boot").map(\.loader) == [false])
    #expect(run.steps("TCSETS2").allSatisfy { $0.hupcl == false })
    #expect(!run.steps("TCSETS2").isEmpty)
  }

  @Test func `a slow call makes a pulse longer, never shorter`() async throws {
    let run = try await Umockdev.run(["--slow-first", "60"], "reset", "-p", "PORT")
    expect(run, 0, with: ["lines: hard"])
    let changes = run.steps("TIOCMSET")
    try #require(changes.count == 2)
    #expect(changes[1].seconds - changes[0].seconds > 0.095)
  }

  @Test func `the tight sequence changes from reset to download in one call`() async throws {
    let run = try await Umockdev.run([], "reset", "-p", "PORT", "--into", "loader", "--json")
    expect(run, 0, with: [#""proof" : "loader-sync""#, #""target" : "loader""#])
    #expect(run.lines == ["00", "11", "01", "10", "00"])
    #expect(run.steps("boot").map(\.loader) == [true])
  }

  @Test func `into the loader and out again`() async throws {
    let run = try await Umockdev.run(
      [], "reset", "-p", "PORT", "--strategy", "classic", "--after", "hard-reset")
    expect(run, 0, with: ["the loader answers", "lines: classic, hard"])
    #expect(run.lines == ["01", "01", "11", "10", "00", "01", "00"])
    #expect(run.steps("boot").map(\.loader) == [true, false])
  }

  @Test func `a custom sequence is played as written`() async throws {
    let run = try await Umockdev.run([], "reset", "-p", "PORT", "--sequence", "U0,0|U0,1|W0.15|R0")
    expect(run, 0, with: ["lines: custom"])
    #expect(run.lines == ["00", "01", "00"])
  }

  @Test func `a silent board is reset with every strategy, in esptool's order`() async throws {
    let run = try await Umockdev.run(["--deaf"], "reset", "-p", "PORT", "--into", "loader")
    expect(run, 13, with: ["cannot enter the loader", "no answer", "BOOT button"])
    let tight = ["00", "11", "01", "10", "00"]
    // Both lines are released before: for the mock the port was not closed.
    let classic = ["00", "01", "11", "10", "00"]
    #expect(run.lines == tight + tight + classic + classic + tight + tight + classic + classic)
  }

  @Test func `the boot id proves the reset of a Notibot`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--silent"], "reset", "-p", "PORT", "--json")
      expect(run, 0, with: [#""proof" : "boot-id""#])
      let report = try JSON(parsing: run.ending.output)
      #expect(report["bootIDBefore"] != report["bootIDAfter"])
      #expect(report["resetReason"].string == "pin")
      #expect(run.lines == ["01", "00"])
    }
  }

  @Test func `attaching changes no line and restarts nothing`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(Umockdev.behind(emulator), "count", "-p", "PORT")
      expect(run, 0, with: ["0"])
      #expect(run.lines.isEmpty && run.steps("boot").isEmpty)
      #expect(run.steps("TCSETS2").allSatisfy { $0.hupcl == false })
    }
  }

  @Test func `USB inside the chip removes the port, and the reset waits for it`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--id", "303a:1001", "--driver", "cdc_acm", "--vanish"],
        "reset", "-p", "PORT")
      expect(run, 0, with: ["restarted; boot id", "lines: usb-hard"])
      #expect(run.steps.map(\.call).filter { ["add", "remove"].contains($0) } == ["add", "remove", "add"])
    }
  }

  @Test func `a port that does not return is a lost link`() async throws {
    let run = try await Umockdev.run(["--stay-away"], "reset", "-p", "PORT", "--timeout", "1")
    expect(run, 14, with: ["disappeared and did not return"])
  }

  @Test func `unconnected lines are distinguished from a reset`() async throws {
    try await withEmulator { emulator in
      let run = try await Umockdev.run(Umockdev.behind(emulator) + ["--deaf"], "reset", "-p", "PORT")
      expect(run, 18, with: ["did not restart", "boot id is ", "--usb"])
    }
    let silent = try await Umockdev.run(["--deaf"], "reset", "-p", "PORT", "--timeout", "0.5")
    expect(silent, 13, with: ["no boot text and no answer within 0.5 s"])
  }

  @Test func `a board that returns in the loader or from a crash is a failure`() async throws {
    let loader = try await Umockdev.run(["--io0-low"], "reset", "-p", "PORT")
    expect(loader, 17, with: ["restarted into the loader", "BOOT button"])
    let crash = try await Umockdev.run(["--cause", "TG0WDT_SYS_RESET"], "reset", "-p", "PORT")
    expect(crash, 17, with: ["after a crash (TG0WDT_SYS_RESET)"])
    try await withEmulator { emulator in
      let panic = try await Umockdev.run(
        Umockdev.behind(emulator) + ["--cause", "PANIC", "--silent"], "reset", "-p", "PORT")
      expect(panic, 17, with: ["after a crash (panic)"])
    }
  }

  @Test(arguments: [
    (
      "1:EPROTO", Int32(18), "Protocol error (errno 71); the firmware has possibly turned USB off",
      ["01", "00"]
    ),
    ("2:EIO", 14, "the device was disconnected", ["01", "00", "00"]),
  ])
  func `an error within a sequence is reported, and both lines are released`(
    fault: String, code: Int32, text: String, lines: [String]
  ) async throws {
    let run = try await Umockdev.run(["--fail-set", fault], "reset", "-p", "PORT")
    expect(run, code, with: ["cannot drive the modem lines of", text])
    #expect(run.lines == lines)
  }

  @Test func `a driver without lines is reported`() async throws {
    expect(try await Umockdev.run(["--no-lines"], "reset", "-p", "PORT"), 2, with: ["no modem lines"])
  }

  @Test func `the USB port is reset`() async throws {
    let run = try await Umockdev.run([], "reset", "-p", "PORT", "--usb")
    expect(run, 0, with: ["the port is present; by usb (10c4:ea60)"])
    #expect(run.steps("USBDEVFS_RESET").count == 1)
    #expect(run.lines.isEmpty)
    let refused = try await Umockdev.run(["--usb-reset", "EPERM"], "reset", "-p", "PORT", "--usb")
    expect(refused, 18, with: ["cannot reset /dev/bus/usb/001/002"])
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a USB node without permission is named`() async throws {
    let run = try await Umockdev.run(["--usb-forbidden"], "reset", "-p", "PORT", "--usb")
    expect(
      run, 12, with: ["cannot reset /dev/bus/usb/001/002: permission denied", "ls -l /dev/bus/usb/001/002"])
    #expect(run.steps("USBDEVFS_RESET").isEmpty)
  }

  @Test func `the power is switched at the hub and port of the board, and the port really disappears`()
    async throws
  {
    let run = try await Umockdev.run(["--uhubctl"], "reset", "-p", "PORT", "--power")
    expect(run, 0, with: ["the port disappeared and returned", "by power"])
    #expect(run.steps("uhubctl").map(\.arguments) == ["-l 1 -p 1 -a cycle"])
    #expect(run.steps.map(\.call).filter { ["add", "remove"].contains($0) } == ["add", "remove", "add"])
  }

  @Test func `a missing, failing or ineffective uhubctl is reported`() async throws {
    let directory = try TemporaryDirectory()
    let missing = try await Umockdev.run(
      ["--path", directory.path], "reset", "-p", "PORT", "--power")
    expect(missing, 18, with: ["uhubctl is not installed", "apt-get install uhubctl"])
    let failure = "#!/bin/sh\necho 'Permission problems?' >&2\nexit 1\n"
    _ = try await directory.writeProgram(failure, to: "uhubctl")
    let failing = try await Umockdev.run(
      ["--path", "\(directory.path):/usr/bin:/bin"], "reset", "-p", "PORT", "--power")
    expect(failing, 18, with: ["uhubctl failed: Permission problems?"])
    _ = try await directory.writeProgram("#!/bin/sh\nexit 0\n", to: "uhubctl")
    let lying = try await Umockdev.run(
      ["--path", "\(directory.path):/usr/bin:/bin"], "reset", "-p", "PORT", "--power")
    expect(lying, 18, with: ["the board never lost its supply"])
  }

  @Test(
    .enabled(
      if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/uhubctl"), "uhubctl is not installed"))
  func `the real uhubctl reports a missing switchable hub`() async throws {
    let run = try await Umockdev.run(
      ["--path", "/usr/sbin:/usr/bin:/bin"], "reset", "-p", "PORT", "--power")
    expect(run, 18, with: ["no hub there switches its ports", "No compatible devices detected"])
  }

  @Test func `an FTDI port's latency timer is restored afterwards`() async throws {
    let board = ["--id", "0403:6001", "--driver", "ftdi_sio", "--latency", "16"]
    let run = try await Umockdev.run(board, "reset", "-p", "PORT")
    expect(run, 0, with: ["restarted"])
    #expect(run.steps("end").map(\.latency) == ["16"])
    #expect(run.steps("TIOCSSERIAL").isEmpty)
    let asUser = try await Umockdev.run(board + ["--latency-read-only"], "reset", "-p", "PORT")
    expect(asUser, 0, with: ["restarted"])
    #expect(asUser.steps("TIOCSSERIAL").map(\.lowLatency).prefix(2) == [true, false])
    #expect(asUser.steps("TIOCSSERIAL").last?.lowLatency == false)
  }
}
