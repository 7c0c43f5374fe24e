import ArgumentParser
import Foundation
import Testing

@testable import Commands

@Suite struct HelpTests {
  private static let lines = Examples.all.values.flatMap { $0.map(\.line) }.sorted()

  @Test(arguments: lines) func `an example is a valid command line`(line: String) throws {
    // What the shell takes away.
    let command = line.components(separatedBy: " < ")[0]
    var words: [String] = []
    for (index, part) in command.components(separatedBy: "'").enumerated() {
      words += index % 2 == 1 ? [part] : part.split(separator: " ").map(String.init)
    }
    _ = try Notibot.parseAsRoot(words)
  }

  @Test func `each example of a page of help begins with the path of its command`() {
    func check(_ command: any ParsableCommand.Type, _ path: String) {
      let help = HelpLayout.wrapped(
        Notibot.helpMessage(for: command, columns: HelpLayout.unwrapped), columns: 80)
      let block = help.components(separatedBy: "\n\n").first { $0.hasPrefix("EXAMPLES\n") } ?? ""
      for line in block.split(separator: "\n") where line.hasPrefix("  notibot ") {
        #expect("\(line) ".hasPrefix("  notibot \(path) "))
      }
      for next in command.configuration.subcommands { check(next, "\(path) \(next._commandName)") }
    }
    for command in Notibot.configuration.subcommands { check(command, command._commandName) }
    for (name, examples) in Examples.all where !name.isEmpty {
      #expect(examples.allSatisfy { "\($0.line) ".hasPrefix("\(name) ") })
    }
  }

  @Test func `every command that opens a port has examples`() {
    for command in Notibot.configuration.subcommands {
      let help = HelpLayout.wrapped(
        Notibot.helpMessage(for: command, columns: HelpLayout.unwrapped), columns: 80)
      #expect(!help.contains("--port") || help.contains("\nEXAMPLES\n"), "\(command)")
    }
  }

  @Test(arguments: [40, 60, 80]) func `no line is wider than the terminal, and none leaves its column`(
    columns: Int
  ) {
    let text = """
      COMMANDS
        reboot [REASON]   restart the device: power-on, software, panic, brownout
      USAGE: notibot send [--port <port>] [--baud <rate>] [--timeout <seconds>]

      OPTIONS:
        -p, --port <p>    Port: /dev/NAME, auto, usb:VID:PID[:SERIAL] or id:DEVICE-ID.
              Default: NOTIBOT_PORT, else ESPPORT, else auto, which is the only board.
      """
    let lines = HelpLayout.wrapped(text, columns: columns).components(separatedBy: "\n")
    #expect(lines.allSatisfy { $0.count <= columns }, "\(lines)")
    for (index, line) in lines.enumerated().dropFirst() {
      let start = line.prefix { $0 == " " }.count
      let before = lines[index - 1].prefix { $0 == " " }.count
      #expect([0, 2, 7, 8, 18, 20].contains(start) || start == before, "\(line)")
    }
    // An option and its value stay together.
    #expect(lines.contains { $0.contains("[--timeout <seconds>]") })
    let words = { (text: String) in text.split { $0 == " " || $0 == "\n" } }
    #expect(words(lines.joined(separator: "\n")) == words(text))
  }

  @Test func `exit codes come last`() {
    let text = "OVERVIEW: A\n\nEXIT CODES\n   0  good\n\nUSAGE: b\n\nOPTIONS:\n  -h  c\n"
    #expect(
      HelpLayout.wrapped(text, columns: 80)
        == "OVERVIEW: A\n\nUSAGE: b\n\nOPTIONS:\n  -h  c\n\nEXIT CODES\n   0  good\n")
  }

  @Test func `an emulator is known by its command line`() {
    func place(_ words: String...) -> String? { RunningEmulator.places(words, in: "/w").first }
    #expect(place("/usr/bin/notibot", "emulate", "--json", "--link", "/tmp/a") == "/tmp/a")
    #expect(place("notibot", "emulate", "--tcp", "127.0.0.1:4000") == "socket://127.0.0.1:4000")
    #expect(place("notibot", "emulate", "--link", "a/b") == "/w/a/b")
    #expect(place("notibot", "emulate", "--tcp", "[::1]:0") == "--tcp [::1]:0, at a port that it has printed")
    #expect(place("notibot", "emulate") != nil)
    let several = [
      ("--link", "/tmp/a", "/tmp/a-2"), ("--rfc2217", "127.0.0.1:4000", "rfc2217://127.0.0.1:4001"),
    ]
    for (option, value, last) in several {
      let places = RunningEmulator.places(["notibot", "emulate", "--count", "2", option, value], in: "")
      #expect(places.count == 2 && places.last == last)
    }
    #expect(
      place("notibot", "test", "-p", "emu:") == nil && place("other", "emulate") == nil && place() == nil)
  }
}
