import ArgumentParser
import Foundation
import SerialLink

/// The options that name one board or several, for `test`.
struct BoardOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The port: \(PortName.allForms); several times for several boards.",
      discussion: LineOptions.portDefault, valueName: "port"))
  var port: [String] = []

  @Flag(help: "Every board that --port means, at once: with auto every known one.")
  var all = false

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "How many boards are tested at once, 1-\(BoardsRun.boardsLimit); all of them without it.",
      valueName: "number")
  )
  var jobs: Int?

  @OptionGroup var rate: RateOptions
  @OptionGroup var answer: AnswerOptions

  func validate() throws {
    guard (1...BoardsRun.boardsLimit).contains(jobs ?? 1) else {
      throw ValidationError("--jobs is 1 to \(BoardsRun.boardsLimit)")
    }
    guard port.count <= BoardsRun.boardsLimit else {
      throw ValidationError("--port may be given \(BoardsRun.boardsLimit) times")
    }
  }
}

extension BoardOptions {
  /// The one port that is meant, and what named it. Throws `PortError` when its name cannot be read.
  func resolvedPort() throws -> Sourced<PortName> {
    try PortSelection.port(option: port.first, environment: ProcessInfo.processInfo.environment)
  }

  /// All ports that are meant, each once. Throws `PortError` when one cannot be read.
  func resolvedPorts(_ list: PortList = PortList()) throws -> [PortName] {
    let given = port.isEmpty ? [try resolvedPort().value] : try port.map { try PortName(parsing: $0) }
    var names: [PortName] = []
    for name in given {
      // Only with --all a name means several boards. One that matches none is a board that cannot be opened.
      let found = all ? list.all(matching: name) : [name]
      names += found.filter { !names.contains($0) }
    }
    return names
  }
}
