import Foundation
import Glibc
import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

@Suite(.serialized)
struct ControlServerTests {
  /// A connection for bytes that `ControlClient` would not send.
  private struct RawClient {
    private let connection: UnixConnection

    init(_ path: String) throws {
      connection = try UnixConnection(path)
    }

    func send(_ text: String) { connection.send(Array(text.utf8)) }

    /// This many lines, or fewer if the connection ends.
    func lines(_ count: Int) async -> [String] {
      await connection.reading { connection in
        var bytes: [UInt8] = []
        while bytes.count(where: { $0 == 0x0A }) < count {
          let more = connection.readSome()
          if more.isEmpty { break }
          bytes += more
        }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
      }
    }
  }

  private func withControl(
    _ body: (ControlClient, EmulatorServer, String) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let socket = directory.file("control")
    try await withEmulator(control: socket) { server, path in
      try await body(ControlClient(path: socket), server, path)
    }
    #expect(directory.names.isEmpty)
  }

  @Test func `only its owner can use the socket`() async throws {
    try await withControl { client, _, _ in
      #expect(mode(of: client.path) == S_IFSOCK | 0o600)
    }
  }

  @Test func `a wait is answered when its condition holds`() async throws {
    try await withControl { client, server, _ in
      let request = try ControlRequest(words: ["wait", "stored>=7"])
      async let reply = client.send(request, timeout: .seconds(60))
      _ = await server.perform(.fill(6))
      _ = await server.perform(.fill(7))
      #expect(try await reply.ok)
      #expect(try await client.send(ControlRequest(words: ["wait", "chip=running"])).ok)
    }
  }

  @Test func `a wait ends with the emulator`() async throws {
    try await withControl { _, server, _ in
      let condition = try #require(DeviceCondition(parsing: "stored=7"))
      async let reply = server.wait(for: condition)
      await server.stop()
      #expect(await reply.error == "the emulator has stopped")
    }
  }

  @Test func `each command has the documented effect`() async throws {
    try await withControl { client, server, path in
      let host = try HostPort(path)
      let session = try host.openSession()
      try host.write(.data, channel: .att, session: session, payload: [0x02, 0x05, 0x02])
      try host.write(
        .data, channel: .att, session: session, sequence: 1,
        payload: [0x12, 0x06, 0x00] + Array(sampleJSON.utf8))
      _ = try (0..<2).map { _ in try host.nextFrame(.data) }
      #expect(try await client.perform(.list(from: nil)).items == [.init(item: 1, json: sampleJSON)])
      #expect(try await client.perform(.fill(7)).ok)
      #expect(try await client.perform(.statistics).statistics?.count == 8)
      #expect(try await client.perform(.dismiss(1)).ok)
      #expect(try await client.perform(.dismiss(1)).error == "there is no notification 1")
      #expect(try await client.perform(.mode(.firmware)).ok)
      #expect(try await client.perform(.stall).ok)
      let statistics = try #require(try await client.perform(.statistics).statistics)
      #expect(statistics.isStalled)
      #expect(statistics.mode == "firmware")
      #expect(statistics.count == 7)
      #expect(try await client.perform(.resume).ok)
      #expect(try await client.perform(.unplug).ok)
      #expect(await server.portPath == nil)
      #expect(try await client.perform(.plug).port == (await server.portPath))
      #expect(try await client.perform(.reboot(.brownout)).ok)
    }
  }

