import Foundation
import Glibc
import Testing

/// `notibot forward --listen`: notifications from clients of a unix socket.
@Suite(.inTurn) struct ForwardSocketTests {
  private func withSocket(_ body: (Forwarding, Program, String) async throws -> Void) async throws {
    try await withForwarding { forwarding in
      let path = forwarding.emulator.directory.file("socket")
      let forward = try forwarding.start("--listen", "unix:\(path)")
      try await forward.awaitListening()
      try await body(forwarding, forward, path)
      forward.send(SIGTERM)
      #expect(await forward.ending().status == .exited(143))
      #expect(!forwarding.emulator.directory.has("socket"))
    }
  }

  @Test func `each client gets the results of its own lines only`() async throws {
    try await withSocket { forwarding, forward, path in
      let (first, second) = (try SocketClient(path), try SocketClient(path))
      first.write(Forwarding.lines(1...2))
      #expect(try await first.answer(0)["result"] == "queued")
      #expect(try await first.answer(1)["line"] == 2)
      try await forward.result("delivered", of: 2)
      second.write("bad\n" + Forwarding.line("3") + "\n")
      second.endInput()
      let answers = try await second.rest()
      #expect(answers.compactMap { $0["result"].string } == ["rejected", "queued", "delivered"])
      #expect(answers.last == ["number": 3, "result": "delivered"])
      let both = try await [first.answer(2), first.answer(3)]
      #expect(both.compactMap { $0["number"].number }.sorted() == [1, 2])
      #expect(both.allSatisfy { $0["result"] == "delivered" })
      try await forwarding.emulator.ask(["command": "dismiss", "item": 1])
      #expect(try await first.answer(4) == ["number": 1, "reason": "dismissed", "result": "gone"])
      let own = try await forward.document { $0["result"] == "queued" && $0["client"] == 2 }
      #expect(own == ["client": 2, "line": 2, "number": 3, "result": "queued"])
    }
  }

  @Test func `a client that closes its sending half at once gets the result of its only line`() async throws {
    try await withSocket { _, _, path in
      for _ in 1...100 {
        let client = try SocketClient(path)
        client.write(Forwarding.line("1") + "\n")
        client.endInput()
        #expect(try await client.rest().map { $0["result"] } == ["queued", "delivered"])
      }
    }
  }

  @Test func `only its owner can use the socket, and only in a folder of the owner`() async throws {
    try await withSocket { _, _, path in
      var status = stat()
      #expect(stat(path, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
    }
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "forward", "-p", directory.file("none"), "--outbox", directory.file("outbox"), "--listen",
      "unix:/tmp/notibot-test.sock")
    #expect(ending.status == .exited(2))
    #expect(ending.errors.contains("other users can write to its folder"), "\(ending.errors)")
  }

  @Test func `a client that disconnects, or sends a line that is too long, does not affect others`()
    async throws
  {
    try await withSocket { forwarding, forward, path in
      let leaving = try SocketClient(path)
      leaving.write(Forwarding.line("1"))
      leaving.close()
      let client = try SocketClient(path)
      client.write(String(repeating: "x", count: 200_000))
      #expect(try await client.answer(0)["result"] == "rejected")
      client.write("x\n" + Forwarding.line("2") + "\n")
      #expect(try await client.answer(1)["result"] == "queued")
      #expect(try await client.answer(2)["result"] == "delivered")
    }
  }

  @Test func `a second one does not replace the socket, unless its owner is dead`() async throws {
    try await withSocket { forwarding, _, path in
      let ending = try await run(
        "forward", "-p", "/dev/none", "--outbox", forwarding.emulator.directory.file("other"), "--listen",
        "unix:\(path)")
      #expect(ending.status == .exited(11))
      #expect(ending.errors.contains("another process listens there"))
      let client = try SocketClient(path)
      client.write(Forwarding.line("1") + "\n")
      #expect(try await client.answer(0)["result"] == "queued")
    }
    try await withForwarding { forwarding in
      let path = forwarding.emulator.directory.file("socket")
      let killed = try forwarding.start("--listen", "unix:\(path)")
      try await killed.awaitListening()
      killed.send(SIGKILL)
      _ = await killed.ending()
      let next = try forwarding.start("--listen", "unix:\(path)")
      try await next.awaitListening()
      let client = try SocketClient(path)
      client.write(Forwarding.line("1") + "\n")
      #expect(try await client.answer(1)["result"] == "delivered")
    }
  }
}
