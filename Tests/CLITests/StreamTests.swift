import Foundation
import Glibc
import Testing

/// Data on stdout, everything else on stderr; with `--json` one document, or one per line, and
/// nothing else.
@Suite(.inTurn) struct StreamTests {
  @Test func `a count is a number on stdout and nothing else`() async throws {
    let ending = try await run("count", "-p", "emu:")
    #expect(ending.status == .exited(0))
    #expect(ending.output == "0\n")
    #expect(ending.errors == "")
  }

  @Test(arguments: [
    ["count", "--json", "-p", "emu:"], ["devices", "--json"], ["emulate", "--list-profiles", "--json"],
    ["send", "--json", "--app", "a", "-p", "emu:"],
    ["test", "--rig", "emulator", "--filter", "FRM-1/", "--json", "-"],
    ["bench", "--json", "--count", "50", "--trips", "5", "-p", "emu:bench"],
  ])
  func `json is one document and nothing else`(arguments: [String]) async throws {
    let ending = try await Program(arguments).ending()
    #expect(ending.status == .exited(0))
    #expect(throws: Never.self) { try JSON(parsing: ending.output) }
    #expect(ending.output.hasSuffix("\n"))
    #expect(!ending.output.hasControls)
  }

  @Test func `the report moves to stderr when stdout has the JSON`() async throws {
    let ending = try await run("test", "--rig", "emulator", "--filter", "FRM-1/", "--verbose", "--json", "-")
    #expect(try JSON(parsing: ending.output)["schema"] == "notibot.conformance")
    #expect(ending.errorLines.contains { $0.hasPrefix("  ok ") })
  }

  @Test func `without a terminal there are no escape sequences and no carriage returns`() async throws {
    let report = try await run(
      "test", "--rig", "emulator", "--filter", "FRM-1/", environment: ["TERM": "xterm"])
    #expect(report.status == .exited(0))
    #expect(!report.output.hasControls && !report.errors.hasControls)
  }

  @Test(arguments: [
    (["TERM": "xterm"], true), (["TERM": "xterm", "NO_COLOR": ""], true),
    (["TERM": "xterm", "NO_COLOR": "1"], false), (["TERM": "dumb"], false),
  ])
  func `colour is for terminals of users who want it`(environment: [String: String], isColoured: Bool)
    async throws
  {
    let ending = try await run(
      "test", "--rig", "emulator", "--filter", "FRM-1/", "-v", environment: environment, streams: .terminal)
    #expect(ending.status == .exited(0))
    #expect(ending.output.contains("FRM-1/"))
    #expect(ending.output.contains("\u{1B}[") == isColoured)
  }

  @Test func `a long file is reported at every tenth in a log, without redrawing`() async throws {
    let directory = try TemporaryDirectory()
    let line =
      #"{"app":"Messages","title":"Jane Doe","text":"\#(String(repeating: "x", count: 300))","timestamp":1}"#
    let file = try directory.write(String(repeating: line + "\n", count: 1000), to: "lines")
    let ending = try await run("send", "-p", "emu:bench", "--file", file)
    #expect(ending.status == .exited(0))
    #expect(ending.output == "1000 accepted, 0 refused\n")
    #expect((1...10).contains(ending.errorLines.count))
    #expect(ending.errorLines.allSatisfy { $0.hasPrefix("sending: ") && $0.contains("0 % (") })
    #expect(!ending.errors.hasControls)
  }

  @Test func `a closed pipe ends the program like any filter, and the port is free`()
    async throws
  {
    try await withEmulator { emulator in
      let watch = try Program(["watch", "--json", "-p", emulator.port])
      _ = try await watch.output.line(0)
      await watch.stopReading()
      try await emulator.ask(["command": "fill", "count": 5])
      let ending = await watch.ending()
      #expect(ending.status == .killed(signal: SIGPIPE))
      #expect(ending.errors == "")
      try await expectFree(emulator)
    }
  }

  @Test(arguments: [["count", "-p", "emu:"], ["devices", "--json"], ["--help"], ["test", "--list"]])
  func `output that cannot be written is a failure`(arguments: [String]) async throws {
    let ending = try await Program(arguments, streams: .file("/dev/full")).ending()
    #expect(ending.status == .exited(18))
    #expect(ending.errorLines.count == 1)
    #expect(ending.errors.contains("cannot write to standard output: No space left on device"))
  }

  @Test func `output for a closed stdout reaches neither another file nor the board`() async throws {
    try await withEmulator { emulator in
      let ending = try await run("count", "-p", emulator.port, streams: .closed)
      #expect(ending.status == .exited(18))
      #expect(ending.errors.contains("cannot write to standard output: Bad file descriptor"))
      #expect(try await emulator.statistics()["textBytesReceived"] == 0)
    }
  }

  @Test func `log text of the device stays out of both streams`() async throws {
    try await withEmulator { emulator in
      let watch = try Program(["watch", "--json", "-p", emulator.port])
      _ = try await watch.output.line(0)
      try await emulator.ask(["command": "log", "text": "\u{1B}[2J\u{1B}]52;c;b3duZWQ=\u{7} secret \u{9B}2J"])
      try await emulator.ask(["command": "fill", "count": 1])
      #expect(try JSON(parsing: try await watch.output.line(1)) == ["event": "count", "count": 1])
      watch.send(SIGTERM)
      let ending = await watch.ending()
      #expect(ending.lines.count == 2)
      #expect(ending.errors == "notibot: terminated\n")
    }
  }

  @Test func `a stored notification is listed without terminal controls`() async throws {
    try await withEmulator { emulator in
      let hostile = "\u{9B}2J \u{7F} \u{202E}abc"
      let sent = try await run(
        "send", "-p", emulator.port, "--app", "a", "--title", hostile, "--text", "\u{1B}[2J")
      #expect(sent.status == .exited(0))
      let text = try await run("control", "--socket", emulator.control, "list")
      #expect(text.status == .exited(0))
      #expect(text.lines.count == 1 && text.output.contains("a"))
      #expect(!text.output.hasControls)
      let json = try await run("control", "--socket", emulator.control, "list", "--json")
      #expect(!json.output.hasControls)
      let stored = try JSON(parsing: json.output)["items"].elements.first?["json"].string
      #expect(try JSON(parsing: try #require(stored))["title"] == .string(hostile))
    }
  }
}

/// Expects that no session is open and that the port can be used.
func expectFree(_ emulator: Emulator, _ location: SourceLocation = #_sourceLocation) async throws {
  #expect(try await emulator.statistics()["session"] == .null, sourceLocation: location)
  let device = URL(fileURLWithPath: emulator.port).resolvingSymlinksInPath().path
  let lock = "/var/lock/LCK..\(device.dropFirst("/dev/".count).replacing("/", with: "_"))"
  #expect(!FileManager.default.fileExists(atPath: lock), sourceLocation: location)
  #expect(try await run("count", "-p", emulator.port).status == .exited(0), sourceLocation: location)
}
