import ArgumentParser
import Foundation
import SerialLink

/// The options that name one board or several, for `test`.
struct BoardOptions: ParsableArguments {
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The port: /dev/ttyACM0, auto, usb:VID:PID[:SERIAL], socket://host:port, emu:[profile] or qemu:[elf]; several times for several boards.",
      discussion: "Without it: NOTIBOT_PORT, else ESPPORT, else auto.", valueName: "port"))
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

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Bits per second.", discussion: "Without it: NOTIBOT_BAUD, else ESPBAUD, else 921600.",
      valueName: "rate"))
  var baud: String?

  @Option(
    help: ArgumentHelp(
      "How long the device has to answer the first time, 0.1-600.",
      discussion: "Longer for a board that restarts when its port is opened.", valueName: "seconds"))
  var timeout = 1.8

  func validate() throws {
    guard (0.1...600).contains(timeout) else { throw ValidationError("--timeout is 0.1 to 600 seconds") }
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
  func resolvedPort() throws -> Sourced<PortSpecifier> {
    try PortSelection.port(option: port.first, environment: ProcessInfo.processInfo.environment)
  }

  /// All ports that are meant, each once. Throws `PortError` when one cannot be read.
  func resolvedPorts(_ list: PortList = PortList()) throws -> [String] {
    let specifiers =
      port.isEmpty ? [try resolvedPort().value] : try port.map { try PortSpecifier(parsing: $0) }
    var paths: [String] = []
    for specifier in specifiers {
      // Without --all a name means one board. One that nothing answers to is a board that cannot be opened.
      let found =
        all ? (try? list.all(matching: specifier)) ?? [specifier.description] : [specifier.description]
      paths += found.filter { !paths.contains($0) }
    }
    return paths
  }

  /// The rate that is meant, in bits per second. Throws `PortError` when it is no rate.
  func resolvedBitsPerSecond() throws -> Sourced<UInt32> {
    try PortSelection.bitsPerSecond(option: baud, environment: ProcessInfo.processInfo.environment)
  }
}
