import Foundation
import Glibc
import SerialLink
import Testing

@Suite(.inTurn) struct UsageTests {
  /// The program's own list, in which nothing is hidden.
  private struct Dump: Decodable {
    struct Command: Decodable {
      struct Argument: Decodable {
        struct Name: Decodable { var name: String }
        var names: [Name]?
      }

      var commandName: String
      var abstract: String?
      var shouldDisplay: Bool?
      var subcommands: [Command]?
      var arguments: [Argument]?

      /// Whether it has `-p`, the port of a board.
      var opensPort: Bool { arguments?.contains { $0.names?.contains { $0.name == "p" } == true } == true }
    }

    var command: Command
  }

  /// The groups of `notibot --help`, and the commands in each.
  static let groups = [
    "USE A DEVICE": [
      "devices", "send", "count", "watch", "monitor", "forward", "ask", "share", "outbox", "reset", "flash",
    ],
    "TEST": ["test", "soak"], "EMULATE": ["emulate", "control", "view", "proxy"],
    "MEASURE": ["bench", "report"], "RECEIVE PUSHES": ["gateway"],
    "SET UP": ["doctor", "udev-rules", "image", "docs"],
  ]
  static let exitCodes = [0, 1, 2, 10, 11, 12, 13, 14, 15, 16, 17, 18, 130, 143]

  private func commands() async throws -> [Dump.Command] {
    let ending = try await run("--experimental-dump-help")
    let dump = try JSONDecoder().decode(Dump.self, from: Data(ending.output.utf8))
    return (dump.command.subcommands ?? []).filter { $0.commandName != "help" }
  }

