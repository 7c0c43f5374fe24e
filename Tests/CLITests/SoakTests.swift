import Foundation
import Glibc
import Testing

/// `notibot soak`: the account of every notification, despite restarts and faulty lines.
@Suite(.inTurn) struct SoakTests {
  /// Byte losses so frequent that some hit notifications, regardless of how many are sent in the
  /// time.
  private static let certainLoss = (10..<20).map { "loss@\($0 * 60)/to-device" }.joined(separator: ",")

  @Test
  func `despite restarts and a faulty line nothing is lost or duplicated, and the display is left empty`()
    async throws
  {
    try await withEmulator("--profile", "quiet") { emulator in
      let ending = try await run(
        "soak", "-p", emulator.port, "--duration", "3s", "--rate", "40", "--keep", "16", "--seed", "1",
        "--control", emulator.control, "--faults", "flip=1e-4,loss=1e-4", "--json")
      #expect(ending.status == .exited(0), "\(ending.errors)\(ending.output)")
      let report = try JSON(parsing: ending.output)
      #expect(report["schema"] == "notibot.soak" && report["check"] == "list")
      #expect(try #require(report["queued"].number) > 50)
      #expect(report["queued"] == report["delivered"])
      for key in ["lost", "doubled", "undelivered", "differences", "refused"] { #expect(report[key] == 0) }
      let disturbances = try #require(report["reboots"].number) + (report["unplugs"].number ?? 0)
      #expect(disturbances > 0)
      #expect(try #require(report["latencyMs"]["max"].number) > 0)
      #expect(try await emulator.stored() == [])
    }
  }

  @Test func `an emulator of its own needs no control socket`() async throws {
    let ending = try await run("soak", "-p", "emu:tiny", "--duration", "3s", "--rate", "20", "--json")
    #expect(ending.status == .exited(0), "\(ending.errors)\(ending.output)")
    #expect(try JSON(parsing: ending.output)["check"] == "list")
  }

  @Test func `for an external port a proxy injects the line faults`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let ending = try await run(
        "soak", "-p", emulator.port, "--duration", "5s", "--rate", "40", "--faults", Self.certainLoss,
        "--json")
      #expect(ending.status == .exited(0), "\(ending.errors)\(ending.output)")
      let report = try JSON(parsing: ending.output)
      #expect(report["check"] == "digest")
      #expect(try #require(report["resends"].number) > 0)
    }
  }

  @Test func `without a device the outbox is full, and the time is over nevertheless`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "soak", "-p", directory.file("none"), "--wait", "--duration", "4s", "--rate", "10000", "--json")
    // 18: the computer was late.
    #expect([.exited(13), .exited(18)].contains(ending.status), "\(ending.errors)")
  }

  @Test func `interrupted it still reports`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let soak = try Program(["soak", "-p", emulator.port, "--duration", "1h", "--json"])
      try await emulator.wait(for: "accepted>=6")
      soak.send(SIGINT)
      let ending = await soak.ending()
      #expect(ending.status == .exited(130))
      let report = try JSON(parsing: ending.output)
      #expect(try #require(report["delivered"].number) > 0)
      #expect(report["lost"] == 0 && report["doubled"] == 0)
      #expect(report["check"] == "none")
      #expect(report["trouble"].string?.hasPrefix("interrupted after ") == true)
      let directory = try TemporaryDirectory()
      let new = try directory.write(ending.output, to: "new.json")
      let complete = ending.output.replacing(/"trouble" : "[^"]*",/, with: "")
      let old = try directory.write(complete, to: "old.json")
      let compared = try await run("report", "compare", old, new)
      #expect(compared.status == .exited(1) && compared.errors.contains("the new run is incomplete"))
    }
  }

  @Test func `a dismissal is counted, and is not a loss`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let soak = try Program(["soak", "-p", emulator.port, "--duration", "6s", "--rate", "20", "--json"])
      try await emulator.wait(for: "accepted>=6")
      // A user's dismissal: reported to the host, and therefore not a loss, but counted.
      try await emulator.ask(["command": "dismiss", "item": 2])
      let ending = await soak.ending()
      #expect(ending.status == .exited(0), "\(ending.errors)\(ending.output)")
      #expect(try JSON(parsing: ending.output)["gone"] == 1)
    }
  }

  @Test func `the JUnit report has a case for each claim`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "soak", "-p", "emu:tiny", "--duration", "3s", "--rate", "20", "--junit", directory.file("j.xml"))
    #expect(ending.status == .exited(0), "\(ending.errors)\(ending.output)")
    let junit = try JUnit(parsing: try directory.contents(of: "j.xml"))
    #expect(junit.cases == 5 && junit.failures == 0 && junit.errors == 0)
    #expect(try directory.contents(of: "j.xml").contains(#"<property name="bench.kernel" value="Linux "#))
  }

  @Test func `it is also written for a failed run: the rig's errors, the device's failures`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let absent = try await run(
      "soak", "-p", directory.file("none"), "--duration", "0.2s", "--junit", directory.file("absent.xml"))
    #expect(absent.status == .exited(10))
    let rig = try JUnit(parsing: try directory.contents(of: "absent.xml"))
    #expect(rig.cases == 1 && rig.errors == 1 && rig.failures == 0)
    try await withEmulator("--profile", "firmware") { emulator in
      let ending = try await run(
        "soak", "-p", emulator.port, "--duration", "20s", "--junit", directory.file("plain.xml"))
      #expect(ending.status == .exited(15))
      let device = try JUnit(parsing: try directory.contents(of: "plain.xml"))
      #expect(device.failures == 1 && device.errors == 0)
    }
    try await withEmulator("--profile", "quiet") { emulator in
      let soak = try Program(
        ["soak", "-p", emulator.port, "--duration", "1h", "--junit", directory.file("interrupted.xml")])
      try await emulator.wait(for: "accepted>=6")
      soak.send(SIGINT)
      #expect(await soak.ending().status == .exited(130))
      let interrupted = try JUnit(parsing: try directory.contents(of: "interrupted.xml"))
      #expect(interrupted.errors == 1 && interrupted.failures == 0)
    }
    let unwritable = try await run(
      "soak", "-p", "emu:tiny", "--duration", "0.2s", "--junit", directory.file("no/such/j.xml"))
    #expect(unwritable.status == .exited(18))
  }

  @Test func `with several boards each has a suite, and one that hangs is an error of its own`() async throws
  {
    try await withEmulator("--profile", "quiet") { emulator in
      let terminal = try ControlledTerminal()
      let directory = try TemporaryDirectory()
      let boards = ["board-1", "board-2", "board-3"].map(directory.file)
      for (board, port) in zip(boards, [emulator.port, terminal.path, "/dev/null"]) {
        try FileManager.default.createSymbolicLink(atPath: board, withDestinationPath: port)
      }
      let ending = try await run(
        "soak", "--all", "-p", directory.file("board-*"), "--duration", "1s", "--rate", "20", "--timeout",
        "1", "--junit", directory.file("j.xml"))
      #expect(ending.errors.contains("2 of 3 boards did not pass"), "\(ending.errors)")
      let text = try directory.contents(of: "j.xml")
      let junit = try JUnit(parsing: text)
      #expect(junit.cases == 7 && junit.errors == 2 && junit.failures == 0, "\(text)")
      let suites = text.split(separator: "\n").filter { $0.contains("<testsuite ") }
      for (suite, (board, counts)) in zip(suites, zip(boards, [(5, 0), (1, 1), (1, 1)])) {
        let expected =
          "<testsuite name=\"\(board)\" tests=\"\(counts.0)\" failures=\"0\" errors=\"\(counts.1)\" "
        #expect(suite.contains(expected))
        #expect(text.contains("<testcase classname=\"soak.\(board)\" "))
      }
    }
  }

  @Test func `without a matching board, and interrupted, the report of several boards is written`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let none = try await run(
      "soak", "--all", "-p", directory.file("board-*"), "--duration", "1s", "--junit", directory.file("n.xml")
    )
    #expect(none.status == .exited(10))
    #expect(try JUnit(parsing: try directory.contents(of: "n.xml")).errors == 1)
    try await withEmulator("--profile", "quiet") { emulator in
      for board in ["board-1", "board-2"].map(directory.file) {
        try FileManager.default.createSymbolicLink(atPath: board, withDestinationPath: emulator.port)
      }
      let soak = try Program([
        "soak", "--all", "-j", "1", "-p", directory.file("board-*"), "--duration", "1h", "--junit",
        directory.file("i.xml"),
      ])
      try await emulator.wait(for: "accepted>=6")
      soak.send(SIGINT)
      #expect(await soak.ending().status == .exited(130))
      let junit = try JUnit(parsing: try directory.contents(of: "i.xml"))
      #expect(junit.errors == 2 && junit.failures == 0)
    }
  }

  @Test(arguments: [
    ["--duration", "0s"], ["--duration", "5d"], ["--duration", "x"], ["--duration", "nan"],
    ["--duration", "1s", "--rate", "0"],
    ["--duration", "1s", "--keep", "0"], ["--duration", "1s", "--faults", "reboot@9"],
    ["--duration", "1s", "--faults", "flap=1"], ["--duration", "1s", "-p", "emu:", "--control", "/tmp/c"],
    ["--duration", "1s", "-p", "emu:", "--recover"],
  ])
  func `contradictory options are a usage error`(options: [String]) async throws {
    let port = options.contains("-p") ? [] : ["-p", "/no/such/port"]
    let ending = try await Program(["soak"] + port + options).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
  }

  @Test func `a time without a unit is in seconds, and an invalid one names the units`() async throws {
    let bare = try await run("soak", "-p", "emu:tiny", "--duration", "1", "--rate", "20", "--json")
    #expect(bare.status == .exited(0), "\(bare.errors)")
    let wrong = try await run("soak", "-p", "emu:tiny", "--duration", "3 days")
    #expect(wrong.errors.contains("a number and s, m or h"))
  }

  @Test(arguments: [["-p", "/dev/no-such-port"], ["-p", "socket://127.0.0.1:1"]])
  func `a missing port ends a long soak at once`(port: [String]) async throws {
    let ending = try await Program(["soak", "--duration", "1h"] + port).ending()
    #expect(ending.status == .exited(10), "\(ending.errors)")
  }

  @Test func `a device that never answers ends a long soak after its time limit`() async throws {
    let terminal = try ControlledTerminal()
    let ending = try await run("soak", "-p", terminal.path, "--duration", "1h", "--timeout", "1")
    let status: Int32 = ending.errors.contains("this computer was late") ? 18 : 13
    #expect(ending.status == .exited(status), "\(ending.errors)")
    #expect(ending.errors.contains("no answer from \(terminal.path)"))
  }

  @Test func `a soak that did not run for a while does not accuse the device of silence`() async throws {
    let (reads, sink) = AsyncStream<Void>.makeStream()
    let terminal = try ControlledTerminal { _, _ in sink.yield() }
    let soak = try Program(["soak", "-p", terminal.path, "--duration", "1h", "--timeout", "4"])
    // By the third SYN the soak measures how late it is.
    var synCount = 0
    for await _ in reads {
      synCount += 1
      if synCount == 3 { break }
    }
    soak.send(SIGSTOP)
    // The time limit of another command passes.
    let other = try ControlledTerminal()
    #expect(try await run("count", "-p", other.path, "--timeout", "1.5").status == .exited(13))
    soak.send(SIGCONT)
    let ending = await soak.ending()
    #expect(ending.status == .exited(18), "\(ending.errors)")
    #expect(ending.errors.contains("no answer from \(terminal.path); but this computer was late for"))
  }

  @Test func `a soak with a wait option waits for a port that appears later`() async throws {
    let directory = try TemporaryDirectory()
    let soak = try Program(
      ["soak", "-p", directory.file("port"), "--duration", "3s", "--rate", "20", "--wait", "--json"])
    let emulator = try await Emulator(in: directory)
    let ending = await soak.ending()
    #expect(ending.status == .exited(0), "\(ending.errors)")
    await emulator.stop()
  }

  @Test func `a device that is gone at the end is not accused of a loss`() async throws {
    let directory = try TemporaryDirectory()
    try await withEmulator { emulator in
      let relay = try Relay(to: emulator, isLostAfterSession: true)
      let ending = try await run(
        "soak", "-p", relay.port, "--duration", "2s", "--rate", "20", "--json", "--junit",
        directory.file("j.xml"))
      let isLate = ending.errors.contains("this computer was late")
      #expect(ending.status == .exited(isLate ? 18 : 14), "\(ending.errors)")
      #expect(ending.errors.contains("its display could not be compared"))
      let report = try JSON(parsing: ending.output)
      #expect(report["lost"] == 0 && report["check"] == "none")
      // A computer that is late may end the only session before everything is sent.
      #expect(isLate || report["undelivered"] == 0)
      #expect(report["trouble"].string?.contains("did not answer at the end") == true)
      let junit = try directory.contents(of: "j.xml")
      #expect(junit.contains("<error") && !junit.contains("<failure"))
      await relay.stop()
    }
  }

  @Test func `a comparison that does not end is a difference, not a loss`() async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      // The second session is the one that compares.
      try await withFlood("unsynced", ["--port", emulator.port, "--from", "2"]) { port in
        let ending = try await run("soak", "-p", port, "--duration", "2s", "--rate", "20", "--json")
        let isLate = ending.errors.contains("this computer was late")
        #expect(ending.status == .exited(isLate ? 18 : 1), "\(ending.errors)")
        let report = try JSON(parsing: ending.output)
        #expect(report["check"] == "none" && report["lost"] == 0)
        #expect(report["differences"] == (isLate ? 0 : 1))
        // A computer that is late may lose the only session that delivers.
        let delivered = try #require(report["delivered"].number)
        #expect(isLate || (report["undelivered"] == 0 && delivered > 0))
      }
    }
  }

  @Test func `a device without identities is refused`() async throws {
    try await withEmulator("--profile", "firmware") { emulator in
      let ending = try await run("soak", "-p", emulator.port, "--duration", "20s", "--json")
      #expect(ending.status == .exited(15))
      #expect(ending.errors.contains("does not support identities"))
    }
  }
}
