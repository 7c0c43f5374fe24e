import ArgumentParser
import Foundation
import SerialLink

/// The options that name one board or several, for `test`.
struct BoardOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Port: \(PortName.allForms). Repeat it for several boards.",
      discussion: LineOptions.portDefault, valueName: "port"))
  var port: [String] = []

  @Flag(help: "Test all boards that match --port in parallel; with auto, every known board.")
  var all = false

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Boards to test in parallel, 1-\(AllBoards.limit) (default: all).",
      discussion: """
        With --rig pty, rfc2217, ble or qemu: devices to start, each for a part of the cases (default: \
        16; qemu: 4).
        """, valueName: "number")
  )
  var jobs: Int?

  @OptionGroup var rate: RateOptions
  @OptionGroup var answer: AnswerOptions

  func validate() throws {
    guard (1...AllBoards.limit).contains(jobs ?? 1) else {
      throw ValidationError("--jobs must be 1 to \(AllBoards.limit)")
    }
    guard port.count <= AllBoards.limit else {
      throw ValidationError("--port can be given at most \(AllBoards.limit) times")
    }
  }
}

extension BoardOptions {
  /// The selected port, and the source of its name. Throws `PortError` when the name is invalid.
  func resolvedPort() throws -> Sourced<PortName> {
    try PortSelection.port(option: port.first, environment: ProcessInfo.processInfo.environment)
  }

  /// The selected ports, without duplicates. Throws `PortError` when a name is invalid.
  func resolvedPorts() async throws -> [PortName] {
    let given = port.isEmpty ? [try resolvedPort().value] : try port.map { try PortName(parsing: $0) }
    var names: [PortName] = []
    for name in given {
      // A name means several boards only with --all. A name without a match is reported as a board
      // that cannot be opened.
      let found = all ? try await AllBoards.matching(name) : [name]
      names += found.filter { !names.contains($0) }
    }
    return names
  }
}
