import Foundation
import Glibc
import Synchronization
import Testing

/// `att:` as a port: the commands over a connection without a session, and both bearers of a board.
@Suite(.inTurn) struct ConnectionPortTests {
  private static let line = #"{"app":"a","title":"t","text":"x","timestamp":1}"# + "\n"

  /// Runs `body` with an emulator and the name of its attribute socket.
  private func withAttributes(
    _ options: [String] = [], _ body: (Emulator, _ port: String) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("att")
    let emulator = try await Emulator(["--att", "unix:\(path)"] + options, in: directory)
    do {
      try await body(emulator, "att:\(path)")
    } catch {
      await emulator.stop()
      throw error
    }
    await emulator.stop()
  }

  @Test func `a notification is sent and counted, as over the port`() async throws {
    try await withAttributes { emulator, port in
      let sent = try await run("send", "-p", port, "--app", "a", "--title", "t", "x", "--timestamp", "1")
      #expect(sent.output == "accepted\n" && sent.errors == "")
      #expect(try await emulator.stored() == [Self.line.trimmingCharacters(in: .newlines)])
      let many = try await run("send", "-p", port, "--file", "-", "--json", input: Self.line + Self.line)
      #expect(
        try many.lines.map { try JSON(parsing: $0) } == [1, 2].map { ["line": $0, "result": "accepted"] })
      #expect(try await run("count", "-p", port).output == "3\n")
      #expect(try await run("count", "-p", port, "--json").output == "{\"count\":3}\n")
    }
  }

  @Test func `a refusal has the code of a refusal`() async throws {
    try await withAttributes(["--profile", "tiny"]) { emulator, port in
      try await emulator.ask(["command": "fill", "count": 4])
      let lines = String(repeating: Self.line, count: 5)
      let ending = try await run("send", "-p", port, "--file", "-", "--json", input: lines)
      #expect(ending.status == .exited(15))
      #expect(try ending.lines.contains { try JSON(parsing: $0)["attError"] == 17 })
    }
  }

  @Test func `a write without an answer is unknown, which is said once, and is not sent again`() async throws
  {
    let directory = try TemporaryDirectory()
    // The second write is never answered: the connection ends with it.
    let count = Mutex(0)
    let device = try AttributeDevice(directory.file("att")) { pdu in
      guard pdu[0] == 0x12, pdu[1] == 6,
        count.withLock({
          $0 += 1; return $0
        }) == 2
      else {
        return AttributeDevice.usual(pdu)
      }
      return nil
    }
    let lines = String(repeating: Self.line, count: 3)
    let ending = try await run("send", "-p", device.port, "--file", "-", "--json", input: lines)
    device.stop()
    #expect(ending.status == .exited(14))
    let results = try ending.lines.map { try JSON(parsing: $0)["result"].string }
    #expect(results == ["accepted", "unknown", "unsent"])
    #expect(ending.errors.components(separatedBy: "it is not sent again").count == 2, "\(ending.errors)")
    #expect(device.writes.count == 2)
  }

  @Test func `a single notification without an answer ends with the same words`() async throws {
    let directory = try TemporaryDirectory()
    let device = try AttributeDevice(directory.file("att")) {
      $0[0] == 0x12 ? nil : AttributeDevice.usual($0)
    }
    let ending = try await run("send", "-p", device.port, "x")
    device.stop()
    #expect(ending.status == .exited(14) && ending.output == "")
    let words = ["the connection was lost, its outcome is unknown; it is not sent again"]
    #expect(ending.errorLines.count == 1 && words.allSatisfy(ending.errors.contains), "\(ending.errors)")
  }

  /// What a device does that connects, and its exit code.
  static let strange: [(name: String, code: Int32, answer: @Sendable ([UInt8]) -> [[UInt8]]?)] = [
    ("says nothing", 13, { _ in [] }),
    ("ends the connection", 14, { _ in nil }),
    ("answers another request", 14, { _ in [[0x0B, 0, 0]] }),
    ("sends records that are too long", 14, { _ in [[UInt8](repeating: 0x1B, count: 600)] }),
    ("is no Notibot", 15, { $0[0] == 0x02 ? [[0x03, 0x05, 0x02]] : [[0x01, $0[0], 1, 0, 0x0A]] }),
    (
      "floods", 0,
      { pdu in Array(repeating: [0x1B, 3, 0, 1, 0], count: 20_000) + AttributeDevice.usual(pdu) }
    ),
  ]

  @Test(arguments: strange.indices)
  func `whatever a device does that connects, the command ends with one line`(index: Int) async throws {
    let directory = try TemporaryDirectory()
    let (name, code, answer) = Self.strange[index]
    let device = try AttributeDevice(directory.file("att"), answer: answer)
    let ending = try await run("count", "-p", device.port)
    device.stop()
    #expect(ending.status == .exited(code), "\(name): \(ending.errors)")
    #expect(ending.errorLines.count == (code == 0 ? 0 : 1), "\(name): \(ending.errors)")
  }

  @Test func `watch survives a lost connection, and says so once`() async throws {
    try await withAttributes { emulator, port in
      let watch = try Program(["watch", "-p", port, "--json"])
      #expect(try JSON(parsing: try await watch.output.line(0)) == ["event": "count", "count": 0])
      try await emulator.ask(["command": "fill", "count": 2])
      #expect(try JSON(parsing: try await watch.output.line(1)) == ["event": "count", "count": 2])
      try await emulator.ask(["command": "reboot"])
      let lost = try JSON(parsing: try await watch.output.line(2))
      #expect(lost == ["event": "disconnected", "reason": "the connection was lost"])
      #expect(try JSON(parsing: try await watch.output.line(3)) == ["event": "reconnected"])
      #expect(try JSON(parsing: try await watch.output.line(4)) == ["event": "count", "count": 0])
      try await emulator.ask(["command": "fill", "count": 3])
      #expect(try JSON(parsing: try await watch.output.line(5)) == ["event": "count", "count": 3])
      watch.send(SIGTERM)
      #expect(await watch.ending().status == .exited(143))
    }
  }

  @Test func `watch gives up when nothing listens any more`() async throws {
    try await withAttributes { emulator, port in
      let watch = try Program(["watch", "-p", port])
      _ = try await watch.output.line(0)
      await emulator.stop()
      let ending = await watch.ending()
      #expect(ending.status == .exited(14))
      #expect(ending.lines == ["count 0", "disconnected the connection was lost"])
      #expect(ending.errorLines.count == 1 && ending.errors.contains("gave up connecting to \(port) again"))
    }
  }

  @Test func `bench measures it`() async throws {
    try await withAttributes(["--profile", "bench"]) { _, port in
      let ending = try await run("bench", "-p", port, "--count", "200", "--trips", "20", "--json")
      let report = try JSON(parsing: ending.output)
      #expect(report["accepted"] == 200 && report["path"] == "connection" && report["resends"] == 0)
    }
  }

  @Test(arguments: [
    (["watch", "--text"], "no console text"), (["count", "-b", "115200"], "no rate"),
    (["bench", "--commands", "1"], "no modem lines"), (["bench", "--line-rate", "9600"], "no rate"),
    (["forward", "--outbox", "/tmp/notibot-no-outbox"], "no session"),
    (["ask", "--title", "t", "--actions", "Yes,No"], "no session"),
    (["soak", "--duration", "1"], "no session"), (["share"], "no session"), (["monitor"], "no session"),
    (["reset"], "no session"), (["proxy"], "no session"),
  ])
  func `what needs a session or a line is refused with the reason`(words: [String], reason: String)
    async throws
  {
    for port in ["att:/tmp/x", "ble:Notibot@hci0"] {
      let ending = try await Program(words + ["-p", port]).ending()
      #expect(ending.status == .exited(2), "\(ending.errors)")
      #expect(ending.errorLines.count == 1 && ending.errors.contains(reason), "\(ending.errors)")
    }
  }

  @Test func `a socket that nobody serves is noBoard, with the remedy`() async throws {
    let ending = try await run("count", "-p", "att:/tmp/notibot-nobody-listens-here")
    #expect(ending.status == .exited(10))
    #expect(ending.errorLines.count == 1 && ending.errors.contains("emulate --att unix:"))
  }

  @Test func `a connection too many is one line`() async throws {
    try await withAttributes { _, port in
      var watchers: [Program] = []
      for _ in 0..<4 { watchers.append(try Program(["watch", "-p", port, "--json"])) }
      for watcher in watchers { _ = try await watcher.output.line(0) }
      // Whether the end comes before the first request is a matter of chance.
      for _ in 0..<8 {
        let ending = try await run("count", "-p", port)
        #expect(ending.status == .exited(14) && ending.errorLines.count == 1, "\(ending.errors)")
        #expect(ending.errors.contains("an emulator has 4"), "\(ending.errors)")
      }
      for watcher in watchers {
        watcher.send(SIGTERM)
        _ = await watcher.ending()
      }
    }
  }

  @Test(arguments: [
    (["-p", "/dev/null", "--server", "stack"], "--server cannot be combined with --port /dev/null"),
    (["-p", "emu:", "--server", "own"], "--server cannot be combined with --port emu:"),
    (["-p", "/dev/null", "-p", "/dev/zero", "--server", "own"], "--server cannot be combined with --port"),
    (["-p", "att:/x", "-b", "9600"], "--baud cannot be combined with --port att:/x"),
    (["--att", "unix:/x", "-b", "9600"], "--baud cannot be combined with --att"),
    (["--rig", "pty", "--server", "own"], "--server cannot be combined with --rig pty"),
    (["-p", "/dev/null", "--also", "att:/x", "--also", "att:/y"], "--also can be given once"),
  ])
  func `an option that the device does not use is refused with the device`(words: [String], reason: String)
    async throws
  {
    let ending = try await Program(["test"] + words).ending()
    #expect(ending.status == .exited(2) && ending.errors.contains(reason), "\(ending.errors)")
  }

  // MARK: Both bearers

  @Test func `both bearers of a device answer alike`() async throws {
    try await withAttributes { emulator, port in
      let ending = try await run(
        "test", "-p", emulator.port, "--also", port, "--control", emulator.control, "--filter", "ATT-1",
        "--json", "-")
      #expect(ending.status == .exited(0), "\(ending.errors)")
      let report = try JSON(parsing: ending.output)
      #expect(report["boards"].elements.map { $0["port"] } == [.string(emulator.port), .string(port)])
      let comparison = report["comparison"]
      #expect(comparison["differences"].elements.isEmpty)
      #expect(comparison["compared"].number ?? 0 > 40)
      #expect(comparison["bearers"] == [.string(emulator.port), .string(port)])
    }
  }

  @Test func `what one bearer answers differently comes first in every report, and fails`() async throws {
    try await withAttributes { emulator, port in
      // Its line accepts what a CCCD must refuse, and names another error for an invalid handle.
      let relay = try Relay(to: emulator) { pdu in
        switch pdu {
        case [0x01, 0x12, 4, 0, 0xFD]: [0x13]
        case _: pdu
        }
      }
      let files = ["junit", "json", "html"].map { emulator.directory.file($0) }
      let words = ["test", "-p", relay.port, "--also", port, "--filter", "^ATT-12/"]
      let reports = ["--junit", files[0], "--json", files[1], "--html", files[2]]
      var ending = try await Program(words + reports).ending()
      // A busy computer decides nothing.
      for _ in 1...10 where ending.status == .exited(18) {
        ending = try await Program(words + reports).ending()
      }
      await relay.stop()
      #expect(ending.status == .exited(1))
      let end = try #require(ending.lines.firstIndex { $0.hasPrefix("Differences: ") })
      let first = Array(ending.lines[(end + 1)...].prefix(3))
      try #require(first.count == 3, "\(ending.errors)")
      #expect(first[0].contains("ATT-12/"))
      #expect(first[1].contains(relay.port) && first[1].contains("failed"))
      #expect(first[2].contains(port) && first[2].contains("passed"))
      let texts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
      for path in files { unlink(path) }
      #expect(try #require(texts[0].firstRange(of: "<testsuite name")).upperBound < texts[0].endIndex)
      #expect(
        try #require(texts[0].firstRange(of: "classname=\"bearers\"")).lowerBound
          < #require(texts[0].firstRange(of: "classname=\"port")).lowerBound)
      let difference = try JSON(parsing: texts[1])["comparison"]["differences"].elements
      #expect(difference.first?["columns"].elements.map { $0["outcome"] } == ["failed", "passed"])
      #expect(
        try #require(texts[2].firstRange(of: "Differences")).lowerBound
          < #require(texts[2].firstRange(of: "Not passed</h2>")).lowerBound)
    }
  }

  @Test(arguments: [
    (["-p", "emu:", "--also", "att:/x"], "a device that this command starts"),
    (["--rig", "pty", "--also", "att:/x"], "a device that this command starts"),
    (["-p", "/dev/null", "--also", "/dev/null"], "it compares with a connection"),
    (["-p", "/dev/null", "-p", "/dev/zero", "--also", "att:/x"], "cannot be used with several boards"),
  ])
  func `two bearers need a device that has both`(words: [String], reason: String) async throws {
    let ending = try await Program(["test"] + words).ending()
    #expect(ending.status == .exited(2) && ending.errors.contains(reason), "\(ending.errors)")
  }
}
