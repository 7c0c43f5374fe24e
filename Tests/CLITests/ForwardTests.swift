import Foundation
import Glibc
import Testing

/// `notibot forward`: each notification once, despite faults of the line and the device.
@Suite(.inTurn) struct ForwardTests {
  @Test func `a hundred lines are queued, delivered and on the display, once and in order`() async throws {
    try await withForwarding("--profile", "bench") { forwarding in
      let ending = try await forwarding.run(input: Forwarding.lines(1...100))
      #expect(ending.status == .exited(0))
      #expect(try ending.numbers("queued") == Array(1...100))
      #expect(try ending.numbers("delivered").sorted() == Array(1...100))
      #expect(try await forwarding.titles() == (1...100).map(String.init))
    }
  }

  @Test func `without --json results are still documents, and the connection is reported on stderr`()
    async throws
  {
    try await withForwarding { forwarding in
      let ending = try await run(
        "forward", "-p", forwarding.emulator.port, "--outbox", forwarding.outbox,
        input: Forwarding.line("1") + "\n")
      #expect(ending.status == .exited(0))
      #expect(
        try ending.documents() == [
          ["line": 1, "number": 1, "result": "queued"], ["number": 1, "result": "delivered"],
        ])
      #expect(ending.errors.contains("up \(forwarding.emulator.port)"))
    }
  }

  @Test func `events of the connection and of the outbox are printed in one order`() async throws {
    try await withForwarding("--profile", "quiet") { forwarding in
      let forward = try forwarding.start()
      func wait(for event: String, _ count: Int) async throws {
        var seen = 0
        try await forward.document {
          seen += $0["event"] == .string(event) ? 1 : 0
          return seen == count
        }
      }
      for round in 1...10 {
        try await wait(for: "synced", round)
        try await forwarding.emulator.ask(["command": "unplug"])
        try await wait(for: "down", round)
        try await forwarding.emulator.ask(["command": "plug"])
      }
      try await wait(for: "synced", 11)
      forward.closeInput()
      let events = try await forward.ending().documents().compactMap { $0["event"].string }
      let session = ["connecting", "up", "synced", "down"]
      #expect(events == Array(repeatElement(session, count: 11).joined().dropLast()) + ["ended"])
    }
  }

  @Test func `without a board it queues and waits, and delivers when the board is connected`() async throws {
    let directory = try TemporaryDirectory()
    let forward = try Program(
      ["forward", "-p", directory.file("port"), "--outbox", directory.file("outbox"), "--json"],
      input: Forwarding.lines(1...3))
    try await forward.result("queued", of: 3)
    try await forward.document { $0["event"] == "down" }
    let emulator = try await Emulator(in: directory)
    let ending = await forward.ending()
    #expect(ending.status == .exited(0))
    #expect(try await emulator.stored().count == 3)
    let connecting = try ending.documents().first { $0["event"] == "connecting" }
    // The arrival of the port and the next attempt can come in either order.
    #expect(["the port appeared", "another attempt"].contains(connecting?["reason"]))
    await emulator.stop()
  }

  @Test func `an unplugged port is reported, and tried as soon as it is back`() async throws {
    try await withForwarding { forwarding in
      let forward = try forwarding.start()
      forward.write(Forwarding.line("1") + "\n")
      try await forward.result("delivered", of: 1)
      try await forwarding.emulator.ask(["command": "unplug"])
      try await forward.document { $0["event"] == "down" && $0["reason"] == "the port went away" }
      forward.write(Forwarding.line("2") + "\n")
      try await forward.result("queued", of: 2)
      try await forwarding.emulator.ask(["command": "plug"])
      try await forward.result("delivered", of: 2)
      forward.closeInput()
      let ending = await forward.ending()
      #expect(ending.status == .exited(0))
      #expect(
        try ending.documents().contains {
          ["the port appeared", "another attempt"].contains($0["reason"])
        })
      #expect(try await forwarding.titles() == ["1", "2"])
    }
  }

  @Test func `after a restart of the device everything is on the display again, and reported once`()
    async throws
  {
    try await withForwarding { forwarding in
      let forward = try forwarding.start()
      forward.write(Forwarding.lines(1...5))
      for number in 1...5 { try await forward.result("delivered", of: number) }
      try await forwarding.emulator.ask(["command": "reboot", "reason": "panic"])
      try await forward.document { $0["event"] == "down" && $0["reason"] == "the device restarted" }
      forward.write(Forwarding.line("6") + "\n")
      try await forward.result("delivered", of: 6)
      forward.closeInput()
      let ending = await forward.ending()
      #expect(ending.status == .exited(0))
      #expect(try ending.numbers("delivered").sorted() == Array(1...6))
      #expect(try await forwarding.titles() == (1...6).map(String.init))
    }
  }

  @Test func `new content, a removal and a dismissal each have their result`() async throws {
    try await withForwarding { forwarding in
      let forward = try forwarding.start()
      forward.write(Forwarding.lines(1...3))
      for number in 1...3 { try await forward.result("delivered", of: number) }
      forward.write(#"{"number":1,"app":"a","title":"new","text":"","timestamp":1,"lvl":2}"# + "\n")
      forward.write(#"{"number":2,"ev":"r"}"# + "\n")
      try await forward.result("removed", of: 2)
      try await forwarding.emulator.ask(["command": "dismiss", "item": 3])
      let gone = try await forward.document { $0["result"] == "gone" }
      #expect(gone == ["number": 3, "reason": "dismissed", "result": "gone"])
      forward.closeInput()
      let ending = await forward.ending()
      #expect(ending.status == .exited(0))
      #expect(try await forwarding.titles() == ["new"])
    }
  }

  @Test func `a line without a request is rejected with its number, and the others are delivered`()
    async throws
  {
    try await withForwarding { forwarding in
      let bad = [
        "not json", #"{"number":7,"ev":"r"}"#, #"{"number":"x","ev":"r"}"#, #"{"number":0,"ev":"r"}"#,
        #"{"ev":"r"}"#, #"{"number":1,"ev":"x"}"#, #"{"app":"a"}"#,
        Forwarding.line(String(repeating: "x", count: 150_000)),
      ]
      let text = ([Forwarding.line("1")] + bad + [Forwarding.line("2")]).joined(separator: "\n")
      let ending = try await forwarding.run(input: text)
      #expect(ending.status == .exited(2))
      let rejected = try ending.documents().filter { $0["result"] == "rejected" }
      #expect(Set(rejected.compactMap { $0["line"].number }) == Set(stride(from: 2, through: 9, by: 1)))
      #expect(rejected.allSatisfy { $0["reason"].string?.isEmpty == false })
      #expect(ending.errors.contains("and 7 more"), "\(ending.errors)")
      #expect(try await forwarding.titles() == ["1", "2"])
    }
  }

  @Test func `a full display is reported, and queued notifications are sent when there is room`() async throws
  {
    try await withForwarding("--profile", "tiny") { forwarding in
      let forward = try forwarding.start(input: Forwarding.lines(1...6))
      for number in 1...4 { try await forward.result("delivered", of: number) }
      try await forward.document { $0["event"] == "storeFull" }
      try await forwarding.emulator.ask(["command": "dismiss", "item": 1])
      try await forward.result("delivered", of: 5)
      try await forwarding.emulator.ask(["command": "dismiss", "item": 2])
      let ending = await forward.ending()
      #expect(ending.status == .exited(0))
      #expect(try await forwarding.titles() == ["3", "4", "5", "6"])
    }
  }

  @Test func `a full outbox accepts no more until there is room, and loses nothing`() async throws {
    try await withForwarding { forwarding in
      let forward = try forwarding.start("--entries-limit", "2", input: Forwarding.lines(1...3))
      for number in 1...2 { try await forward.result("delivered", of: number) }
      try await forwarding.emulator.ask(["command": "dismiss", "item": 1])
      try await forward.result("delivered", of: 3)
      let ending = await forward.ending()
      #expect(ending.status == .exited(0))
      #expect(try ending.numbers("queued") == [1, 2, 3])
      #expect(try await forwarding.titles() == ["2", "3"])
    }
  }

  @Test func `a full outbox is reported once, and --timeout ends the wait for room`() async throws {
    try await withForwarding { forwarding in
      let ending = try await forwarding.run(
        "--entries-limit", "2", "--timeout", "1", input: Forwarding.lines(1...5))
      #expect(ending.status == .exited(13))
      #expect(try ending.documents().count { $0["event"] == "full" } == 1)
      #expect(try ending.numbers("delivered") == [1, 2])
      let rejected = try ending.documents().filter { $0["result"] == "rejected" }
      #expect(rejected.compactMap { $0["line"].number } == [3, 4, 5])
      #expect(ending.errorLines.last?.contains("the outbox is full") == true, "\(ending.errors)")
    }
  }

  @Test func `with --no-wait all is queued without a board, and sent in the next run`() async throws {
    try await withForwarding { forwarding in
      try await forwarding.emulator.ask(["command": "unplug"])
      let first = try await forwarding.run("--no-wait", input: Forwarding.lines(1...3))
      #expect(first.status == .exited(0))
      #expect(try first.numbers("queued") == [1, 2, 3])
      try await forwarding.emulator.ask(["command": "plug"])
      let second = try await forwarding.run()
      #expect(second.status == .exited(0))
      #expect(try second.numbers("delivered") == [1, 2, 3])
    }
  }

  @Test func `after --timeout undelivered notifications stay in the outbox, and the exit code is 13`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "forward", "-p", directory.file("none"), "--outbox", directory.file("outbox"), "--timeout", "0.2",
      input: Forwarding.lines(1...2))
    #expect(ending.status == .exited(13))
    #expect(ending.errorLines.last?.contains("2 wait in the outbox") == true, "\(ending.errors)")
  }
}
