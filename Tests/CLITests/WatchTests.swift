import Glibc
import Testing

/// `notibot watch`, and the end of interrupted commands.
@Suite(.inTurn) struct WatchTests {
  private func startWatch(_ emulator: Emulator, json: Bool = true) async throws -> Program {
    let watch = try Program(["watch", "-p", emulator.port] + (json ? ["--json"] : []))
    _ = try await watch.output.line(0)
    return watch
  }

  @Test func `the count comes first, then changes and events as they happen`() async throws {
    try await withEmulator { emulator in
      #expect(try await run("send", "-p", emulator.port, "--app", "a").status == .exited(0))
      let watch = try await startWatch(emulator)
      #expect(try JSON(parsing: try await watch.output.line(0)) == ["event": "count", "count": 1])
      try await emulator.ask(["command": "fill", "count": 2])
      #expect(try JSON(parsing: try await watch.output.line(1)) == ["event": "count", "count": 3])
      try await emulator.ask(["command": "action", "item": 1, "act": 2])
      #expect(
        try JSON(parsing: try await watch.output.line(2)) == ["event": "action", "item": 1, "action": 2])
      try await emulator.ask(["command": "dismiss", "item": 1])
      let last = try [JSON(parsing: await watch.output.line(3)), JSON(parsing: await watch.output.line(4))]
      #expect(last.contains(["event": "count", "count": 2]))
      #expect(last.contains(["event": "dismissed", "item": 1]))
      watch.send(SIGTERM)
      _ = await watch.ending()
    }
  }

  @Test func `without --json each event is a line of words`() async throws {
    try await withEmulator { emulator in
      let watch = try await startWatch(emulator, json: false)
      #expect(try await watch.output.line(0) == "count 0")
      try await emulator.ask(["command": "fill", "count": 7])
      #expect(try await watch.output.line(1) == "count 7")
    }
  }

  @Test(arguments: [[], ["--json"]])
  func `console text is shown on request, without terminal controls`(options: [String])
    async throws
  {
    try await withEmulator("--profile", "quiet") { emulator in
      let watch = try Program(["watch", "--text", "-p", emulator.port] + options)
      _ = try await watch.output.line(0)
      let text = "\u{1B}[2J\u{1B}]52;c;b3duZWQ=\u{7} \u{9B}2J \u{202E}end"
      try await emulator.ask(["command": "log", "text": .string(text)])
      let line = try await watch.output.line(1)
      let shown = options.isEmpty ? line : try JSON(parsing: line)["data"].string
      #expect(shown?.hasSuffix(options.isEmpty ? "end" : text) == true)
      #expect(!line.hasControls)
    }
  }

  @Test func `a restart is reported, and the watch continues with the new count`() async throws {
    try await withEmulator { emulator in
      let watch = try await startWatch(emulator)
      try await emulator.ask(["command": "fill", "count": 1])
      #expect(try JSON(parsing: try await watch.output.line(1))["count"] == 1)
      let bootID = try await emulator.statistics()["bootID"]
      try await emulator.ask(["command": "reboot", "reason": "panic"])
      #expect(try JSON(parsing: try await watch.output.line(2))["event"] == "restarted")
      let reconnected = try JSON(parsing: try await watch.output.line(3))
      #expect(reconnected["event"] == "reconnected")
      let newBootID = try #require(reconnected["bootID"].string.flatMap { UInt32($0, radix: 16) })
      #expect(try await emulator.statistics()["bootID"] == .number(Double(newBootID)))
      #expect(bootID != .number(Double(newBootID)))
      #expect(try JSON(parsing: try await watch.output.line(4)) == ["event": "count", "count": 0])
      try await emulator.ask(["command": "fill", "count": 3])
      #expect(try JSON(parsing: try await watch.output.line(5)) == ["event": "count", "count": 3])
    }
  }

  @Test func `a session that the device closes is opened again`() async throws {
    try await withEmulator { emulator in
      let watch = try await startWatch(emulator)
      try await emulator.ask(["command": "close"])
      #expect(try JSON(parsing: try await watch.output.line(1))["event"] == "disconnected")
      #expect(try JSON(parsing: try await watch.output.line(2))["event"] == "reconnected")
    }
  }

  @Test func `unplugging ends it with a lost link, and the device is unchanged after replugging`()
    async throws
  {
    try await withEmulator { emulator in
      #expect(try await run("send", "-p", emulator.port, "--app", "a").status == .exited(0))
      let watch = try await startWatch(emulator)
      try await emulator.ask(["command": "unplug"])
      let ending = await watch.ending()
      #expect(ending.status == .exited(14))
      #expect(ending.lines.count == 1)
      #expect(ending.errorLines.count == 1)
      #expect(ending.errors.contains(emulator.port) && ending.errors.contains("was disconnected"))
      #expect(try await run("count", "-p", emulator.port).status == .exited(10))
      #expect(try await emulator.ask(["command": "plug"])["port"] == .string(emulator.port))
      #expect(try await run("count", "-p", emulator.port).output == "1\n")
    }
  }

  @Test(arguments: [(SIGINT, 130, "interrupted"), (SIGTERM, 143, "terminated")])
  func `a signal ends it with its number, the session closed and the port free`(
    signal: Int32, code: Int32, word: String
  ) async throws {
    try await withEmulator { emulator in
      let watch = try await startWatch(emulator)
      #expect(try await emulator.statistics()["session"] != .null)
      watch.send(signal)
      let ending = await watch.ending()
      #expect(ending.status == .exited(code))
      #expect(ending.errors == "notibot: \(word)\n")
      try await expectFree(emulator)
    }
  }

  @Test func `a signal ends a send that waits for its input`() async throws {
    try await withEmulator { emulator in
      let send = try Program(["send", "-p", emulator.port, "--file", "-", "--json"], input: nil)
      send.write(#"{"app":"a","title":"t","text":"x","timestamp":1}"# + "\n")
      #expect(try JSON(parsing: try await send.output.line(0)) == ["line": 1, "result": "accepted"])
      send.send(SIGINT)
      let ending = await send.ending()
      #expect(ending.status == .exited(130))
      #expect(ending.lines.count == 1 && ending.errors == "notibot: interrupted\n")
      try await expectFree(emulator)
    }
  }

  @Test func `a request in flight at a signal has an unknown outcome`() async throws {
    try await withEmulator { emulator in
      let send = try Program(["send", "-p", emulator.port, "--file", "-", "--json"], input: nil)
      let line = #"{"app":"a","title":"t","text":"x","timestamp":1}"# + "\n"
      send.write(line)
      _ = try await send.output.line(0)
      try await emulator.ask(["command": "stall"])
      let before = try await emulator.statistics()["link"]["dataReceived"].number ?? 0
      send.write(line)
      try await emulator.wait(for: "data>=\(Int(before) + 1)")
      send.send(SIGTERM)
      let ending = await send.ending()
      #expect(ending.status == .exited(143))
      let last = try JSON(parsing: try #require(ending.lines.last))
      #expect(last["line"] == 2 && last["result"] == "unknown")
    }
  }

  @Test func `a signal ends the wait for an answer`() async throws {
    let (stream, sink) = AsyncStream<Void>.makeStream()
    let terminal = try ControlledTerminal { _, _ in sink.yield() }
    let count = try Program(["count", "-p", terminal.path, "--timeout", "60"])
    for await _ in stream { break }
    count.send(SIGINT)
    let ending = await count.ending()
    #expect(ending.status == .exited(130))
    #expect(ending.output == "" && ending.errors == "notibot: interrupted\n")
  }

  @Test func `a signal ends a bench and a second command can follow`() async throws {
    try await withEmulator("--profile", "bench") { emulator in
      let bench = try Program(["bench", "-p", emulator.port, "--count", "10000000"])
      try await emulator.wait(for: "count>=101")
      bench.send(SIGTERM)
      #expect(await bench.ending().status == .exited(143))
      try await expectFree(emulator)
    }
  }
}
