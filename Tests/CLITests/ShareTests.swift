import Foundation
import Glibc
import Testing

/// `share` and the port `share:`, with processes.
@Suite struct ShareTests {
  @Test func `watch, forward, send and ask use one board, and a press reaches the one who asked`()
    async throws
  {
    try await withShare { share in
      let watch = try Program(["watch", "--json", "-p", share.port])
      _ = try await watch.output.line(0)
      let forward = try Program(
        ["forward", "--json", "-p", share.port, "--outbox", share.emulator.directory.file("outbox")],
        input: nil)
      forward.write(#"{"app":"a","title":"1","text":"t","timestamp":1}"# + "\n")
      try await share.emulator.wait(for: "stored=1")
      let sent = try await run("send", "-p", share.port, "--app", "a", "--title", "2", "--text", "t")
      #expect(sent.status == .exited(0), "\(sent.errors)")
      let ask = try Program(["ask", "-p", share.port, "--title", "Deploy?"])
      try await share.emulator.wait(for: "stored=3")
      forward.write(#"{"app":"a","title":"3","text":"t","timestamp":3}"# + "\n")
      try await share.emulator.wait(for: "stored=4")
      // The session's latest SYNC is now that of the forwarder.
      try await share.emulator.ask(["command": "action", "item": 3, "act": 0])
      let answered = await ask.ending()
      #expect(answered.status == .exited(0), "\(answered.errors)")
      #expect(answered.lines == ["Approve"])
      forward.closeInput()
      let forwarded = await forward.ending()
      #expect(forwarded.status == .exited(0), "\(forwarded.errors)")
      watch.send(SIGTERM)
      let events = await watch.ending().lines
      #expect(events.count { $0.contains(#""event":"action""#) } == 1, "\(events)")
      #expect(events.contains { $0.contains(#""count":4"#) })
    }
  }

  @Test func `a board that has gone deaf is reached again, because its port is opened again`() async throws {
    try await withShare { share in
      #expect(try await run("count", "-p", share.port).lines == ["0"])
      #expect(try await share.emulator.ask(["command": "faults", "faults": "deaf@1"])["ok"] == true)
      // The session that was open is lost.
      #expect(try await run("count", "-p", share.port, "--timeout", "60").status == .exited(14))
      let ending = try await run("count", "-p", share.port, "--timeout", "60")
      #expect(ending.status == .exited(0) && ending.lines == ["0"], "\(ending.errors)")
    }
  }

  @Test func `a killed client disturbs nobody`() async throws {
    try await withShare { share in
      let victim = try Program(["watch", "--json", "-p", share.port])
      let other = try Program(["watch", "--json", "-p", share.port])
      _ = try await victim.output.line(0)
      _ = try await other.output.line(0)
      victim.send(SIGKILL)
      _ = await victim.ending()
      let sent = try await run("send", "-p", share.port, "--app", "a", "--title", "t", "--text", "t")
      #expect(sent.status == .exited(0), "\(sent.errors)")
      #expect(try JSON(parsing: try await other.output.line(1))["count"] == 1)
      other.send(SIGTERM)
      _ = await other.ending()
    }
  }

  @Test func `the socket belongs to its user, and the only one is found`() async throws {
    try await withShare { share in
      var status = stat()
      #expect(stat(share.path, &status) == 0)
      #expect(status.st_mode & 0o777 == 0o600)
    }
    let directory = try TemporaryDirectory()
    let none = try await Program(
      ["count", "-p", "share:"], environment: ["XDG_RUNTIME_DIR": directory.file("")]
    ).ending()
    #expect(none.status == .exited(10))
    #expect(none.errors.contains("no 'notibot share' of this user listens in \(directory.file("/notibot"))"))
    #expect(none.errors.contains("one with --socket PATH is the port share:PATH"))
  }

  @Test func `a live socket is refused, a stale one replaced`() async throws {
    try await withEmulator { emulator in
      let path = emulator.directory.file("share")
      let first = try Program(["share", "--json", "-p", emulator.port, "--socket", path])
      _ = try await first.output.line(0)
      let second = try await run("share", "-p", "emu:", "--socket", path)
      #expect(second.status == .exited(11), "\(second.errors)")
      first.send(SIGKILL)
      _ = await first.ending()
      let dead = try await run("count", "-p", "share:\(path)")
      #expect(dead.status == .exited(10), "\(dead.errors)")
      let third = try Program(["share", "--json", "-p", emulator.port, "--socket", path])
      _ = try await third.output.line(0)
      #expect(try await run("count", "-p", "share:\(path)").lines == ["0"])
      third.send(SIGTERM)
      #expect(await third.ending().status == .exited(143))
      #expect(access(path, F_OK) != 0)
    }
  }

  @Test func `garbage gets an error, an oversized line is dropped, a client that does not read waits`()
    async throws
  {
    try await withShare { share in
      // It waits for the session with the board.
      #expect(try await run("count", "-p", share.port).lines == ["0"])
      let client = try SocketClient(share.path)
      let greeting = try await client.answer(0)
      #expect(greeting["protocol"] == "notibot-share")
      #expect(greeting["version"] == 1)
      client.write("garbage\n{\"id\":7,\"op\":\"fly\",\"later\":[1]}\n{\"id\":8,\"op\":\"status\"}\n")
      #expect(try await client.answer(1)["error"]["exit"] == 2)
      #expect(try await client.answer(2)["id"] == 7)
      #expect(try await client.answer(3)["connected"] == true)
      let request = #"{"id":9,"op":"status"}"#
      let blanks = 16_384 - request.utf8.count - 1
      client.write(request + String(repeating: " ", count: blanks) + "\n")
      #expect(try await client.answer(4)["id"] == 9)
      client.write(request + String(repeating: " ", count: blanks + 1) + "\n")
      #expect(try await client.rest().last?["error"]["exit"] == 2)

      // Connected without a reader: when answers fill its buffers, its requests are no longer read.
      let deaf = try SocketClient.deaf(share.path)
      let flood = Array(String(repeating: "{\"op\":\"status\"}\n", count: 500).utf8)
      try await onThread {
        let flags = Int32(MSG_NOSIGNAL) | Int32(MSG_DONTWAIT)
        for _ in 1...20 { _ = Glibc.send(deaf.number, flood, flood.count, flags) }
      }
      #expect(try await run("count", "-p", share.port).lines == ["0"])
      deaf.close()
      #expect(try await run("count", "-p", share.port).lines == ["0"])
      #expect(await share.stop().errors.contains("it sent a line that is too long"))
    }
  }

  @Test func `a client that does not read its console text is dropped, and the others get all`()
    async throws
  {
    try await withShare { share in
      let deaf = try SocketClient.deaf(share.path)
      let attach = Array("{\"op\":\"attach\"}\n".utf8)
      try await onThread { _ = Glibc.send(deaf.number, attach, attach.count, Int32(MSG_NOSIGNAL)) }
      let monitor = try Program(["monitor", "--until", "the last line", "-p", share.port])
      _ = try await monitor.output.line(0)
      let line = String(repeating: "x", count: 4000)
      for index in 1...200 {
        try await share.emulator.ask(["command": "log", "text": .string(line)])
        _ = try await monitor.output.line(index)
      }
      try await share.emulator.ask(["command": "log", "text": "the last line"])
      #expect(await monitor.ending().status == .exited(0))
      deaf.close()
      #expect(await share.stop().errors.contains("it does not read"))
    }
  }

  @Test func `share: is the only server of the user, and with two a path is asked for`() async throws {
    let directory = try TemporaryDirectory()
    let environment = ["XDG_RUNTIME_DIR": directory.file("")]
    let first = try Program(["share", "--json", "-p", "emu:"], environment: environment)
    _ = try await first.output.line(0)
    let counted = try await Program(["count", "-p", "share:"], environment: environment).ending()
    #expect(counted.lines == ["0"], "\(counted.errors)")
    let second = try Program(["share", "--json", "-p", "emu:"], environment: environment)
    _ = try await second.output.line(0)
    let doubtful = try await Program(["count", "-p", "share:"], environment: environment).ending()
    #expect(doubtful.status == .exited(10), "\(doubtful.errors)")
    #expect(doubtful.errors.contains("2 servers are running"))
    for server in [first, second] {
      server.send(SIGTERM)
      #expect(await server.ending().status == .exited(143))
    }
  }

  @Test func `test has the board to itself while it runs`() async throws {
    try await withShare { share in
      let watch = try Program(["watch", "--json", "-p", share.port])
      _ = try await watch.output.line(0)
      let refused = try await run("test", "-p", share.port, "--filter", "FRM-1/literal-syn")
      #expect(refused.status == .exited(11), "\(refused.errors)")
      #expect(refused.errors.contains("notibot watch"))
      watch.send(SIGTERM)
      _ = await watch.ending()
      let lease = try SocketClient(share.path)
      lease.write("{\"id\":1,\"op\":\"lease\"}\n")
      #expect(try await lease.answer(1)["ok"] == true)
      let counted = try await run("count", "-p", share.port)
      #expect(counted.status == .exited(11), "\(counted.errors)")
      #expect(counted.errors.contains("has the board to itself"))
      lease.endInput()
      // Bytes of the line, until the server has ended the lease.
      _ = try? await lease.rest()
      let passed = try await run("test", "-p", share.port, "--filter", "FRM-1/literal-syn")
      #expect(passed.status == .exited(0), "\(passed.errors)")
    }
  }

  @Test func `a lease that floods the board and ends leaves a board that can be used`() async throws {
    try await withShare { share in
      #expect(try await run("count", "-p", share.port).lines == ["0"])
      try await share.emulator.ask(["command": "stall"])
      for _ in 1...5 {
        let lease = try SocketClient.deaf(share.path)
        let bytes = Array("{\"op\":\"lease\"}\n".utf8) + [UInt8](repeating: 0x55, count: 400_000)
        try await onThread {
          var index = 0
          while index < bytes.count {
            let count = bytes[index...].withUnsafeBytes {
              Glibc.send(lease.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { break }
            index += count
          }
        }
        lease.close()
      }
      try await share.emulator.ask(["command": "resume"])
      // Until the server has read the end of the last lease, it refuses others.
      let last = try SocketClient(share.path)
      last.write("{\"id\":1,\"op\":\"lease\"}\n")
      last.endInput()
      _ = try? await last.rest()
      let counted = try await run("count", "-p", share.port, "--timeout", "600")
      #expect(counted.lines == ["0"], "\(counted.errors)")
    }
  }

  @Test func `clients see a board that is unplugged and plugged in again, and the end of the server`()
    async throws
  {
    try await withShare { share in
      let watch = try Program(["watch", "--json", "-p", share.port])
      _ = try await watch.output.line(0)
      try await share.emulator.ask(["command": "unplug"])
      #expect(try JSON(parsing: try await watch.output.line(1))["event"] == "disconnected")
      try await share.emulator.ask(["command": "plug"])
      #expect(try JSON(parsing: try await watch.output.line(2))["event"] == "reconnected")
      #expect(await share.stop().status == .exited(143))
      let ending = await watch.ending()
      #expect(ending.status == .exited(14))
      #expect(ending.errors.contains("the server of the shared board closed the connection"))
    }
  }

  @Test func `ask ends with its server, and does not wait for one`() async throws {
    try await withShare { share in
      let ask = try Program(["ask", "-p", share.port, "--title", "Deploy?"])
      try await share.emulator.wait(for: "count=1")
      share.program.send(SIGKILL)
      let ending = await ask.ending()
      #expect(ending.status == .exited(14))
      #expect(ending.errors.contains("the server of the shared board ended"), "\(ending.errors)")
      let late = try await run("ask", "-p", share.port, "--title", "Deploy?")
      #expect(late.status == .exited(10), "\(late.errors)")
    }
  }

  @Test func `the error of a client names a board that is unplugged`() async throws {
    try await withShare { share in
      try await share.emulator.ask(["command": "unplug"])
      for command in [["count"], ["send", "t"]] {
        let ending = try await Program(command + ["-p", share.port, "--timeout", "1"]).ending()
        #expect(ending.status == .exited(14))
        #expect(
          ending.errors.contains("the shared board at \(share.emulator.port) is disconnected"),
          "\(ending.errors)")
      }
    }
  }

  @Test func `forward waits for the end of a lease, and its time limit names it`() async throws {
    try await withShare { share in
      let lease = try SocketClient(share.path)
      lease.write("{\"id\":1,\"op\":\"lease\"}\n")
      _ = try await lease.answer(1)
      let outbox = share.emulator.directory.file("outbox")
      let words = ["forward", "-p", share.port, "--outbox", outbox, "--json"]
      let limited = try await Program(words + ["--timeout", "1"], input: Forwarding.lines(1...1)).ending()
      #expect(limited.status == .exited(11), "\(limited.errors)")
      #expect(limited.errorLines.last?.contains("has the board to itself") == true, "\(limited.errors)")
      let forward = try Program(words, input: "")
      try await forward.document { $0["event"] == "down" }
      lease.close()
      try await forward.result("delivered", of: 1)
      #expect(await forward.ending().status == .exited(0))
    }
  }

  @Test func `forward tries a server again that ended before the port was open`() async throws {
    try await withEmulator { emulator in
      let path = emulator.directory.file("share")
      let script = """
        import socket, sys
        server = socket.socket(socket.AF_UNIX)
        server.bind(sys.argv[1])
        server.listen(8)
        print("ready", flush=True)
        server.accept()[0].close()
        sys.stdin.read()
        """
      let server = try Program(["-c", script, path], program: "/usr/bin/python3", input: nil)
      _ = try await server.output.line(0)
      let forward = try Program(
        ["forward", "-p", "share:\(path)", "--outbox", emulator.directory.file("outbox"), "--json"],
        input: Forwarding.lines(1...1))
      try await forward.document { $0["event"] == "down" }
      server.closeInput()
      #expect(await server.ending().status == .exited(0))
      try FileManager.default.removeItem(atPath: path)
      let share = try Program(["share", "--json", "-p", emulator.port, "--socket", path])
      try await forward.result("delivered", of: 1)
      #expect(await forward.ending().status == .exited(0))
      share.send(SIGTERM)
      #expect(await share.ending().status == .exited(143))
    }
  }

  @Test func `a server that accepts no connections does not answer`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("full")
    let script = """
      import socket, sys
      server = socket.socket(socket.AF_UNIX)
      server.bind(sys.argv[1])
      server.listen(0)
      clients = [socket.socket(socket.AF_UNIX) for _ in range(4)]
      for client in clients:
          client.setblocking(False)
          client.connect_ex(sys.argv[1])
      print("ready", flush=True)
      sys.stdin.read()
      """
    let server = try Program(["-c", script, path], program: "/usr/bin/python3", input: nil)
    _ = try await server.output.line(0)
    let counted = try await run("count", "-p", "share:\(path)")
    #expect(counted.status == .exited(13))
    #expect(counted.errors.contains("the server does not answer"), "\(counted.errors)")
    server.closeInput()
    #expect(await server.ending().status == .exited(0))
  }

  @Test func `a server that never answers does not hold a monitor beyond its time`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.file("silent")
    let script = """
      import socket, sys
      server = socket.socket(socket.AF_UNIX)
      server.bind(sys.argv[1])
      server.listen(8)
      print("ready", flush=True)
      sys.stdin.read()
      """
    let server = try Program(["-c", script, path], program: "/usr/bin/python3", input: nil)
    _ = try await server.output.line(0)
    let ending = try await run("monitor", "-p", "share:\(path)", "--timeout", "1")
    #expect(ending.status == .exited(13))
    #expect(ending.errors.contains("not open within the time limit"), "\(ending.errors)")
    server.closeInput()
    #expect(await server.ending().status == .exited(0))
  }
}