  @Test(arguments: [
    ["count", "--no\nfake"], ["count", "-p", "/dev/a\nfake"], ["test", "--seed", "1\nfake"], ["no\nfake"],
    ["test", "--filter", "x\nfake\u{1B}[2J"], ["emulate", "--profile", "a\nfake\u{9B}"],
    ["control", "a\nfake"],
    ["flash", "/no/such\nfake"], ["report", "html", "/no/such\nfake"],
    ["send", "--timestamp", "\nfake\u{7}"],
    ["outbox", "--file", "/no/such\nfake", "list"], ["monitor", "-p", "emu:", "--save", "/no\nfake/x"],
  ])
  func `a line break in an argument does not begin a line, and an escape does nothing`(arguments: [String])
    async throws
  {
    let ending = try await Program(arguments).ending()
    #expect(ending.status != .exited(0))
    #expect(
      !ending.errors.hasControls && !ending.errorLines.contains { $0.hasPrefix("fake") }, "\(ending.errors)")
  }

  @Test func `help lists every command in one group, and all exit codes`() async throws {
    let ending = try await run("--help")
    #expect(ending.status == .exited(0))
    #expect(ending.errors == "")
    var found: [String: [String]] = [:]
    var group: String?
    for line in ending.lines {
      if !line.hasPrefix(" ") {
        group = line.hasSuffix(" SUBCOMMANDS:") ? String(line.dropLast(" SUBCOMMANDS:".count)) : nil
      } else if let group, line.hasPrefix("  "), !line.hasPrefix("   "), !line.hasPrefix("  See ") {
        found[group, default: []].append(String(line.dropFirst(2).prefix { $0 != " " }))
      }
    }
    #expect(found == Self.groups)
    let shown = try await commands().filter { $0.shouldDisplay ?? true }.map(\.commandName)
    #expect(shown.sorted() == found.values.flatMap(\.self).sorted())
    for code in Self.exitCodes {
      #expect(ending.lines.contains { $0.drop { $0 == " " }.hasPrefix("\(code)  ") }, "\(code) is missing")
    }
  }

  @Test func `each command has a page of help, without the table of exit codes`() async throws {
    let commands = try await commands()
    #expect(commands.count >= Self.groups.values.joined().count)
    for command in commands {
      let ending = try await run(command.commandName, "--help")
      #expect(ending.status == .exited(0))
      #expect(ending.output.contains("USAGE: notibot \(command.commandName)"))
      #expect(!ending.output.contains("11  port busy"), "\(command.commandName)")
      let abstract = try #require(command.abstract)
      let verb = abstract.prefix { $0 != " " }
      #expect(!verb.hasSuffix("s"), "\(command.commandName): \(abstract)")
      #expect(abstract.hasSuffix("."), "\(command.commandName): \(abstract)")
    }
  }

  @Test func `help of a command that opens a port lists every form of its name`() async throws {
    let commands = try await commands().filter(\.opensPort).map(\.commandName)
    #expect(Set(commands).isSuperset(of: ["send", "test", "flash"]))
    for command in commands {
      let help = try await run(command, "--help").output.filter { !$0.isWhitespace }
      for form in PortName.forms {
        #expect(help.contains(form.syntax), "\(command): \(form.syntax) is missing")
      }
    }
  }

  @Test(arguments: ["1", "20", "28"])
  func `help fits no narrow terminal, and is printed`(columns: String) async throws {
    let ending = try await Program(["test", "--help"], environment: ["COLUMNS": columns]).ending()
    #expect(ending.status == .exited(0) && ending.output.contains("--rerun-failed"))
  }

  @Test func `the version is one line`() async throws {
    let ending = try await run("--version")
    #expect(ending.status == .exited(0))
    #expect(ending.lines.count == 1)
    #expect(ending.output.wholeMatch(of: /\d+\.\d+\.\d+\n/) != nil)
  }

  @Test(arguments: [
    ["devices", "--watch", "--probe"], ["devices", "--timeout", "1"],
    ["devices", "--baud", "300"],
    ["devices", "--watch", "--timeout", "0"],
    ["--bogus"], ["bogus"], ["count", "--bogus"], ["count", "extra"], ["send"],
    ["send", "--app", "a", "--file", "f"],
    ["send", "--app", "a", "--timestamp", "4294967296"], ["bench", "--count", "0"],
    ["bench", "--window", "33"],
    ["emulate", "--profile", "nope"], ["emulate", "--mode", "nope"], ["emulate", "--latency", "10001"],
    ["emulate", "--seed", "x"], ["emulate", "--usb", "jtag"], ["emulate", "--usbip", "1:x"],
    ["emulate", "--usbip", "1", "--usb", "nope"], ["emulate", "--usbip", "1", "--usbip-attach"],
    ["emulate", "--usbip", "1", "--tcp", "1"], ["emulate", "--usbip", "1", "--serial", "a b"],
    ["emulate", "--view-port", "1"], ["emulate", "--ble-name", "a"], ["emulate", "--first-handle", "0"],
    ["emulate", "--ble", "hci0", "--ble-name", String(repeating: "a", count: 30)],
    ["emulate", "--ble", "hci0", "--ble-address", "24:6F:28:AA:BB:CC"],
    ["emulate", "--ble", "hci0", "--ble-centrals", "5"], ["emulate", "--first-handle", "65530"],
    ["test", "-p", "ble:Notibot@hci0", "--recover"], ["test", "-p", "ble:Notibot@hci0", "--baud", "9600"],
    ["forward", "-p", "ble:Notibot@hci0"],
    ["emulate", "--view", "--usbip", "1", "--usb", "jtag,ftdi"],
    ["control", "stats"], ["view"], ["test", "--rig", "nope"], ["count", "-p", "emu:nope"],
    ["test", "--filter", "("], ["test", "--filter", "no case is called this"],
    ["test", "--rig", "pty", "-p", "/dev/null"], ["test", "--rig", "pty", "--server", "own"],
    ["test", "-p", "emu:", "--server", "stack"], ["test", "--filter", "a", "--filter=b"],
    ["count", "-p", "a", "--port", "b"], ["test", "-p", "emu:", "--junit", "-"],
    ["test", "-p", "emu:", "--html", ""], ["emulate", "--att", "unix:/a", "--control", "/a"],
    ["emulate", "--tcp", "999.1.1.1:0"],
  ])
  func `a wrong option or value ends with 2 and says something on stderr only`(arguments: [String])
    async throws
  {
    let ending = try await Program(arguments).ending()
    #expect(ending.status == .exited(2))
    #expect(ending.output == "")
    #expect(!ending.errorLines.isEmpty)
  }

  @Test func `without its program, gateway ends with 18 and the command that installs it`() async throws {
    // Alone in a folder: this build can have the trait. A link, because a copy is busy while
    // another test starts a process that inherits its descriptor.
    let folder = URL(filePath: Program.notibot).deletingLastPathComponent().appending(
      path: "alone-\(getpid())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let program = folder.appending(path: "notibot").path
    try FileManager.default.linkItem(atPath: Program.notibot, toPath: program)
    let ending = try await Program(["gateway", "status"], program: program).ending()
    #expect(ending.status == .exited(18))
    #expect(ending.errors.contains("pip install notibot-gateway"))
    #expect(ending.output == "")
  }

  @Test func `docs prints the pages of this version`() async throws {
    let list = try await run("docs")
    #expect(list.status == .exited(0) && list.lines.contains { $0.hasPrefix("PROTOCOL ") })
    let page = try await run("docs", "docs/cli.md")
    #expect(page.lines.first == "# The command line" && page.status == .exited(0))
    #expect(try await run("docs", "../README").status == .exited(2))
  }

  @Test func `udev-rules prints the rules and nothing else`() async throws {
    let ending = try await run("udev-rules")
    #expect(ending.status == .exited(0))
    #expect(ending.errors == "")
    #expect(ending.lines.first == "# Boards that notibot knows. Made by: notibot udev-rules")
    #expect(ending.lines.last == #"LABEL="notibot_end""#)
  }
}