  @Test func `requests of one connection are answered in order`() async throws {
    try await withControl { client, _, _ in
      let raw = try RawClient(client.path)
      raw.send(
        "{\"command\":\"fill\",\"count\":3}\n{\"command\":\"dismiss\",\"item\":9}\n{\"command\":\"clear\"}\n")
      #expect(
        await raw.lines(3) == [
          #"{"ok":true}"#, #"{"error":"there is no notification 9","ok":false}"#, #"{"ok":true}"#,
        ])
    }
  }

  @Test(arguments: [
    ("{\"command\":\"fly\"}", "unknown command"), ("{\"command\":\"dismiss\"}", "'dismiss' needs 'item'"),
    ("{\"command\":\"fill\",\"count\":-1}", "count is 0 to"),
    ("{\"command\":\"reboot\",\"reason\":\"x\"}", "unknown reset"),
    ("{\"command\":\"mode\",\"mode\":\"x\"}", "a mode is"), ("[]", "this is not a request"),
    ("{\"command\":7}", "this is not a request"), ("", "this is not a request"),
    ("\u{0}\u{1}", "this is not a request"),
    (String(repeating: "[", count: 10_000), "this is not a request"),
  ])
  func `an invalid request is refused with a reason`(line: String, reason: String) async throws {
    try await withControl { client, _, _ in
      let raw = try RawClient(client.path)
      raw.send(line + "\n")
      let answer = try #require(await raw.lines(1).first)
      #expect(answer.hasPrefix(#"{"error":"\#(reason)"#), "\(answer)")
    }
  }

  @Test func `a line that is too long closes only its connection`() async throws {
    try await withControl { client, _, _ in
      let raw = try RawClient(client.path)
      for _ in 0..<20 { raw.send(String(repeating: "x", count: 4096)) }
      let refusal = #"{"error":"the request is longer than 16384 bytes","ok":false}"#
      #expect(await raw.lines(1) == [refusal])
      #expect(try await client.perform(.statistics).ok)
    }
  }

  // MARK: Paths

  @Test func `the socket of a killed emulator is replaced`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("control")
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    _ = withUnsafePointer(to: address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    close(descriptor)
    #expect(directory.names == ["control"])
    try await withEmulator(control: path) { _, _ in
      let reply = try await ControlClient(path: path).perform(.statistics)
      #expect(reply.ok)
    }
  }

  @Test func `the socket of a running emulator, and a file, are left alone`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("control")
    try await withEmulator(control: path) { _, _ in
      await #expect(throws: PortError.self) { try await withEmulator(control: path) { _, _ in } }
      let reply = try await ControlClient(path: path).perform(.statistics)
      #expect(reply.ok)
    }
    try Data("mine".utf8).write(to: URL(fileURLWithPath: path))
    await #expect(throws: PortError.self) { try await withEmulator(control: path) { _, _ in } }
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "mine")
  }

  @Test func `a path that is too long for a socket is refused`() async throws {
    let path = "/tmp/" + String(repeating: "x", count: 100)
    await #expect(throws: PortError.self) { try await withEmulator(control: path) { _, _ in } }
    await #expect(throws: Failure.self) {
      try await ControlClient(path: path + path).perform(.unplug)
    }
  }

  @Test func `a socket without a listener is reported`() async throws {
    let client = ControlClient(path: "/tmp/notibot-nobody-\(getpid())")
    let error = await #expect(throws: Failure.self) { try await client.perform(.unplug) }
    #expect(error?.kind == .noBoard)
    #expect(error?.message == "cannot connect to \(client.path): No such file or directory")
  }

  // MARK: Words

  static let commands: [([String], DeviceCommand)] = [
    (["unplug"], .unplug), (["plug"], .plug), (["reboot"], .reboot(.software)),
    (["reboot", "panic"], .reboot(.panic)), (["dismiss", "3"], .dismiss(3)),
    (["action", "3", "1"], .action(3, 1)), (["fill", "65535"], .fill(65_535)),
    (["clear"], .clear), (["stall"], .stall), (["resume"], .resume),
    (["log", "half", "past"], .log("half past")), (["mode", "firmware"], .mode(.firmware)),
    (["faults", "off"], .faults(.off)),
    (["faults", "flip@9"], .faults(FaultSpec(rules: [.init(.flip, .at(byte: 9))]))),
    (["flash-faults", "off"], .loaderFaults(.off)),
    (["stats"], .statistics), (["list"], .list(from: nil)),
    (["list", "7"], .list(from: 7)), (["close"], .close),
  ]

  /// `wait` is a query of the socket, not a command of the device.
  @Test func `each command that the help lists has an example here`() {
    let listed = ControlRequest.forms.compactMap { $0.words.split(separator: " ").first.map(String.init) }
    #expect(Set(listed).subtracting(["wait"]) == Set(Self.commands.compactMap(\.0.first)))
  }

  @Test(arguments: commands)
  func `words are parsed to the command they name, and its request is formatted the same`(
    words: [String], command: DeviceCommand
  ) throws {
    let request = try ControlRequest(words: words)
    #expect(try request.parsed() == command)
    #expect(try ControlRequest(command).parsed() == command)
  }

  @Test(arguments: [
    [], ["fly"], ["dismiss"], ["dismiss", "x"], ["dismiss", "-1"], ["dismiss", "1", "2"], ["reboot", "x"],
    ["unplug", "now"], ["fill", "99999999999"], ["mode", "lenient"], ["log"], ["faults"],
    ["faults", "flap=1"], ["wait"], ["wait", "stored"], ["wait", "stored>3"], ["wait", "stored=x"],
    ["wait", "mood=1"],
    ["wait", "chip>=1"],
  ])
  func `words that are not a command are refused`(words: [String]) {
    #expect(throws: Failure.self) { try ControlRequest(words: words) }
  }
}
