import Foundation
import Glibc
import Testing

/// A mocked USB serial port with a mocked board behind its lines: `Tests/mocked/lines.py`.
enum Umockdev {
  /// Why it cannot be used here; nil if it can.
  static let lack: String? = {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: python)
    process.arguments = [
      "-c", "import gi; gi.require_version('UMockdev', '1.0'); from gi.repository import UMockdev",
    ]
    process.standardError = FileHandle.nullDevice
    let programs = [wrapper, "/usr/bin/cc", python]
    guard programs.allSatisfy(FileManager.default.isExecutableFile(atPath:)), (try? process.run()) != nil
    else {
      return "umockdev, Python or a C compiler is not installed"
    }
    process.waitUntilExit()
    return process.terminationStatus == 0 ? nil : "gir1.2-umockdev-1.0 or python3-gi is not installed"
  }()

  static let isDemanded =
    (ProcessInfo.processInfo.environment["NOTIBOT_RIG_REQUIRE"] ?? "")
    .split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces) == "umockdev" }

  /// Whether tests with it are run: if it is required, they fail instead of being skipped.
  static let isThere = lack == nil || isDemanded

  static let wrapper = "/usr/bin/umockdev-wrapper"
  static let python = "/usr/bin/python3"

  /// One operation on the port.
  struct Step: Decodable, Sendable {
    var seconds: Double
    var call: String
    var dtr: Bool?
    var rts: Bool?
    var error: String?
    var hupcl: Bool?
    var loader: Bool?
    var latency: String?
    var lowLatency: Bool?
    var arguments: String?
  }

  /// How a program ended, and its operations on the port.
  struct Run: Sendable {
    var ending: Program.Ending
    var steps: [Step]

    /// Each change of the lines, as `DR`.
    var lines: [String] {
      steps.filter { $0.call == "TIOCMSET" }.map {
        ($0.dtr == true ? "1" : "0") + ($0.rts == true ? "1" : "0")
      }
    }

    func steps(_ call: String) -> [Step] { steps.filter { $0.call == call } }

    /// Whether umockdev itself aborted: 0.17 does if a listener closes its socket at the moment at
    /// which the mock sends an event, and in the program under test if the mock takes a device away
    /// at the moment at which that opens it. That run shows nothing about the program.
    var isMockAborted: Bool {
      [.killed(signal: SIGABRT), .exited(128 + SIGABRT)].contains(ending.status)
        && ["uevent_sender sendmsg_one", "libumockdev-preload.c"].contains { ending.errors.contains($0) }
    }
  }

  /// Runs `notibot` with a mocked port; `PORT` among its arguments is the path of that port.
  static func run(_ board: [String], _ arguments: String...) async throws -> Run {
    try await run(board, arguments)
  }

  static func run(_ board: [String], _ arguments: [String]) async throws -> Run {
    var run = try await runOnce(board, arguments)
    for _ in 0..<3 where run.isMockAborted { run = try await runOnce(board, arguments) }
    return run
  }

  private static func runOnce(_ board: [String], _ arguments: [String]) async throws -> Run {
    let directory = try TemporaryDirectory()
    let words = [python, MockScript.path("lines.py"), "--record", directory.file("record")] + board
    let program = try Program(
      words + ["--", Program.notibot] + arguments, program: wrapper)
    let ending = await program.ending()
    let steps = try directory.contents(of: "record").split(separator: "\n").map {
      try JSONDecoder().decode(Step.self, from: Data($0.utf8))
    }
    return Run(ending: ending, steps: steps)
  }

  /// The options that put an emulator behind the lines.
  static func behind(_ emulator: Emulator) -> [String] { ["--emulator", emulator.port, emulator.control] }
}

@Suite struct UmockdevDemand {
  @Test(.enabled(if: Umockdev.isDemanded, "NOTIBOT_RIG_REQUIRE does not list umockdev"))
  func `mocked ports can be created if they are required`() {
    #expect(Umockdev.lack == nil)
  }
}
