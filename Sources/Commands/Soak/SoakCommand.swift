import ArgumentParser
import DeviceEmulator
import Foundation
import NotibotHost
import SerialLink

/// `notibot soak`: forwards notifications for a long time and accounts for each.
struct SoakCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "soak",
    abstract: "Forward notifications for a long time and verify that none is lost or duplicated.",
    discussion: """
      Sends notifications through an outbox and removes the oldest ones so that the device does not fill up. At the \
      end the command compares the notifications on the display with the sent ones, and removes the rest. A device \
      without identities is refused, because notifications cannot be removed from it.

      An emulator ('emu:', or one in another process with --control) is restarted and unplugged at random. --faults \
      injects line faults: into an emulator's own line, or at any other port through a proxy. For the final comparison \
      the faults of an emulator are turned off, those of a proxy are not.
      """)

  @OptionGroup var line: LineOptions

  @OptionGroup var boards: AllBoards

  @Option(
    help: ArgumentHelp("Time to send, 0.1s-1000h; for example 10 or 10s, 5m, 2h.", valueName: "time"),
    transform: SoakTime.init(parsing:))
  var duration: SoakTime

  @Option(
    help: ArgumentHelp("Time limit for the device's first answer, 0.1-600.", valueName: "seconds"))
  var timeout = 10.0

  @Flag(
    help: "Wait up to --duration for a missing port or a device that does not answer.")
  var wait = false

  @Option(help: ArgumentHelp("Notifications per second, 0.1-10000.", valueName: "number"))
  var rate = 50.0

  @Option(
    help: ArgumentHelp("Inject line faults, for example flip=1e-4; see docs/CLI.md.", valueName: "spec"))
  var faults: String?

  @Option(
    help: ArgumentHelp(
      "Control socket of the emulator at the port, used to restart and unplug it.", valueName: "path"),
    completion: .file())
  var control: String?

  @Option(
    help: ArgumentHelp("Outbox file (default: a temporary file).", valueName: "path")
  )
  var outbox: String?

  @Option(
    help: "Notifications to leave on the display, 1-10000; at most half of the device's capacity.")
  var keep = 64

  @Option(help: ArgumentHelp("Seed for restarts and unplugging (default: random).", valueName: "number"))
  var seed: UInt64?

  @OptionGroup var recovery: RecoveryOptions

  @Option(
    help: ArgumentHelp("Write a JUnit report to this file, even if the run fails.", valueName: "file"),
    completion: .file())
  var junit: String?

  @Option(
    help: ArgumentHelp("Write an HTML report to this file, even if the run fails.", valueName: "file"),
    completion: .file())
  var html: String?

  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard (0.1...600).contains(timeout) else { throw ValidationError("--timeout must be 0.1 to 600 seconds") }
    guard (0.1...10_000).contains(rate) else { throw ValidationError("--rate must be 0.1 to 10000") }
    guard (1...10_000).contains(keep) else { throw ValidationError("--keep must be 1 to 10000") }
    guard !boards.all || [control, outbox, html].allSatisfy({ $0 == nil }) else {
      throw ValidationError("--all cannot be combined with --control, --outbox and --html")
    }
  }

  func run() async throws {
    let files = try SoakFiles(junit: junit, html: html, port: portText)
    let unended = Failure(.unfitEnvironment, "ended before the soak could be evaluated")
    let remove = Interruption.addLastWords { files.write(unended: unended) }
    defer { remove() }
    let command = self
    do {
      try await Interruption.cancelling {
        try await command.boards.run(command.line, isJSON: command.json, begin: files.begin) { line in
          var one = command
          one.line = line
          try await one.soak(files)
        }
      }
    } catch {
      files.write(unended: AllBoards.failure(of: error))
      throw error
    }
    files.write(unended: unended)
  }

  private var portText: String { (try? line.resolvedPort().value.description) ?? "" }

  private func soak(_ files: SoakFiles) async throws {
    var ending = SoakEnding(port: portText)
    defer { files.record(ending) }
    var report: SoakReport
    do {
      report = try await measured()
    } catch {
      ending.trouble = AllBoards.failure(of: error)
      throw error
    }
    let verdict = Result { try judge(report) }
    if Task.isCancelled {
      ending.trouble = Failure(
        .unfitEnvironment, "interrupted after \(String(format: "%.1f", report.seconds)) s")
      report.trouble = nil
    } else if report.sessions == 0 || report.trouble != nil || report.isUndecided,
      case .failure(let error) = verdict
    {
      ending.trouble = AllBoards.failure(of: error)
    }
    report.trouble = report.trouble ?? ending.trouble?.message
    ending.report = report
    if json {
      try Output.json(report, pretty: true)
    } else {
      Output.data(report.text)
    }
    try verdict.get()
  }

  private func measured() async throws -> SoakReport {
    try await BoardAccess.withPlace(of: try line.resolvedPort().value) { try await measured(at: $0) }
  }

  private func measured(at port: PortName) async throws -> SoakReport {
    let bitsPerSecond = try line.resolvedBitsPerSecond().value
    let faults = try FaultOption.parsed(faults)
    try SoakTarget.check(faults, for: port, control: control, recovers: recovery.highest != nil)
    if !wait { try await BoardAccess.checkPresence(of: port) }
    let folder = try TemporaryFolder("notibot-soak")
    defer { folder.remove() }
    let recovery = try await answering(port, bitsPerSecond)
    // A proxy needs a path. A forwarder finds an identity on its own, but not another board that
    // comes back under a new name.
    let isProxied = control == nil && !faults.rules.isEmpty
    let given = port.deviceID == nil ? await recovery?.port ?? port : port
    let place = isProxied ? try await BoardAccess.located(given, bitsPerSecond: bitsPerSecond) : given
    let target = try await SoakTarget.open(
      place, bitsPerSecond: bitsPerSecond, faults: faults, control: control, folder: folder.path)
    let run = SoakRun(
      target: target, deviceID: port.deviceID, outbox: outbox ?? folder.file("outbox"),
      bitsPerSecond: bitsPerSecond,
      duration: duration.value,
      rate: rate, keep: keep, seed: seed ?? .randomSeed(),
      answerTimeout: wait || recovery != nil ? nil : .seconds(timeout),
      recovery: target.leavesPortFree ? recovery : nil)
    do {
      var report = try await run.report(of: port.description)
      await target.close()
      report.recovery = await recovery?.account
      return report
    } catch {
      await target.close()
      throw error
    }
  }

  /// Checks before the soak that the device answers, and recovers it if not. Returns the recovery,
  /// `nil` when `--recover` was not given.
  private func answering(_ port: PortName, _ bitsPerSecond: UInt32) async throws -> Recovery? {
    guard let highest = recovery.highest else { return nil }
    let recovery = try await Recovery.prepared(for: port, bitsPerSecond: bitsPerSecond, upTo: highest)
    if await recovery.answers(within: .milliseconds(1800)) { return recovery }
    guard await recovery.climb() else {
      throw Failure(
        .noAnswer, "\(port.description.printable): no answer, and no recovery step helped",
        remedy: "press its reset button, or allow more with --recover-up-to")
    }
    return recovery
  }

  private func judge(_ report: SoakReport) throws {
    if Task.isCancelled { return }
    guard report.sessions > 0 else {
      throw SoakRun.noAnswer(at: report.port, lateness: report.lateness)
    }
    // A device that does not answer takes nothing, either.
    if let trouble = report.trouble, report.isExact {
      if let lateness = report.lateness { throw SoakRun.tooLate(trouble, lateness) }
      throw Failure(
        .linkLost, trouble, remedy: "connect it or press its reset button, then run the soak again")
    }
    guard report.isFlawless else {
      let counts =
        "lost \(report.lost), doubled \(report.doubled), not delivered \(report.undelivered), differences \(report.differences)"
      if report.isUndecided, let lateness = report.lateness { throw SoakRun.tooLate(counts, lateness) }
      throw Failure(.testFailed, counts)
    }
    guard report.refused == 0 else {
      throw Failure(.refused, "the device refused \(report.refused) of \(report.queued) notifications")
    }
  }
}

/// A duration as the commands sleep and timeout read it: `10` and `10s` are seconds; also `5m`,
/// `2h`.
struct SoakTime {
  var value: Duration

  init(parsing text: String) throws {
    let units: [Character: Double] = ["s": 1, "m": 60, "h": 3600]
    let unit = text.last.flatMap { units[$0] }
    guard let number = Double(unit == nil ? text[...] : text.dropLast()), number.isFinite,
      case let seconds = number * (unit ?? 1), (0.1...3_600_000).contains(seconds)
    else {
      throw ValidationError(
        "'\(text.prefix(40).description.printable)' is not a duration: use a number and s, m or h, for example 30s, "
          + "10m or 2h; 0.1s to 1000h")
    }
    value = .milliseconds(Int64(seconds * 1000))
  }
}
