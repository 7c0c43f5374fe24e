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

  @Test func `a board that is missing at the end is named`() async throws {
    try await withEmulator { emulator in
      let program = try Program(["ask", "-p", emulator.port, "--title", "t", "--timeout", "3s"])
      try await emulator.wait(for: "count=1")
      try await emulator.ask(["command": "unplug"])
      let ending = await program.ending()
      #expect(ending.status == .exited(13))
      #expect(
        ending.errors.contains(
          "no choice within 3s; at the end the device was disconnected: the port went away"),
        "\(ending.errors)")
    }
  }

  @Test(arguments: [
    ("A,A", "'A' is there twice"), ("A,,B", "a label is empty"),
    ("1,2,3,4,5", "there are more than 4 labels"),
    ("more than 24 bytes is too long", "'more than 24 bytes is too long' has more than 24 bytes"),
  ])
  func `labels are refused with the reason`(labels: String, reason: String) async throws {
    for command in [["ask", "--title", "t"], ["send", "t"]] {
      let ending = try await Program(command + ["-p", "/dev/null/no", "--actions", labels]).ending()
      #expect(ending.status == .exited(2))
      let words = ending.errors.replacing("\n", with: " ")
      #expect(words.contains("--actions '\(labels)': \(reason)"), "\(words)")
    }
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
    ["--timeout", "0"], ["--timeout", "25h"], ["--timeout", "m"],
    ["--text", String(repeating: "x", count: 500)],
  ])
  func `what cannot be asked is refused before the port is opened`(words: [String]) async throws {
    let ending = try await Program(["ask", "-p", "/dev/null/no", "--title", "t"] + words).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
  }
}
