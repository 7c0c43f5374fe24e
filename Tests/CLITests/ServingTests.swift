import Foundation
import Glibc
import Testing

/// Servers go on when nobody reads their output, when a client takes all places, and when no
/// descriptor is free.
@Suite(.inTurn) struct ServingTests {
  /// A FIFO that is full: a write to it waits until somebody reads.
  private static func fullPipe(in directory: TemporaryDirectory) throws -> (path: String, end: Descriptor) {
    let path = directory.file("full")
    try #require(mkfifo(path, 0o600) == 0)
    let end = try Descriptor.opening(path, O_RDWR | O_NONBLOCK)
    let bytes = [UInt8](repeating: 0x78, count: 4096)
    while Glibc.write(end.number, bytes, bytes.count) > 0 {}
    return (path, end)
  }

  /// Starts `notibot` by a shell, which runs `setting` before and redirects it.
  private static func program(
    _ arguments: [String], setting: String = ":", redirecting: String = ""
  ) throws -> Program {
    try Program(
      ["-c", "\(setting); exec \"$0\" \"$@\" \(redirecting)", Program.notibot] + arguments, program: "/bin/sh"
    )
  }

  @Test func `a shared board is served while nobody reads the server's messages`() async throws {
    try await withEmulator { emulator in
      let (path, end) = try Self.fullPipe(in: emulator.directory)
      defer { end.close() }
      let socket = emulator.directory.file("share")
      let share = try Self.program(
        ["share", "--json", "-p", emulator.port, "--socket", socket], redirecting: "2>'\(path)'")
      _ = try await share.output.line(0)
      try await emulator.ask(["command": "unplug"])
      try await emulator.ask(["command": "plug"])
      let count = try await run("count", "-p", "share:\(socket)")
      #expect(count.status == .exited(0), "\(count.errors)")
      share.send(SIGTERM)
      #expect(await share.ending().status == .exited(143))
    }
  }

  @Test func `clients of forward are served while nobody reads its results`() async throws {
    try await withForwarding { forwarding in
      let directory = forwarding.emulator.directory
      let (path, end) = try Self.fullPipe(in: directory)
      defer { end.close() }
      let socket = directory.file("socket")
      let forward = try Self.program(
        [
          "forward", "-p", forwarding.emulator.port, "--outbox", forwarding.outbox, "--listen",
          "unix:\(socket)",
        ], redirecting: ">'\(path)'")
      try await forward.awaitListening()
      let client = try SocketClient(socket)
      client.write(Forwarding.lines(1...100))
      client.endInput()
      let results = try await client.rest()
      #expect(results.count { $0["result"] == "delivered" } == 100)
      forward.send(SIGTERM)
      #expect(await forward.ending().status == .exited(143))
    }
  }

  @Test func `a client that sends much at once gets all results`() async throws {
    try await withForwarding { forwarding in
      let path = forwarding.emulator.directory.file("socket")
      let forward = try forwarding.start("--listen", "unix:\(path)")
      try await forward.awaitListening()
      let client = try SocketClient(path)
      // Two bytes each, so that one read of the socket has more than any queue.
      client.write(String(repeating: "x\n", count: 100_000))
      client.endInput()
      let results = try await client.rest()
      #expect(results.count == 100_000)
      #expect(results.last?["line"] == 100_000)
    }
  }

  @Test func `a client of forward beyond the limit takes the place of one that waits for nothing`()
    async throws
  {
    try await withForwarding { forwarding in
      let path = forwarding.emulator.directory.file("socket")
      let forward = try forwarding.start("--listen", "unix:\(path)")
      try await forward.awaitListening()
      try await forwarding.emulator.ask(["command": "unplug"])
      let present = try (1...64).map { _ in try SocketClient(path) }
      for client in present.dropFirst() {
        client.write(Forwarding.line("1") + "\n")
        #expect(try await client.answer(0)["result"] == "queued")
      }
      let next = try SocketClient(path)
      #expect(try await present[0].rest() == [])
      next.write(Forwarding.line("2") + "\n")
      #expect(try await next.answer(0)["result"] == "queued")
      // Now each waits for a result.
      let turnedAway = try await SocketClient(path).rest()
      #expect(turnedAway.map { $0["reason"] } == ["already 64 clients are connected"])
      try await forwarding.emulator.ask(["command": "plug"])
      #expect(try await present[63].answer(1)["result"] == "delivered")
      #expect(try await next.answer(1)["result"] == "delivered")
    }
  }

  @Test func `a client of share beyond the limit takes the place of one that is only connected`()
    async throws
  {
    try await withShare { share in
      let present = try (1...64).map { _ in try SocketClient(share.path) }
      for client in present { _ = try await client.answer(0) }
      present[0].write(#"{"op":"events"}"# + "\n")
      #expect(try await present[0].answer(1)["ok"] == true)
      let next = try SocketClient(share.path)
      let last = try await present[1].rest().last
      #expect(last?["error"]["exit"] == 11)
      next.write(#"{"op":"count"}"# + "\n")
      #expect(try await next.answer(1)["count"] == 0)
      present[0].write(#"{"op":"status"}"# + "\n")
      #expect(try await present[0].answer(2)["ok"] == true)
    }
  }

  @Test func `without a free descriptor a server reports that once, and accepts again`() async throws {
    let directory = try TemporaryDirectory()
    let socket = directory.file("control")
    let emulate = try Self.program(
      ["emulate", "--link", directory.file("port"), "--control", socket], setting: "ulimit -n 256")
    _ = try await emulate.output.line(0)
    let held = try (1...300).map { _ in try SocketClient.deaf(socket) }
    #expect(await emulate.errors.contains("cannot accept connections: Too many open files"))
    held.forEach { $0.close() }
    var answer = try await run("control", "--socket", socket, "stats")
    // It tries again each second.
    for _ in 1...60 where answer.status != .exited(0) {
      answer = try await run("control", "--socket", socket, "stats")
    }
    #expect(answer.status == .exited(0), "\(answer.errors)")
    emulate.send(SIGTERM)
    let ending = await emulate.ending()
    #expect(ending.errorLines.count { $0.hasPrefix("cannot accept connections") } == 1)
  }

  @Test func `members of a group can use the socket of forward`() async throws {
    try await withForwarding { forwarding in
      let path = forwarding.emulator.directory.file("socket")
      let group = try #require(getgrgid(getegid()).map { String(cString: $0.pointee.gr_name) })
      let forward = try forwarding.start("--listen", "unix:\(path)", "--group", group)
      try await forward.awaitListening()
      var status = stat()
      #expect(stat(path, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o660 && status.st_gid == getegid())
      forward.send(SIGTERM)
      _ = await forward.ending()
      let ending = try await forwarding.run("--listen", "unix:\(path)", "--group", "no-such-group")
      #expect(ending.status == .exited(2))
      #expect(ending.errors.contains("there is no group 'no-such-group'"))
    }
  }
}
