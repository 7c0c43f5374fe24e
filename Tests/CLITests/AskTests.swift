import Foundation
import Glibc
import Testing

/// `notibot ask`: the choice is the exit code.
@Suite(.inTurn) struct AskTests {
  private func ask(
    on emulator: Emulator, act: Int?, _ words: [String] = [], signal: Int32? = nil
  ) async throws -> Program.Ending {
    let program = try Program(["ask", "-p", emulator.port, "--title", "Deploy?"] + words)
    try await emulator.wait(for: "count=1")
    if let act {
      _ = try await emulator.ask(["command": "action", "item": 1, "act": JSON(integerLiteral: act)])
    }
    if let signal { program.send(signal) }
    let ending = await program.ending()
    #expect(try await emulator.stored() == [])
    return ending
  }

  @Test(arguments: [(0, 0, "Approve\n"), (1, 1, "Deny\n")])
  func `the choice is printed, and the first action is success`(
    act: Int, status: Int, output: String
  ) async throws {
    try await withEmulator { emulator in
      let ending = try await ask(on: emulator, act: act)
      #expect(ending.status == .exited(Int32(status)))
      #expect(ending.output == output)
    }
  }

  @Test func `the labels are those of the option, and JSON has number and label`() async throws {
    try await withEmulator { emulator in
      let ending = try await ask(on: emulator, act: 2, ["--actions", "Yes, No,Later", "--json"])
      #expect(ending.status == .exited(1))
      #expect(ending.output == "{\"action\":2,\"choice\":\"Later\"}\n")
    }
  }

  @Test func `a question without a choice ends with 13, an interrupted one with 130`() async throws {
    try await withEmulator { emulator in
      let ending = try await ask(on: emulator, act: nil, ["--timeout", "1s", "--json"])
      #expect(ending.status == .exited(13))
      #expect(ending.output == "{\"reason\":\"timeout\"}\n")
    }
    try await withEmulator { emulator in
      let ending = try await ask(on: emulator, act: nil, signal: SIGINT)
      #expect(ending.status == .exited(130))
      #expect(ending.output == "")
    }
  }

  @Test func `a question that was never on the display has no choice, but a reason`() async throws {
    let directory = try TemporaryDirectory()
    let ending = try await Program(
      ["ask", "-p", directory.file("none"), "--title", "t", "--timeout", "1s", "--json"]
    ).ending()
    #expect(ending.status == .exited(13))
    #expect(ending.output == "{\"reason\":\"notShown\"}\n")
    #expect(ending.errors.contains("was not shown within 1s: cannot"), "\(ending.errors)")
  }

  @Test func `a device without buttons is not asked`() async throws {
    try await withEmulator("--profile", "firmware") { emulator in
      let ending = try await Program(["ask", "-p", emulator.port, "--title", "Deploy?"]).ending()
      #expect(ending.status == .exited(15))
      #expect(ending.errors.contains("does not support identities"), "\(ending.errors)")
      #expect(try await emulator.stored() == [])
    }
  }

  @Test(arguments: [
    ["--timeout", "0"], ["--timeout", "25h"], ["--timeout", "m"], ["--actions", "A,A"],
    ["--actions", "A,,B"],
    ["--actions", "1,2,3,4,5"], ["--actions", "more than 24 bytes is too long"],
    ["--text", String(repeating: "x", count: 500)],
  ])
  func `what cannot be asked is refused before the port is opened`(words: [String]) async throws {
    let ending = try await Program(["ask", "-p", "/dev/null/no", "--title", "t"] + words).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
  }
}
