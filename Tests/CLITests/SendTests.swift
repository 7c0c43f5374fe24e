import Foundation
import Glibc
import Testing

/// `notibot send`: 0 only if the device accepted every notification, and no accepted one is lost.
@Suite(.inTurn) struct SendTests {
  private static func line(_ title: String) -> String {
    #"{"app":"Messages","title":"\#(title)","text":"See you","timestamp":1234567890}"#
  }

  /// Fills the store with this many notifications.
  private func store(_ count: Int, on emulator: Emulator) async throws {
    let text = String(repeating: Self.line("old") + "\n", count: count)
    #expect(try await run("send", "-p", emulator.port, "--file", "-", input: text).status == .exited(0))
  }

  @Test func `one notification is stored with the given fields`() async throws {
    try await withEmulator { emulator in
      let ending = try await run(
        "send", "-p", emulator.port, "--app", "Messages", "--title", "Jane \"J\" Doe", "--text", "Grüße 👋\n2",
        "--timestamp", "1234567890")
      #expect(ending.status == .exited(0))
      #expect(ending.output == "accepted\n")
      #expect(ending.errors == "")
      #expect(
        try await emulator.stored() == [
          #"{"app":"Messages","title":"Jane \"J\" Doe","text":"Grüße 👋\n2","timestamp":1234567890}"#
        ])
    }
  }

  @Test func `level, buttons and the optional keys of a file reach a display that has them`() async throws {
    let words = ["send", "--timestamp", "1", "Deploy?", "--level", "critical", "--actions", "Yes, No"]
    let four = #"{"app":"","title":"","text":"Deploy?","timestamp":1"#
    let keys = #","lvl":3,"act":["Yes","No"]}"#
    try await withEmulator { emulator in
      let ending = try await Program(words + ["-p", emulator.port]).ending()
      #expect(ending.status == .exited(0) && ending.errors == "")
      let file = four + #","id":7,"ev":"r""# + keys
      #expect(try await run("send", "-p", emulator.port, "--file", "-", input: file).status == .exited(0))
      #expect(try await emulator.stored() == [four + keys, four + keys])
    }
    try await withEmulator("--profile", "firmware") { emulator in
      let ending = try await Program(words + ["-p", emulator.port]).ending()
      #expect(ending.status == .exited(0) && ending.errors.contains("has no levels and buttons"))
      #expect(try await emulator.stored() == [four + "}"])
    }
    #expect(try await Program(words + ["--actions", "A,A"]).ending().status == .exited(2))
  }

  @Test func `the text is an argument, or standard input as it is`() async throws {
    try await withEmulator { emulator in
      let words = ["send", "-p", emulator.port, "--timestamp", "1", "--title", "t"]
      #expect(try await Program(words + ["Build done"]).ending().status == .exited(0))
      #expect(try await Program(words + ["-"], input: "one\n\n two\n").ending().status == .exited(0))
      let long = String(repeating: "x", count: 100_000)
      let refused = try await Program(words + ["-"], input: long).ending()
      #expect(refused.status == .exited(2) && refused.errors.contains("more than 65536 bytes"))
      #expect(try await Program(words + ["a", "--text", "b"]).ending().status == .exited(2))
      #expect(
        try await emulator.stored() == [
          #"{"app":"","title":"t","text":"Build done","timestamp":1}"#,
          #"{"app":"","title":"t","text":"one\n\n two","timestamp":1}"#,
        ])
    }
  }

  @Test func `without a timestamp it is now, without a text it is empty`() async throws {
    try await withEmulator { emulator in
      let before = Date().timeIntervalSince1970.rounded(.down)
      #expect(try await run("send", "-p", emulator.port, "--title", "t").status == .exited(0))
      let stored = try JSON(parsing: try #require(try await emulator.stored().first))
      #expect(stored["app"] == "" && stored["title"] == "t" && stored["text"] == "")
      let timestamp = try #require(stored["timestamp"].number)
      #expect((before...Date().timeIntervalSince1970).contains(timestamp))
    }
  }

  @Test func `a file's lines are sent in order, without empty ones, the last without its newline`()
    async throws
  {
    try await withEmulator { emulator in
      let text = Self.line("1") + "\n\n  \t\r\n" + Self.line("2") + "\r\n" + Self.line("3")
      let file = try emulator.directory.write(text, to: "lines")
      let ending = try await run("send", "-p", emulator.port, "--file", file)
      #expect(ending.status == .exited(0))
      #expect(ending.output == "3 accepted, 0 refused\n")
      #expect(try await emulator.stored() == ["1", "2", "3"].map(Self.line))
    }
  }

  @Test func `standard input is sent line by line while it is still open`() async throws {
    try await withEmulator { emulator in
      let send = try Program(["send", "-p", emulator.port, "--file", "-", "--json"], input: nil)
      for number in 1...3 {
        send.write(Self.line("\(number)") + "\n")
        let answer = try JSON(parsing: try await send.output.line(number - 1))
        #expect(answer == ["line": .number(Double(number)), "result": "accepted"])
      }
      #expect(try await emulator.stored().count == 3)
      send.closeInput()
      let ending = await send.ending()
      #expect(ending.status == .exited(0))
      #expect(ending.lines.count == 3)
    }
  }

  @Test(arguments: [
    ("not json", "not a JSON object"), (#"{"app":"a","title":"t","text":"x"}"#, "'timestamp' is missing"),
    (#"{"app":"a","title":"t","text":1,"timestamp":1}"#, "'text' has the wrong type"),
    (#"{"app":"a","title":"t","text":"x","timestamp":1.0}"#, "'timestamp' is not a whole number"),
    (#"{"app":"a","title":"t","text":"x","timestamp":4294967296}"#, "'timestamp' is out of range"),
    (#"{"app":"a","app":"b","title":"t","text":"x","timestamp":1}"#, "a key stands twice"),
    (#"{"app":"a","title":"t","text":"\ud800","timestamp":1}"#, "half of a surrogate pair"),
    (#"{"app":"a","title":"t","text":"x","timestamp":1} x"#, "something follows the object"),
    (#"{"app":"\#u{1B}[2J","title":"t","text":"x","timestamp":1}"#, "a control character is not escaped"),
    (#"{"z":\#(String(repeating: "[", count: 10_000))"#, "nested more than 8 deep"),
  ])
  func `an invalid line is reported, and the lines before it are sent`(
    bad: String, reason: String
  ) async throws {
    try await withEmulator { emulator in
      let text = [Self.line("1"), "", Self.line("2"), bad, Self.line("3")].joined(separator: "\n")
      let ending = try await run("send", "-p", emulator.port, "--file", "-", input: text + "\n")
      #expect(ending.status == .exited(2))
      #expect(ending.output == "2 accepted, 0 refused\n")
      #expect(ending.errorLines.count == 1)
      #expect(ending.errors.contains("line 4 is not a notification"))
      #expect(ending.errors.contains(reason), "\(ending.errors)")
      #expect(!ending.errors.hasControls)
      #expect(try await emulator.stored() == ["1", "2"].map(Self.line))
    }
  }

  @Test func `an endless line is refused while it is read`() async throws {
    let text = Self.line("1") + "\n" + String(repeating: "x", count: 200_000)
    let ending = try await run("send", "-p", "emu:", "--file", "-", input: text)
    #expect(ending.status == .exited(2))
    #expect(ending.output == "1 accepted, 0 refused\n")
    #expect(ending.errors.contains("line 2 has more than 65536 bytes"))
  }

  @Test(arguments: ["", "\n", " \n\n"])
  func `a file without lines sends nothing and succeeds`(text: String) async throws {
    try await withEmulator { emulator in
      let file = try emulator.directory.write(text, to: "lines")
      let ending = try await run("send", "-p", emulator.port, "--file", file)
      #expect(ending.status == .exited(0))
      #expect(ending.output == "" && ending.errors == "")
      #expect(try await emulator.statistics()["count"] == 0)
    }
  }

  @Test(arguments: ["/no/such/file", "/tmp"])
  func `a file that cannot be read is a usage error, and the port is not touched`(path: String) async throws {
    let terminal = try ControlledTerminal()
    let ending = try await run("send", "-p", terminal.path, "--file", path)
    #expect(ending.status == .exited(2))
    #expect(ending.errorLines.count == 1)
    #expect(ending.errors.contains("cannot read \(path)"))
    #expect(terminal.receivedBytes() == [])
  }

  @Test func `512 bytes of JSON are stored unchanged, 513 are cut to fit`() async throws {
    try await withEmulator { emulator in
      let frame = #"{"app":"a","title":"t","text":"","timestamp":1}"#.utf8.count
      let lines = [512, 513].map { length in
        #"{"app":"a","title":"t","text":"\#(String(repeating: "x", count: length - frame))","timestamp":1}"#
      }
      let ending = try await run(
        "send", "-p", emulator.port, "--file", "-", input: lines.joined(separator: "\n") + "\n")
      #expect(ending.status == .exited(0))
      let stored = try await emulator.stored()
      try #require(stored.count == 2)
      #expect(stored[0] == lines[0])
      #expect(stored[1].utf8.count == 512)
      #expect(stored[1].hasSuffix(#"x…","timestamp":1}"#))
    }
  }

  @Test func `text is cut between characters, not within them`() async throws {
    try await withEmulator { emulator in
      let family = "👨‍👩‍👧‍👦"
      let ending = try await run(
        "send", "-p", emulator.port, "--app", String(repeating: family, count: 30), "--title",
        String(repeating: "e\u{301}", count: 100), "--timestamp", "1")
      #expect(ending.status == .exited(0))
      let stored = try JSON(parsing: try #require(try await emulator.stored().first))
      // 25 bytes each, 64 allowed, 3 for the ellipsis; 3 bytes each, 128 allowed.
      #expect(stored["app"] == .string(family + family + "…"))
      #expect(stored["title"].string == String(repeating: "e\u{301}", count: 41) + "…")
    }
  }

  @Test func `a full store refuses the next one, with one line of error`() async throws {
    try await withEmulator("--profile", "tiny") { emulator in
      try await store(4, on: emulator)
      let ending = try await run("send", "-p", emulator.port, "--app", "a")
      #expect(ending.status == .exited(15))
      #expect(ending.output == "")
      #expect(ending.errorLines.count == 1)
      for part in [emulator.port, "store full", "0x11", "dismiss"] { #expect(ending.errors.contains(part)) }
      #expect(try await run("count", "-p", emulator.port).output == "4\n")
    }
  }

  @Test func `each refused line is reported, and the others are sent`() async throws {
    try await withEmulator("--profile", "tiny") { emulator in
      try await store(2, on: emulator)
      let text = (1...4).map { Self.line("\($0)") + "\n" }.joined()
      let ending = try await run("send", "-p", emulator.port, "--file", "-", input: text)
      #expect(ending.status == .exited(15))
      #expect(ending.output == "2 accepted, 2 refused\n")
      try #require(ending.errorLines.count == 3)
      #expect(ending.errorLines[0].hasPrefix("line 3: ") && ending.errorLines[1].hasPrefix("line 4: "))
      #expect(ending.errorLines[2].contains("\(emulator.port): the device refused 2 of 4"))
      #expect(try await emulator.stored().suffix(2) == ["1", "2"].map(Self.line))
      let json = try await run(
        "send", "-p", emulator.port, "--file", "-", "--json", input: Self.line("5") + "\n")
      #expect(json.status == .exited(15))
      let answer = try JSON(parsing: json.output)
      #expect(answer["line"] == 1 && answer["result"] == "refused" && answer["attError"] == 17)
    }
  }

  @Test func `firmware that cannot refuse counts as accepting`() async throws {
    try await withEmulator("--profile", "tiny", "--mode", "firmware") { emulator in
      let text = (1...6).map { Self.line("\($0)") + "\n" }.joined()
      let ending = try await run("send", "-p", emulator.port, "--file", "-", input: text)
      #expect(ending.status == .exited(0))
      #expect(ending.output == "6 accepted, 0 refused\n")
      #expect(try await run("count", "-p", emulator.port).output == "4\n")
    }
  }

  @Test func `a device that is unplugged meanwhile is a lost link`() async throws {
    try await withEmulator { emulator in
      try await emulator.ask(["command": "stall"])
      let send = try Program(["send", "-p", emulator.port, "--app", "a"])
      try await emulator.wait(for: "session=1")
      try await emulator.ask(["command": "unplug"])
      let ending = await send.ending()
      #expect(ending.status == .exited(14))
      #expect(ending.output == "")
      #expect(ending.errorLines.count == 1)
      #expect(ending.errors.contains(emulator.port) && ending.errors.contains("check the cable"))
    }
  }

  @Test func `a lost link ends a send whose input is still open`() async throws {
    try await withEmulator { emulator in
      let send = try Program(["send", "-p", emulator.port, "--file", "-", "--json"], input: nil)
      send.write(Self.line("1") + "\n")
      #expect(try JSON(parsing: try await send.output.line(0))["result"] == "accepted")
      try await emulator.ask(["command": "unplug"])
      send.write(Self.line("2") + "\n")
      let ending = await send.ending()
      #expect(ending.status == .exited(14))
      #expect(ending.lines.count == 2)
      #expect(try JSON(parsing: try #require(ending.lines.last))["result"] != "accepted")
    }
  }

  @Test func `a device that restarts meanwhile leaves an unknown outcome`() async throws {
    try await withEmulator { emulator in
      let send = try Program(["send", "-p", emulator.port, "--file", "-", "--json"], input: nil)
      send.write(Self.line("1") + "\n")
      _ = try await send.output.line(0)
      try await emulator.ask(["command": "stall"])
      let before = try await emulator.statistics()["link"]["dataReceived"].number ?? 0
      send.write(Self.line("2") + "\n")
      try await emulator.wait(for: "data>=\(Int(before) + 1)")
      try await emulator.ask(["command": "reboot", "reason": "panic"])
      let ending = await send.ending()
      #expect(ending.status == .exited(17))
      let last = try JSON(parsing: try #require(ending.lines.last))
      #expect(last["line"] == 2 && last["result"] == "unknown")
      #expect(ending.errorLines.last?.contains("\(emulator.port): the device restarted") == true)
    }
  }
}
