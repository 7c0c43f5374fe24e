import ArgumentParser
import Foundation
import SerialLink

/// `notibot monitor`: shows the output of a board without being its host.
struct MonitorCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "monitor",
    abstract: "Show a board's console text and frames without being its host.",
    discussion: """
      Sends only the text of --send-line and keys. Opening the port does not reset the board if that can be avoided. If \
      standard input is a terminal, keys go to the device, including Ctrl-C; Ctrl-] exits, and Ctrl-T h shows commands. \
      If the port disappears, the command waits for it to return. Without -b, other rates are tried while most of the \
      bytes are not text. Expressions are matched against each line without colours and timestamps.
      """)

  @OptionGroup var line: LineOptions

  @Option(help: ArgumentHelp("Exit with 0 when a line matches.", valueName: "regex"))
  var until: String?

  @Option(help: ArgumentHelp("Exit with 1 when a line matches.", valueName: "regex"))
  var failOn: String?

  @Flag(help: "Let $ match also where a line has not ended, as behind a prompt.")
  var matchPrompts = false

  @Option(
    help: ArgumentHelp(
      "Time to run, 0.1-604800 (default: unlimited); then exit with 13 if --until was given, else with 0.",
      valueName: "seconds"))
  var timeout: Double?

  @Option(
    help: ArgumentHelp("Write the received bytes to this file.", valueName: "file"),
    completion: .file())
  var save: String?

  @Option(
    help: ArgumentHelp(
      "Decode the addresses of a crash with this ELF file of the firmware.", valueName: "file"),
    completion: .file())
  var elf: String?

  @Option(
    help: ArgumentHelp("Save core dumps that the device prints in this folder.", valueName: "folder"),
    completion: .directory)
  var coreDumps: String?

  @Option(
    help: ArgumentHelp(
      "Print lines by tag and level of ESP-IDF's log, such as '*:W wifi:I'; expressions still match the others.",
      valueName: "tag:level"))
  var filter: String?

  @Option(
    help: ArgumentHelp(
      "Firmware that Ctrl-T f writes, as 'flash' does; a build folder, or images; can be repeated.",
      valueName: "image[@offset]"),
    completion: .file())
  var flash: [String] = []

  @Option(help: "Timestamp before each line.")
  var timestamps = MonitorOptions.Timestamps.none

  @Option(help: "Details of frames.")
  var frames = MonitorOptions.Frames.summary

  @Flag(help: "Do not print console text; expressions still match it.")
  var noText = false

  @Flag(help: "Print NDJSON: one document per line, frame and event.")
  var json = false

  @Option(help: "Print the device's colours.")
  var color = MonitorOptions.Color.auto

  @Flag(inversion: .prefixedNo, help: "Wait for a port that disappeared to return, or exit with 14.")
  var reconnect = true

  /// A job that waits for a line would time out with 13, for a device that printed its reason.
  @Flag(
    inversion: .prefixedNo,
    help:
      "Exit with 17 on a crash or a reboot loop (default: if standard input is not a terminal)."
  )
  var failOnCrash: Bool?

  @Option(
    help: ArgumentHelp("Send this line when the port is opened; can be repeated.", valueName: "text")
  )
  var sendLine: [String] = []

  @Flag(help: "Restart the board when the port is open, so that its boot is shown.")
  var reset = false

  func validate() throws {
    if let timeout, !(0.1...604_800).contains(timeout) {
      throw ValidationError("--timeout must be 0.1 to 604800 seconds")
    }
    if sendLine.contains(where: { $0.utf8.count > MonitorOptions.sendLimitBytes }) {
      throw ValidationError("--send-line takes at most \(MonitorOptions.sendLimitBytes) bytes")
    }
  }

  func run() async throws { try await run(resetting: reset ? .required : .none) }

  func run(resetting reset: MonitorOptions.Reset) async throws {
    let rate = try line.resolvedBitsPerSecond()
    var options = MonitorOptions(
      port: try line.resolvedPort().value, serial: SerialOptions(bitsPerSecond: rate.value))
    options.searchesRate = rate.source == .standard
    (options.until, options.failOn, options.save) = (until, failOn, save)
    options.matchesPrompts = matchPrompts
    options.timeout = timeout.map { .seconds($0) }
    options.decoder = try elf.map { try CrashDecoder(elf: $0) }
    options.filter = try filter.map { try MonitorOptions.filter($0) }
    options.coreDumps = try coreDumps.map { try Self.folder($0) }
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
    (options.linesToSend, options.reset) = (sendLine, reset)
    options.images = flash
    // Reports a missing image before a port is opened.
    if !flash.isEmpty { _ = try await FlashFiles(flash).plan(chip: nil) }
    // Reports a wrong expression before a port is opened.
    _ = try MonitorJudge(options)
    let chosen = options
    Output.endWithReader()
    try await Interruption.cancelling {
      try await BoardAccess.withPort(line) { name in
        var options = chosen
        options.port = try Self.port(name)
        let end = options.timeout.map { ContinuousClock.now + $0 }
        while try await MonitorRun(options: options).perform() {
          do {
            try await FlashAgain(images: options.images, rate: rate.value).perform(at: options.port)
          } catch let error where !Task.isCancelled {
            Output.note(errorText(error))
          }
          (options.linesToSend, options.reset) = ([], .ifPossible)
          options.isContinued = true
          options.timeout = end.map { max(.milliseconds(1), $0 - .now) }
        }
      }
    }
  }

  /// A board's id is looked for among the serial numbers of USB devices: a monitor sends nothing,
  /// and so cannot ask the boards.
  private static func port(_ name: PortName) throws(Failure) -> PortName {
    guard let id = name.deviceID else { return name }
    func plain(_ text: String) -> String { text.uppercased().filter { $0 != ":" && $0 != "-" } }
    let boards = PortList().ports().compactMap { port in
      port.usb.flatMap { usb in usb.serial.map { (id: usb.id, serial: $0) } }
    }
    guard let board = boards.first(where: { plain($0.serial) == plain(id) }) else {
      throw Failure(
        .noBoard, "no USB device has the serial number \(id.printable), and monitor asks no board for its id",
        remedy: "name the port by its path or by usb:VID:PID; 'notibot devices --probe' shows the ids")
    }
    return .usb(board.id, serial: board.serial)
  }

  private static func folder(_ path: String) throws(Failure) -> String {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue,
      access(path, W_OK) == 0
    else {
      throw Failure(
        .usage, "cannot save core dumps in \(path.printable): it is not a folder that you can write to",
        remedy: "create it with mkdir")
    }
    return path
  }
}
