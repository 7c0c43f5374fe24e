import Foundation
import Glibc
import Testing

/// `notibot` on a computer whose USB serial ports are these terminals: `Tests/mocked/namespace.sh`.
enum MountNamespace {
  private static let unshare = "/usr/bin/unshare"
  private static let options = geteuid() == 0 ? ["-m"] : ["-rm"]
  private static let script = MockScript.path("namespace.sh")

  /// The number of the first port, unique to this test run.
  private static let firstNumber = Int(getpid()) * 10

  /// The name of a port, counted from 0.
  static func port(_ index: Int) -> String { "/dev/ttyUSB\(firstNumber + index)" }

  /// Whether this user can mount in a separate namespace.
  static let isAvailable: Bool = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: unshare)
    process.arguments = options + ["/bin/bash", script, "\(firstNumber)", "--", "/bin/true"]
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return false }
    process.waitUntilExit()
    return process.terminationStatus == 0
  }()

  static func start(_ terminals: [String], _ arguments: [String]) throws -> Program {
    try Program(
      options + ["/bin/bash", script, "\(firstNumber)"] + terminals + ["--", Program.notibot] + arguments,
      program: unshare)
  }

  /// Runs `notibot` with an empty folder, such as /dev.
  static func runWithout(_ folder: String, _ arguments: [String]) async throws -> Program.Ending {
    let command = "mount -t tmpfs none \(folder) && exec \"$@\""
    return try await Program(
      options + ["/bin/sh", "-c", command, "sh", Program.notibot] + arguments, program: unshare
    ).ending()
  }

  static func run(_ terminals: [String], _ arguments: String...) async throws -> Program.Ending {
    try await start(terminals, arguments).ending()
  }
}

/// Boards that answer at USB ports: which are probed, which is selected, and what is written to
/// each.
@Suite(
  .inTurn, .serialized,
  .enabled(if: MountNamespace.isAvailable, "needs to mount in a namespace of its own: unshare -m, or -rm"))
struct MockedBoardsTests {
  private static let id = "24:6F:28:AA:BB:CC"

  /// Commands that end on their own.
  private static let commands = [
    ["count"], ["send", "--app", "a"], ["test", "--filter", "^FRM-1/zeros-around$"],
    ["bench", "--count", "5", "--trips", "0"], ["soak", "--duration", "10s"],
  ]

  @Test func `devices --probe reports the boards that answer and those that do not`() async throws {
    let mute = try Descriptor.terminal()
    let mutePath = try ControlledTerminal.slavePath(of: mute.read)
    try await withEmulator { emulator in
      let ending = try await MountNamespace.run(
        [emulator.port, mutePath], "devices", "--probe", "--timeout", "5", "--json")
      #expect(ending.status == .exited(0), "\(ending.errors)")
      let ports = try JSON(parsing: ending.output)["ports"].elements
      #expect(
        ports.first?["notibot"] == [
          "deviceID": .string(Self.id), "firmware": "notibot", "version": "1.0.0", "count": 0,
        ])
      #expect(ports.last?["unasked"] == "no answer")
      let table = try await MountNamespace.run([emulator.port], "devices", "--probe")
      #expect(table.output.contains("\(Self.id), notibot 1.0.0, 0 stored"), "\(table.output)")
    }
  }

  @Test func `a board in use is listed with its holder, and not probed`() async throws {
    try await withEmulator { emulator in
      let watch = try MountNamespace.start([emulator.port], ["watch", "-p", "auto"])
      #expect(try await watch.output.line(0) == "count 0")
      let ending = try await MountNamespace.run([emulator.port], "devices", "--probe", "--json")
      let port = try #require(try JSON(parsing: ending.output)["ports"].elements.first)
      #expect(port["heldBy"]["command"].string?.hasSuffix("watch -p auto") == true, "\(port)")
      #expect(port["unasked"] == "not probed: in use")
      watch.send(SIGINT)
      _ = await watch.ending()
    }
  }

  @Test(arguments: commands)
  func `a board identity is found next to a board that does not answer`(command: [String])
    async throws
  {
    let mute = try Descriptor.terminal()
    let mutePath = try ControlledTerminal.slavePath(of: mute.read)
    try await withEmulator { emulator in
      let program = try MountNamespace.start(
        [mutePath, emulator.port], command + ["-p", "id:\(Self.id.lowercased())"])
      let ending = await program.ending()
      #expect(ending.status == .exited(0), "\(ending.errors)")
    }
  }

  @Test(arguments: commands.dropLast())
  func `two boards of one identity are an error that names both, and nothing is stored`(command: [String])
    async throws
  {
    try await withEmulator { first in
      try await withEmulator { second in
        let program = try MountNamespace.start([first.port, second.port], command + ["-p", "id:\(Self.id)"])
        let ending = await program.ending()
        #expect(ending.status == .exited(10))
        #expect(
          ending.errors.contains(
            "cannot choose id:\(Self.id): 2 ports match: \(MountNamespace.port(0)), \(MountNamespace.port(1))"
          ),
          "\(ending.errors)")
        #expect(try await first.stored() == [])
        #expect(try await second.stored() == [])
      }
    }
  }

  @Test(arguments: commands.dropLast())
  func `an unknown identity is noBoard, and nothing is stored`(command: [String]) async throws {
    try await withEmulator { emulator in
      let program = try MountNamespace.start([emulator.port], command + ["-p", "id:24:6F:28:00:00:01"])
      let ending = await program.ending()
      #expect(ending.status == .exited(10))
      #expect(ending.errors.contains("\(MountNamespace.port(0)) is \(Self.id)"), "\(ending.errors)")
      #expect(try await emulator.stored() == [])
    }
  }
}
