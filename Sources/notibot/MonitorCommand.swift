import ArgumentParser
import Foundation
import SerialLink

/// `notibot monitor`: what a board prints and sends, without being its host.
struct MonitorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "monitor",
    abstract: "Shows what a board prints, and the frames between, without being its host.",
    discussion: """
      Sends nothing but what --send-line and a person's keys say; opening the port resets no board that can be left \
      alone. With a terminal as standard input keys go to the device, Ctrl-C too, and Ctrl-] leaves. A port that goes \
      away is waited for. Expressions are run on each line as it is shown, without colours and timestamps.

      \(ExitStatus.helpTable)
      """)

  @OptionGroup var line: LineOptions

  @Option(help: ArgumentHelp("End with 0 when a line matches.", valueName: "regex"))
  var until: String?

  @Option(help: ArgumentHelp("End with 1 when a line matches.", valueName: "regex"))
  var failOn: String?

  @Option(
    help: ArgumentHelp(
      "End after so long: with 13 if --until has not been seen, with 0 where there is none; 0.1-604800.",
      valueName: "seconds"))
  var timeout: Double?

  @Option(help: ArgumentHelp("Write all that comes to this file, byte for byte.", valueName: "file"))
  var save: String?

  @Option(help: "Before each line: none, clock, iso, delta or epoch.")
  var timestamps = MonitorOptions.Timestamps.none

  @Option(help: "How much of frames: none, summary or full.")
  var frames = MonitorOptions.Frames.summary

  @Flag(help: "Leave console text out; expressions still see it.")
  var noText = false

  @Flag(help: "Print NDJSON: one document for each line, frame and event.")
  var json = false

  @Option(help: "Let the device's colours through: auto, always or never.")
  var color = MonitorOptions.Color.auto

  @Flag(inversion: .prefixedNo, help: "Wait for a port that went away; without it that ends with 14.")
  var reconnect = true

  @Flag(
    inversion: .prefixedNo,
    help:
      "End with 17 when the device crashes or restarts again and again; usual unless standard input is a terminal."
  )
  var failOnCrash: Bool?

  @Option(
    help: ArgumentHelp("Send this line when the port is open; may be given several times.", valueName: "text")
  )
  var sendLine: [String] = []

  func validate() throws {
    if let timeout, !(0.1...604_800).contains(timeout) {
      throw ValidationError("--timeout is 0.1 to 604800 seconds")
    }
    if sendLine.contains(where: { $0.utf8.count > MonitorOptions.sendLimitBytes }) {
      throw ValidationError("--send-line takes at most \(MonitorOptions.sendLimitBytes) bytes")
    }
  }

  func run() async throws {
    var options = MonitorOptions(
      port: try line.resolvedPort().value,
      serial: SerialOptions(bitsPerSecond: try line.resolvedBitsPerSecond().value))
    (options.until, options.failOn, options.save) = (until, failOn, save)
    options.timeout = timeout.map { .seconds($0) }
    (options.isJSON, options.showsText, options.frames) = (json, !noText, frames)
    options.timestamps = timestamps
    options.usesColor =
      switch color {
      case .auto: Output.usesColor()
      case .always: true
      case .never: false
      }
    options.reconnects = reconnect
    options.takesKeys = isatty(STDIN_FILENO) == 1
    options.failsOnCrash = failOnCrash ?? !options.takesKeys
    options.linesToSend = sendLine
    guard options.port.deviceID == nil else {
      throw CommandFailure(
        .usage, "a monitor sends nothing, so it cannot ask boards who they are",
        remedy: "name the port by its path or by usb:VID:PID")
    }
    // Said before a port is opened.
    _ = try MonitorJudge(options)
    let chosen = options
    try await Interruption.cancelling {
      try await Board.withPort(line) { name in
        var options = chosen
        options.port = name
        try await MonitorRun(options: options).perform()
      }
    }
  }
}
