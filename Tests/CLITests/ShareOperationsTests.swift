import Foundation
import Testing

/// Requests in lines of JSON at the socket of `share` (docs/INTERFACE.md), with processes.
@Suite struct ShareOperationsTests {
  private static func sending(_ id: Int, _ title: String, text: String = "t") -> String {
    #"{"id":\#(id),"op":"send","notification":{"app":"a","title":"\#(title)","text":"\#(text)","timestamp":1}}"#
      + "\n"
  }

  @Test func `200 notifications are answered in order, and all events arrive`() async throws {
    try await withShare { share in
      let watcher = try SocketClient(share.path)
      watcher.write("{\"id\":1,\"op\":\"events\"}\n")
      #expect(try await watcher.answer(1)["ok"] == true)
      let client = try SocketClient(share.path)
      // More at once than the server keeps without an answer.
      client.write((1...200).map { Self.sending($0, "\($0)") }.joined() + "{\"id\":201,\"op\":\"count\"}\n")
      for id in 1...200 {
        let answer = try await client.answer(id)
        #expect(answer["id"] == .number(Double(id)))
        #expect(answer["ok"] == true)
        #expect(answer["cut"] == .null)
      }
      #expect(try await client.answer(201)["count"] == 200)
      try await share.emulator.ask(["command": "dismiss", "item": 7])
      var events: [JSON] = []
      while events.last?["event"] != "dismissed" { events.append(try await watcher.answer(2 + events.count)) }
      #expect(events.last?["item"] == 7)
      #expect(events.contains { $0["event"] == "count" && $0["count"] == 200 })
      client.write(Self.sending(202, "long", text: String(repeating: "x", count: 600)))
      #expect(try await client.answer(202)["cut"] == true)
    }
  }

  @Test func `2000 requests sent together are all answered`() async throws {
    try await withShare { share in
      let client = try SocketClient(share.path)
      client.write((1...2000).map { "{\"id\":\($0),\"op\":\"status\"}\n" }.joined())
      #expect(try await client.answer(2000)["id"] == 2000)
    }
  }

