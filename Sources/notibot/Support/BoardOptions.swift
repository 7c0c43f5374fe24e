import ArgumentParser
import Foundation
import SerialLink

/// The options that name one board or several, for `test`.
struct BoardOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The port: \(LineOptions.portForms); several times for several boards.",
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
  func resolvedPorts(_ list: PortList = PortList()) throws -> [String] {
    let specifiers =
      port.isEmpty ? [try resolvedPort().value] : try port.map { try PortName(parsing: $0) }
    var paths: [String] = []
    for specifier in specifiers {
      // Without --all a name means one board. One that nothing answers to is a board that cannot be opened.
      let found =
        all ? (try? list.all(matching: specifier)) ?? [specifier.description] : [specifier.description]
      paths += found.filter { !paths.contains($0) }
    }
    return paths
  }
}
