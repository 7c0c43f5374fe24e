import Glibc
import Synchronization
import Testing

/// A malicious device that speaks the protocol.
@Suite(.inTurn) struct HostileDeviceTests {
  /// Clears the screen, sets the window title, writes to the clipboard, and reverses text.
  private static let sequences =
    "\u{1B}[2J\u{1B}]0;x\u{7}\u{1B}]52;c;eA==\u{7}\u{9B}2J\u{202E}\r\n\u{8}\u{7F}"

  /// Runs `body` with the port of a device whose attribute PDUs are modified in transit.
  private func withRelay(
    change: @escaping @Sendable ([UInt8]) -> [UInt8], body: (Emulator, String) async throws -> Void
  ) async throws {
    try await withEmulator("--profile", "quiet") { emulator in
      let relay = try Relay(to: emulator, change: change)
      do {
        try await body(emulator, relay.port)
        await relay.stop()
      } catch {
        await relay.stop()
        throw error
      }
    }
  }

  @Test func `the relay on its own changes nothing`() async throws {
    try await withRelay(change: { $0 }) { emulator, port in
      try await emulator.ask(["command": "fill", "count": 3])
      #expect(try await run("count", "-p", port).output == "3\n")
    }
  }

  @Test(arguments: [(1, Int32(0)), (.max, 13)])
  func `a test run asks again if its first request is not answered`(
    missing: Int, status: Int32
  ) async throws {
    let answers = Mutex(0)
    // A notification is no answer.
    let change: @Sendable ([UInt8]) -> [UInt8] = { pdu in
      answers.withLock { $0 += 1 }
      return answers.withLock(\.self) <= missing ? [0x1B, 3, 0, 0, 0] : pdu
    }
    try await withRelay(change: change) { _, port in
      let ending = try await run("test", "-p", port, "--filter", "^FRM-1/", "-q")
      #expect(ending.status == .exited(status), "\(ending.errors)")
      #expect(ending.errors.contains(" is not answered") == (status == 13))
    }
  }

  @Test(arguments: [[], ["--json"]])
  func `an event with escape sequences is shown without them`(options: [String]) async throws {
    let hostile = Array(#"{"ev":"\#(Self.sequences)","x":"end"}"#.utf8)
    // 0x1B: notification; 6: Notification Data.
    try await withRelay(change: { $0.starts(with: [0x1B, 6, 0]) ? [0x1B, 6, 0] + hostile : $0 }) {
      emulator, port in
      #expect(try await run("send", "-p", port, "--app", "a").status == .exited(0))
      let watch = try Program(["watch", "-p", port] + options)
      _ = try await watch.output.line(0)
      try await emulator.ask(["command": "action", "item": 1, "act": 0])
      let line = try await watch.output.line(1)
      #expect(line.contains("unknown") && line.contains("end"))
      if options == ["--json"] {
        #expect(try JSON(parsing: line)["data"] == .string(String(decoding: hostile, as: UTF8.self)))
      }
      watch.send(SIGTERM)
      let ending = await watch.ending()
      #expect(ending.lines.count == 2)
      #expect(!ending.output.hasControls && !ending.errors.hasControls)
    }
  }

  @Test func `a count that never moves fails the suite`() async throws {
    // 0x0B: read response; a count has 2 bytes.
    try await withRelay(change: { $0.first == 0x0B && $0.count == 3 ? [0x0B, 0, 0] : $0 }) { _, port in
      let directory = try TemporaryDirectory()
      let ending = try await run(
        "test", "-p", port, "--filter", "^NTF-1/", "--junit", directory.file("j.xml"), "--json", "-")
      // If the computer is too slow for a verdict, the case is an error with that reason; it never
      // passes.
      let junit = try directory.contents(of: "j.xml")
      let isDecided = !ending.output.contains("not decided in ")
      let totals = try JSON(parsing: ending.output)["totals"]
      #expect((totals[isDecided ? "failed" : "errored"].number ?? 0) >= 1)
      #expect(isDecided ? ending.status == .exited(1) : [.exited(1), .exited(18)].contains(ending.status))
      #expect(ending.errorLines.last?.contains(isDecided ? " cases failed" : " cases ") == true)
      #expect(!ending.output.hasControls && !ending.errors.hasControls)
      #expect(junit.contains(isDecided ? "<failure " : "<error "))
    }
  }

  @Test(arguments: [
    [0x0B], [0x0B, 1], [0x0B, 1, 2, 3], [0x13], [0x01], [0x01, 0x0A, 3, 0, 0x1B],
  ])
  func `an invalid answer ends a command with one line`(answer: [UInt8]) async throws {
    try await withRelay(change: { $0.first == 0x0B ? answer : $0 }) { _, port in
      let ending = try await run("count", "-p", port)
      #expect([.exited(13), .exited(14), .exited(15)].contains(ending.status), "\(ending.status)")
      #expect(ending.output == "")
      #expect(ending.errorLines.count == 1)
      #expect(ending.errors.contains(port))
      #expect(!ending.errors.hasControls)
    }
  }
}
