import Foundation
import Glibc
import Testing

/// Network ports, through the command line.
@Suite struct NetworkPortTests {
  @Test(arguments: ["--rfc2217", "--tcp"])
  func `a port over TCP is announced, and works like any other`(option: String) async throws {
    let scheme = option == "--tcp" ? "socket" : "rfc2217"
    let emulator = try await NetworkEmulator([option, "127.0.0.1:0"])
    #expect(emulator.port.hasPrefix("\(scheme)://127.0.0.1:"))
    let sent = try await run(
      "send", "-p", emulator.port, "--app", "a", "--title", "\u{FF}", "--text", "t", "--timestamp", "1")
    #expect(sent.status == .exited(0), "\(sent.errors)")
    let counted = try await run("count", "-p", emulator.port)
    #expect(counted.lines == ["1"])
    await emulator.stop()
    let refused = try await run("count", "-p", emulator.port)
    #expect(refused.status == .exited(10))
    #expect(refused.errorLines.count == 1)
  }

  @Test func `a lost connection ends a command with 14`() async throws {
    let emulator = try await NetworkEmulator(["--rfc2217", "127.0.0.1:0"])
    let watch = try Program(["watch", "--json", "-p", emulator.port])
    _ = try await watch.output.line(0)
    await emulator.stop()
    #expect(await watch.ending().status == .exited(14))
  }

  @Test func `a port in use is reported with the server's message`() async throws {
    let emulator = try await NetworkEmulator(["--rfc2217", "127.0.0.1:0"])
    let watch = try Program(["watch", "--json", "-p", emulator.port])
    _ = try await watch.output.line(0)
    let second = try await run("count", "-p", emulator.port)
    #expect(second.status == .exited(11))
    #expect(second.errors.contains("Port already in use"))
    #expect(second.errors.contains("close the other connection"))
    watch.send(SIGTERM)
    _ = await watch.ending()
    await emulator.stop()
  }

  @Test func `a raw port in use is busy, and the server's message is not taken for output of the device`()
    async throws
  {
    let emulator = try await NetworkEmulator(["--tcp", "127.0.0.1:0"])
    let watch = try Program(["watch", "--json", "-p", emulator.port])
    _ = try await watch.output.line(0)
    for command in [["count"], ["test", "--filter", "FRM-1/literal-syn"]] {
      let second = try await Program(command + ["-p", emulator.port]).ending()
      #expect(second.status == .exited(11), "\(second.errors)")
      #expect(second.errors.contains("Port already in use"))
    }
    let monitor = try await run("monitor", "-p", emulator.port, "--no-reconnect")
    #expect(!monitor.output.contains("already in use"))
    #expect(monitor.errors.contains("Port already in use"))
    watch.send(SIGTERM)
    _ = await watch.ending()
    await emulator.stop()
  }

  @Test func `bytes other than RFC 2217 are distinguished from silence`() async throws {
    let emulator = try await NetworkEmulator(["--tcp", "127.0.0.1:0", "--profile", "reset-on-open"])
    let port = emulator.port.replacing("socket://", with: "rfc2217://") + "?timeout=0.5"
    let ending = try await run("count", "-p", port)
    #expect(ending.status == .exited(10))
    #expect(ending.errors.contains("use socket:// for plain bytes"))
    await emulator.stop()
  }

  @Test func `a forwarder finds its device again after unplugging`() async throws {
    let directory = try TemporaryDirectory()
    let control = directory.file("control")
    let emulator = try await NetworkEmulator(["--rfc2217", "127.0.0.1:0", "--control", control])
    let forward = try Program(
      ["forward", "--json", "-p", emulator.port, "--outbox", directory.file("outbox")], input: nil)
    forward.write(#"{"app":"a","title":"1","text":"t","timestamp":1}"# + "\n")
    try await wait(for: control, notifications: 1)
    _ = try await ask("unplug", at: control)
    forward.write(#"{"app":"a","title":"2","text":"t","timestamp":2}"# + "\n")
    _ = try await ask("plug", at: control)
    try await wait(for: control, notifications: 2)
    forward.closeInput()
    #expect(await forward.ending().status == .exited(0))
    await emulator.stop()
  }

  @Test func `an invalid address, and two ports for one device, are usage errors`() async throws {
    for options in [["--rfc2217", "4000x"], ["--tcp", "a/b:1"], ["--tcp", "1", "--rfc2217", "2"]] {
      #expect(try await Program(["emulate"] + options).ending().status == .exited(2), "\(options)")
    }
  }

  @Test func `an address for other computers causes a warning`() async throws {
    let emulator = try await NetworkEmulator(["--tcp", "0.0.0.0:0"])
    let ending = await emulator.stop()
    #expect(ending.errors.contains("there is no password"))
  }

  private func ask(_ command: String, at control: String) async throws -> JSON {
    try await onThread {
      try JSON(parsing: UnixSocket.exchange(#"{"command":"\#(command)"}"# + "\n", at: control))
    }
  }

  private func wait(for control: String, notifications: Int) async throws {
    let answer = try await onThread {
      try JSON(
        parsing: UnixSocket.exchange(
          #"{"command":"wait","until":"stored=\#(notifications)"}"# + "\n", at: control))
    }
    #expect(answer["ok"] == true, "\(answer)")
  }
}

/// A `notibot emulate` on a TCP port.
struct NetworkEmulator {
  let program: Program
  let port: String

  init(_ options: [String]) async throws {
    program = try Program(["emulate", "--json"] + options)
    port = try JSON(parsing: try await program.output.line(0))["port"].string ?? ""
  }

  @discardableResult
  func stop() async -> Program.Ending {
    program.send(SIGTERM)
    return await program.ending()
  }
}
