import Foundation
import Glibc
import Testing

/// `notibot forward`: keys, expiry, and a full outbox.
@Suite(.inTurn) struct ForwardKeysTests {
  private static func line(_ title: String, key: String? = nil, expires: Int? = nil) -> String {
    var members = [
      #""app":"Messages""#, #""title":"\#(title)""#, #""text":"See you""#, #""timestamp":1234567890"#,
    ]
    if let key { members.append(#""key":"\#(key)""#) }
    if let expires { members.append(#""exp":\#(expires)"#) }
    return "{\(members.joined(separator: ","))}\n"
  }

  @Test func `a repeated key is answered with the old number, also after dismissal and a restart`()
    async throws
  {
    try await withForwarding { forwarding in
      let input = Self.line("one", key: "a") + Self.line("one", key: "a") + Self.line("other", key: "a")
      let first = try await forwarding.run(input: input)
      #expect(first.status == .exited(0))
      let queued = try first.documents().filter { $0["result"] == "queued" }
      #expect(
        queued == [
          ["line": 1, "number": 1, "result": "queued"],
          ["duplicate": true, "line": 2, "number": 1, "result": "queued"],
          ["duplicate": true, "keyConflict": true, "line": 3, "number": 1, "result": "queued"],
        ])
      #expect(
        first.errors.contains(
          "2 of the notifications repeated a key that was accepted before, 1 with other content"))
      #expect(try await forwarding.titles() == ["one"])
      try await forwarding.emulator.ask(["command": "dismiss", "item": 1])
      let second = try await forwarding.run(input: Self.line("one", key: "a") + Self.line("two", key: "b"))
      #expect(
        try second.documents().filter { $0["result"] == "queued" } == [
          ["duplicate": true, "line": 1, "number": 1, "result": "queued"],
          ["line": 2, "number": 2, "result": "queued"],
        ])
      #expect(try await forwarding.titles() == ["two"])
    }
  }

  @Test func `a notification that has expired is reported, and not shown`() async throws {
    try await withForwarding { forwarding in
      let ending = try await forwarding.run(
        input: Self.line("late", expires: 1_000_000_000) + Self.line("in time", expires: 4_000_000_000))
      #expect(ending.status == .exited(0))
      #expect(try ending.documents().contains(["number": 1, "result": "expired"]))
      #expect(try ending.numbers("delivered") == [2])
      #expect(try await forwarding.titles() == ["in time"])
      #expect(ending.errors.contains("1 of the notifications expired before the device had them"))
    }
  }

  @Test func `a key is a text of 1 to 128 bytes`() async throws {
    try await withForwarding { forwarding in
      let long = String(repeating: "k", count: 129)
      let number = Self.line("number").replacing("\"app\"", with: "\"key\":7,\"app\"")
      let ending = try await forwarding.run(
        input: Self.line("none", key: "") + Self.line("long", key: long) + number
          + Self.line("most", key: String(repeating: "k", count: 128)))
      #expect(ending.status == .exited(2))
      #expect(
        try ending.documents().filter { $0["result"] == "rejected" }.compactMap { $0["reason"].string } == [
          "'key' has 0 bytes; 1 to 128 are allowed", "'key' has 129 bytes; 1 to 128 are allowed",
          "the value of 'key' has the wrong type (at byte 8)",
        ])
      #expect(try await forwarding.titles() == ["most"])
    }
  }

  @Test func `a full outbox answers clients at once, and known keys as ever`() async throws {
    try await withForwarding { forwarding in
      let path = forwarding.emulator.directory.file("socket")
      let forward = try forwarding.start("--listen", "unix:\(path)", "--entries-limit", "2")
      try await forward.awaitListening()
      let (first, second) = (try SocketClient(path), try SocketClient(path))
      first.write(Self.line("1", key: "a") + Self.line("2") + Self.line("3", key: "c"))
      // Each gets its answers, the full one too, while both of the others stay in the outbox.
      try await forward.document { $0["result"] == "full" && $0["line"] == 3 && $0["client"] == 1 }
      try await forward.result("delivered", of: 1)
      try await forward.result("delivered", of: 2)
      second.write(Self.line("1", key: "a") + Self.line("4"))
      // That of a known key waits until the outbox is known to be in place.
      let answers = [try await second.answer(0), try await second.answer(1)]
      #expect(answers.contains(["duplicate": true, "line": 1, "number": 1, "result": "queued"]))
      #expect(answers.contains(["line": 2, "reason": "the outbox is full (2)", "result": "full"]))
      try await forwarding.emulator.ask(["command": "dismiss", "item": 1])
      try await forward.document { $0["result"] == "gone" }
      second.write(Self.line("4"))
      #expect(try await second.answer(2) == ["line": 3, "number": 3, "result": "queued"])
      forward.send(SIGTERM)
      #expect(await forward.ending().status == .exited(143))
    }
  }

  @Test func `keys are counted, and printed by a salvage`() async throws {
    let directory = try TemporaryDirectory()
    let outbox = directory.file("outbox")
    let ending = try await run(
      "forward", "-p", directory.file("port"), "--outbox", outbox, "--no-wait",
      input: Self.line("one", key: "a") + Self.line("two"))
    #expect(ending.status == .exited(0))
    let stats = try await run("outbox", "--file", outbox, "--json", "stats")
    #expect(try JSON(parsing: stats.output)["keys"] == 1)
    let salvage = try await run("outbox", "salvage", outbox)
    #expect(try salvage.documents().map { $0["key"].string } == ["a", nil])
  }
}
