import Foundation
import Glibc
import Testing

/// `notibot control`: out of band, independent of the line.
@Suite(.inTurn) struct ControlTests {
  private func control(_ emulator: Emulator, _ words: String...) async throws -> Program.Ending {
    try await Program(["control", "--socket", emulator.control] + words).ending()
  }

  @Test func `commands are confirmed, queries are answered`() async throws {
    try await withEmulator { emulator in
      let fill = try await control(emulator, "fill", "3")
      #expect(fill.status == .exited(0))
      #expect(fill.output == "" && fill.errors == "done: fill 3\n")
      #expect(try await run("count", "-p", emulator.port).output == "3\n")
      let statistics = try await control(emulator, "stats")
      #expect(try JSON(parsing: statistics.output)["count"] == 3)
      let json = try await control(emulator, "stats", "--json")
      #expect(json.lines.count == 1)
      #expect(try JSON(parsing: json.output)["statistics"]["count"] == 3)
    }
  }

  @Test func `unplug and plug move the line, and report its path`() async throws {
    try await withEmulator { emulator in
      #expect(try await control(emulator, "unplug").status == .exited(0))
      #expect(!emulator.directory.has("port"))
      #expect(try await control(emulator, "unplug").status == .exited(15))
      let plug = try await control(emulator, "plug")
      #expect(plug.status == .exited(0))
      #expect(plug.output == emulator.port + "\n")
      #expect(try await run("count", "-p", emulator.port).status == .exited(0))
    }
  }

  @Test(arguments: [
    (["plug"], "plugged in already"), (["dismiss", "9"], "no notification 9"),
    (["action", "1", "0"], "no notification 1"),
    (["fill", "10000001"], "10000000"), (["reboot", "boredom"], "unknown reset reason; known are: "),
  ])
  func `an impossible request is refused with the reason`(words: [String], reason: String) async throws {
    try await withEmulator { emulator in
      let ending = try await Program(["control", "--socket", emulator.control] + words).ending()
      #expect([.exited(15), .exited(2)].contains(ending.status))
      #expect(ending.output == "")
      #expect(ending.errorLines.count == 1)
      #expect(ending.errors.contains(reason), "\(ending.errors)")
    }
  }

  @Test func `a refusal is also a document`() async throws {
    try await withEmulator { emulator in
      let ending = try await control(emulator, "plug", "--json")
      #expect(ending.status == .exited(15))
      #expect(try JSON(parsing: ending.output)["ok"] == false)
      #expect(ending.errorLines.count == 1)
    }
  }

  @Test(arguments: [
    ["bogus"], ["dismiss"], ["dismiss", "x"], ["unplug", "now"], ["mode", "lazy"], ["log"],
  ])
  func `an unknown command is a usage error, before a connection`(words: [String]) async throws {
    let ending = try await Program(["control", "--socket", "/no/such/socket"] + words).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
    #expect(ending.errorLines.count == 1)
  }

  @Test func `without a listener the hint is how to start an emulator`() async throws {
    let directory = try TemporaryDirectory()
    let killed = try await Emulator(in: directory)
    killed.program.send(SIGKILL)
    _ = await killed.program.ending()
    for path in [directory.file("control"), directory.file("nothing"), try directory.write("", to: "file")] {
      let ending = try await run("control", "--socket", path, "stats")
      #expect(ending.status == .exited(10))
      #expect(ending.errorLines.count == 1)
      #expect(ending.errors.contains("cannot connect to \(path)"))
      #expect(ending.errors.contains("notibot emulate --control \(path)"))
    }
  }

  @Test(
    .enabled(if: Privilege.canBeGivenUp, "setpriv cannot take the right to open everything from root here"))
  func `a socket of another user is a missing permission, not a missing emulator`() async throws {
    try await withEmulator { emulator in
      chmod(emulator.control, 0)
      let ending = try await Privilege.run(["control", "--socket", emulator.control, "stats"])
      #expect(ending.status == .exited(12))
      #expect(ending.errors.contains("\(emulator.control): permission denied"))
    }
  }

  @Test func `a path other than a socket is refused`() async throws {
    let path = "/tmp/" + String(repeating: "x", count: 200)
    let ending = try await run("control", "--socket", path, "stats")
    #expect(ending.status == .exited(10))
    #expect(ending.errors.contains("too long"))
  }

  @Test(arguments: ["", "{", "[]", "{\"command\":7}", "{\"command\":\"bogus\"}", "\u{0}\u{1}\u{1B}[2J"])
  func `an invalid request is answered, and the emulator keeps running`(line: String) async throws {
    try await withEmulator { emulator in
      let path = emulator.control
      let answer = try await onThread { try UnixSocket.exchange(line + "\n", at: path) }
      #expect(try JSON(parsing: answer)["ok"] == false)
      #expect(try await emulator.statistics()["count"] == 0)
    }
  }

  @Test(arguments: [(1 << 20, ""), (16_385, ""), (32_000, "\n")])
  func `a request that is too long is refused, and the emulator keeps running`(
    bytes: Int, end: String
  ) async throws {
    try await withEmulator { emulator in
      let path = emulator.control
      let answer = try await onThread {
        try UnixSocket.exchange(String(repeating: "x", count: bytes) + end, at: path)
      }
      #expect(answer == #"{"error":"the request is longer than 16384 bytes","ok":false}"#)
      #expect(try await emulator.statistics()["count"] == 0)
    }
  }
}