  @Test func `long command lines of clients do not make a line too long`() async throws {
    // One character of about 4 KB, near the start of the command line.
    let long = "e" + String(repeating: "\u{301}", count: 1900)
    let code = """
      '\u{202E}\(long)';import socket,sys;s=socket.socket(socket.AF_UNIX);s.connect(sys.argv[1])
      f=s.makefile('rb');f.readline();s.sendall(b'{"op":"attach"}'+bytes([10]))
      print(f.readline().decode(),flush=True);sys.stdin.read()
      """
    try await withShare { share in
      let programs = try (1...5).map { _ in
        try Program(["python3", "-c", code, share.path], program: "/usr/bin/env", input: nil)
      }
      for program in programs { #expect(try JSON(parsing: try await program.output.line(0))["ok"] == true) }
      let client = try SocketClient(share.path)
      client.write("{\"id\":1,\"op\":\"status\"}\n{\"id\":2,\"op\":\"lease\"}\n")
      let (status, refused) = (try await client.answer(1), try await client.answer(2))
      #expect(status["clients"].elements.count == 6)
      #expect(refused["error"]["exit"] == 11)
      for index in 1...2 {
        let line = try await client.answers.line(index)
        #expect(line.utf8.count <= 16_384)
        #expect(line.contains("202e") && !line.unicodeScalars.contains("\u{202E}"))
      }
      for program in programs {
        program.closeInput()
        _ = await program.ending()
      }
    }
  }

  @Test func `a lease ends the earlier one of its process`() async throws {
    try await withShare { share in
      let first = try SocketClient(share.path)
      first.write("{\"id\":1,\"op\":\"lease\"}\n")
      #expect(try await first.answer(1)["ok"] == true)
      let second = try SocketClient(share.path)
      second.write("{\"id\":2,\"op\":\"lease\"}\n")
      #expect(try await second.answer(1)["ok"] == true)
      // Bytes of the line, until the server has ended the lease.
      _ = try? await first.rest()
    }
  }

  @Test func `a client that is gone before its greeting takes no place`() async throws {
    try await withShare { share in
      for _ in 1...100 { try SocketClient.deaf(share.path).close() }
      let client = try SocketClient(share.path)
      // The server notices some time later that the others are gone.
      var left = 0
      var answers = 0
      repeat {
        answers += 1
        client.write("{\"op\":\"status\"}\n")
        left = try await client.answer(answers)["clients"].elements.count
      } while left > 1 && answers < 5000
      #expect(left == 1)
    }
  }

  @Test func `a request waits for the board, and one that it did not answer is reported`() async throws {
    try await withShare { share in
      let watcher = try SocketClient(share.path)
      watcher.write("{\"op\":\"events\"}\n{\"op\":\"count\"}\n")
      #expect(try await watcher.answer(1)["ok"] == true)
      let client = try SocketClient(share.path)
      client.write("{\"id\":1,\"op\":\"count\"}\n")
      #expect(try await client.answer(1)["count"] == 0)
      try await share.emulator.ask(["command": "stall"])
      let taken = Int(try await share.emulator.statistics()["link"]["dataReceived"].number ?? 0)
      client.write(Self.sending(2, "lost") + "{\"id\":3,\"op\":\"attach\"}\n{\"id\":4,\"op\":\"lease\"}\n")
      try await share.emulator.wait(for: "data>=\(taken + 1)")
      try await share.emulator.ask(["command": "unplug"])
      let answers = [try await client.answer(2), try await client.answer(3), try await client.answer(4)]
      #expect(answers.map { $0["id"] } == [2, 3, 4])
      #expect(answers.map { $0["error"]["exit"] } == [14, 2, 2], "\(answers)")
      #expect("\(answers[0])".contains("its outcome is unknown"), "\(answers[0])")
      var line = 2
      while try await watcher.answer(line)["event"] != "disconnected" { line += 1 }
      client.write("{\"id\":5,\"op\":\"count\"}\n")
      try await share.emulator.ask(["command": "resume"])
      try await share.emulator.ask(["command": "plug"])
      #expect(try await client.answer(5)["id"] == 5)
      #expect(try await client.answer(5)["ok"] == true)
      #expect(try await watcher.answer(line + 1)["event"] == "reconnected")
    }
  }

  @Test func `requests that were not read yet when a session ends are answered, too`() async throws {
    try await withShare { share in
      let client = try SocketClient(share.path)
      client.write("{\"id\":0,\"op\":\"count\"}\n")
      #expect(try await client.answer(1)["count"] == 0)
      try await share.emulator.ask(["command": "stall"])
      let taken = Int(try await share.emulator.statistics()["link"]["dataReceived"].number ?? 0)
      // 64 of them are read; as each is answered, another one is.
      client.write((1...150).map { Self.sending($0, "\($0)") }.joined())
      try await share.emulator.wait(for: "data>=\(taken + 1)")
      try await share.emulator.ask(["command": "unplug"])
      for id in 1...64 { #expect(try await client.answer(id + 1)["error"]["exit"] == 14) }
      try await share.emulator.ask(["command": "resume"])
      try await share.emulator.ask(["command": "plug"])
      for id in 65...150 { #expect(try await client.answer(id + 1)["id"] == .number(Double(id))) }
      #expect(try await client.answer(151)["ok"] == true)
    }
  }

  @Test func `wrong requests and refusals of the device have their exit codes`() async throws {
    try await withShare("--profile", "tiny") { share in
      let client = try SocketClient(share.path)
      client.write(
        "{\"id\":1,\"op\":\"send\"}\n"
          + #"{"id":2,"op":"send","notification":{"app":"a","title":"t","text":"x","timestamp":-1}}"# + "\n")
      #expect(try await client.answer(1)["error"]["exit"] == 2)
      #expect(try await client.answer(2)["error"]["exit"] == 2)
      #expect(try await client.answer(2)["id"] == 2)
      // Its store holds four.
      client.write((3...7).map { Self.sending($0, "\($0)") }.joined())
      for index in 3...6 { #expect(try await client.answer(index)["ok"] == true) }
      let refused = try await client.answer(7)
      #expect(refused["error"]["exit"] == 15, "\(refused)")
      #expect("\(refused)".contains("store full"))
    }
  }
}
