import Foundation
import Glibc
import Testing

/// Text that the display cannot show unchanged: never changed silently.
@Suite(.inTurn) struct CutTextTests {
  private static let long = String(repeating: "x", count: 70_000)

  private static func line(_ text: String) -> String {
    #"{"app":"a","title":"t","text":"\#(text)","timestamp":1}"#
  }

  @Test func `a cut notification is sent with a warning and marked, with --strict it is refused`()
    async throws
  {
    try await withEmulator { emulator in
      let text = String(repeating: "x", count: 600)
      let cut = try await run("send", "-p", emulator.port, "--text", text, "--json")
      #expect(cut.status == .exited(0))
      #expect(
        try JSON(parsing: cut.output) == [
          "line": 1, "result": "accepted", "cut": true, "cutMembers": ["text"],
        ])
      #expect(cut.errors.hasPrefix("warning: cut: longer than 512 bytes of JSON"))
      let whole = try await run("send", "-p", emulator.port, "--text", "short", "--strict", "--json")
      #expect(try JSON(parsing: whole.output) == ["line": 1, "result": "accepted"])
      #expect(whole.errors == "")
      let strict = try await run("send", "-p", emulator.port, "--text", text, "--strict")
      #expect(strict.status == .exited(2))
      #expect(strict.output == "")
      #expect(try await emulator.stored().count == 2)
    }
  }

  @Test func `lines of a file are marked one by one, and --strict stops at the first`() async throws {
    try await withEmulator { emulator in
      let lines = [Self.line("1"), Self.line(Self.long.prefix(60_000).description), Self.line("3")]
      let input = lines.joined(separator: "\n") + "\n"
      let cut = try await run("send", "-p", emulator.port, "--file", "-", "--json", input: input)
      #expect(cut.status == .exited(0))
      #expect(try cut.lines.map { try JSON(parsing: $0)["cut"] == true } == [false, true, false])
      #expect(cut.errorLines.count == 1 && cut.errors.hasPrefix("warning: line 2: cut"))
      let strict = try await run("send", "-p", emulator.port, "--file", "-", "--strict", input: input)
      #expect(strict.status == .exited(2))
      #expect(strict.output == "1 accepted, 0 refused\n")
      #expect(strict.errors.contains("line 2 cannot be sent unchanged"))
    }
  }

  @Test func `bytes that are not UTF-8 are marked as replaced, with --strict they are refused`() async throws
  {
    try await withEmulator { emulator in
      func send(_ options: String) async throws -> Program.Ending {
        let command =
          "exec \(Program.notibot) send -p '\(emulator.port)' --text \"$(printf 'a\\377b')\" \(options)"
        return try await Program(["-c", command], program: "/bin/sh").ending()
      }
      let replaced = try await send("--json")
      #expect(replaced.status == .exited(0), "\(replaced.errors)")
      #expect(try JSON(parsing: replaced.output)["replaced"] == true)
      #expect(replaced.errors.contains("warning: bytes replaced by U+FFFD"))
      #expect(try await send("--strict").status == .exited(2))
      let given = try await run("send", "-p", emulator.port, "--text", "a\u{FFFD}b", "--strict")
      #expect(given.status == .exited(0), "\(given.errors)")
    }
  }

  @Test func `forward marks cut notifications when they are queued, and with --strict rejects them`()
    async throws
  {
    try await withForwarding { forwarding in
      let arguments = ["forward", "-p", forwarding.emulator.port, "--outbox", forwarding.outbox]
      let input = Self.line("1") + "\n" + Self.line(String(repeating: "x", count: 600)) + "\n"
      let cut = try await Program(arguments, input: input).ending()
      #expect(cut.status == .exited(0), "\(cut.errors)")
      let queued = try cut.lines.map { try JSON(parsing: $0) }.filter { $0["result"] == "queued" }
      #expect(queued.map { $0["cut"] == true } == [false, true])
      #expect(cut.errors.contains("warning: line 2: cut"))
      let strict = try await Program(arguments + ["--strict"], input: input).ending()
      #expect(strict.status == .exited(2))
      let results = try strict.lines.map { try JSON(parsing: $0)["result"] }
      #expect(results.contains("rejected") && results.contains("delivered"))
    }
  }
}
