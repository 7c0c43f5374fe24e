import Foundation
import Glibc
import Testing

/// How `notibot forward` ends: signals, kills, and unusable ports and files.
@Suite(.inTurn) struct ForwardEndTests {
  @Test(arguments: [(SIGTERM, Int32(143)), (SIGINT, Int32(130))])
  func `a signal ends it properly, and no queued notification is lost`(
    signal: Int32, code: Int32
  ) async throws {
    try await withForwarding { forwarding in
      let forward = try forwarding.start()
      forward.write(Forwarding.line("1") + "\n")
      try await forward.result("delivered", of: 1)
      try await forwarding.emulator.ask(["command": "stall"])
      forward.write(Forwarding.lines(2...4))
      try await forward.result("queued", of: 4)
      forward.send(signal)
      let ending = await forward.ending()
      // A device that is stalled for 10 s, which would also end it, is a 13.
      #expect(ending.status == .exited(code))
      try await forwarding.emulator.ask(["command": "resume"])
      #expect(try await forwarding.run().status == .exited(0))
      #expect(try await forwarding.titles() == ["1", "2", "3", "4"])
    }
  }

  @Test func `a signal ends it without a board, and while the outbox is full`() async throws {
    let directory = try TemporaryDirectory()
    let forward = try Program(
      [
        "forward", "-p", directory.file("none"), "--outbox", directory.file("outbox"), "--entries-limit", "1",
      ],
      input: Forwarding.lines(1...9))
    try await forward.result("queued", of: 1)
    forward.send(SIGTERM)
    let ending = await forward.ending()
    #expect(ending.status == .exited(143))
    #expect(try ending.numbers("queued") == [1])
  }

  @Test func `after a kill the next run delivers queued notifications once`() async throws {
    try await withForwarding { forwarding in
      let forward = try forwarding.start()
      forward.write(Forwarding.lines(1...2))
      try await forward.result("delivered", of: 2)
      try await forwarding.emulator.ask(["command": "unplug"])
      forward.write(Forwarding.lines(3...6))
      try await forward.result("queued", of: 6)
      forward.send(SIGKILL)
      #expect(await forward.ending().status == .killed(signal: SIGKILL))
      try await forwarding.emulator.ask(["command": "plug"])
      let ending = try await forwarding.run()
      #expect(ending.status == .exited(0))
      #expect(try await forwarding.titles() == (1...6).map(String.init))
    }
  }

  @Test func `killed at each step of its journal it neither loses nor duplicates a notification`()
    async throws
  {
    try await withForwarding("--profile", "bench") { forwarding in
      var promised: [String] = []
      for step in 1...24 {
        let titles = ["\(step)a", "\(step)b"]
        let text = titles.map { Forwarding.line($0) + "\n" }.joined()
        let killed = try await forwarding.run(
          input: text, environment: ["NOTIBOT_KILL_AT_STEP": "\(step)"])
        if killed.status != .exited(0) { #expect(killed.status == .killed(signal: SIGKILL)) }
        for document in try killed.documents() where document["result"] == "queued" {
          if let line = document["line"].number { promised.append(titles[Int(line) - 1]) }
        }
      }
      #expect(try await forwarding.run().status == .exited(0))
      let titles = try await forwarding.titles()
      #expect(Set(titles).count == titles.count, "\(titles)")
      #expect(Set(promised).isSubset(of: titles))
      #expect(promised.count > 10)
    }
  }

  @Test func `a second one at the same outbox or port is refused with the holder's pid`() async throws {
    try await withForwarding { forwarding in
      let forward = try forwarding.start()
      try await forward.document { $0["event"] == "up" }
      let sameOutbox = try await forwarding.run()
      #expect(sameOutbox.status == .exited(11))
      #expect(sameOutbox.errors.contains("\(forward.pid)"), "\(sameOutbox.errors)")
      let other = forwarding.emulator.directory.file("other")
      let samePort = try await run(
        "forward", "-p", forwarding.emulator.port, "--outbox", other, input: Forwarding.line("1") + "\n")
      #expect(samePort.status == .exited(11))
      #expect(samePort.errorLines.count == 1)
      #expect(samePort.errors.contains("\(forward.pid)"), "\(samePort.errors)")
      forward.closeInput()
      #expect(await forward.ending().status == .exited(0))
    }
  }

  @Test(arguments: [
    ("/dev/null", Int32(2), "not a serial port"), ("bogus", Int32(2), "/dev/NAME, auto, usb:"),
  ])
  func `a permanent port failure ends it`(port: String, code: Int32, reason: String) async throws {
    let directory = try TemporaryDirectory()
    let ending = try await run(
      "forward", "-p", port, "--outbox", directory.file("outbox"), input: Forwarding.line("1") + "\n")
    #expect(ending.status == .exited(code))
    #expect(ending.errorLines.count == 1)
    #expect(ending.errors.contains(reason), "\(ending.errors)")
  }

  @Test func `an outbox that is invalid or cannot be created ends it before the port is opened`() async throws
  {
    let terminal = try ControlledTerminal()
    let directory = try TemporaryDirectory()
    let missing = try await run("forward", "-p", terminal.path, "--outbox", directory.file("no/outbox"))
    #expect(missing.status == .exited(2))
    let text = try directory.write("precious", to: "text")
    let other = try await run("forward", "-p", terminal.path, "--outbox", text)
    #expect(other.status == .exited(2))
    #expect(try directory.contents(of: "text") == "precious")
    #expect(terminal.receivedBytes() == [])
  }
}
