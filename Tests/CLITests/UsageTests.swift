import Foundation
import SerialLink
import Testing

@Suite(.inTurn) struct UsageTests {
  static let commands = [
    "devices", "send", "count", "watch", "bench", "outbox", "emulate", "control", "test", "proxy", "damage",
    "reset", "doctor", "udev-rules",
  ]
  static let exitCodes = [0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 130, 143]

  @Test func `help lists the commands and all exit codes`() async throws {
    let ending = try await run("--help")
    #expect(ending.status == .exited(0))
    #expect(ending.errors == "")
    for command in Self.commands {
      #expect(ending.lines.contains { $0.hasPrefix("  \(command) ") }, "\(command) is missing")
    }
    for code in Self.exitCodes {
      #expect(ending.lines.contains { $0.drop { $0 == " " }.hasPrefix("\(code)  ") }, "\(code) is missing")
    }
  }

  @Test(arguments: commands.filter { $0 != "udev-rules" })
  func `help of a command that can fail in many ways lists the exit codes`(command: String) async throws {
    let ending = try await run(command, "--help")
    #expect(ending.status == .exited(0))
    #expect(ending.output.contains("11  port busy"))
    #expect(ending.output.contains("USAGE: notibot \(command)"))
  }

  @Test(arguments: [
    "send", "count", "watch", "forward", "monitor", "reset", "test", "soak", "bench", "proxy",
  ])
  func `help of a command that opens a port lists every form of its name`(command: String) async throws {
    let help = try await run(command, "--help").output.filter { !$0.isWhitespace }
    for form in PortName.forms { #expect(help.contains(form.syntax), "\(form.syntax) is missing") }
  }

  @Test func `the version is one line`() async throws {
    let ending = try await run("--version")
    #expect(ending.status == .exited(0))
    #expect(ending.lines.count == 1)
    #expect(ending.output.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
  }

  @Test(arguments: [
    ["devices", "--watch", "--probe"], ["devices", "--timeout", "1"],
    ["devices", "--watch", "--timeout", "0"],
    ["--bogus"], ["bogus"], ["count", "--bogus"], ["count", "extra"], ["send"],
    ["send", "--app", "a", "--file", "f"],
    ["send", "--app", "a", "--timestamp", "4294967296"], ["bench", "--count", "0"],
    ["bench", "--window", "33"],
    ["emulate", "--profile", "nope"], ["emulate", "--mode", "nope"], ["emulate", "--latency", "10001"],
    ["emulate", "--seed", "x"], ["control", "stats"], ["test", "--rig", "nope"], ["count", "-p", "emu:nope"],
    ["test", "--filter", "("], ["test", "--filter", "no case is called this"],
    ["test", "--rig", "pty", "-p", "/dev/null"],
  ])
  func `a wrong option or value ends with 2 and says something on stderr only`(arguments: [String])
    async throws
  {
    let ending = try await Program(arguments).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
    #expect(!ending.errorLines.isEmpty)
  }

  @Test func `udev-rules prints the rules and nothing else`() async throws {
    let ending = try await run("udev-rules")
    #expect(ending.status == .exited(0))
    #expect(ending.errors == "")
    #expect(ending.lines.first == "# Boards that notibot knows. Made by: notibot udev-rules")
    #expect(ending.lines.last == #"LABEL="notibot_end""#)
  }
}
