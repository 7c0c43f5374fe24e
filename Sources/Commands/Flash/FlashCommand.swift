import ArgumentParser
import Conformance
import FirmwareImages
import Foundation
import SerialLink

/// `notibot flash`: writes images to a board with esptool, and verifies that they run.
struct FlashCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "flash",
    abstract: "Write firmware to a board with esptool, and verify that it runs.",
    discussion: """
      Checks the images before anything is opened, writes only what is not there already, verifies it, restarts the \
      board, and compares the firmware that answers with the image. No other notibot command can open the port \
      meanwhile. A build of ESP-IDF is flashed by the name of its folder.

      ESPTOOL
        --esptool, else NOTIBOT_ESPTOOL, else that in PATH if it is recent enough, else esptool \
      \(EsptoolProgram.pinned), which is installed for this command the first time

      EXIT CODES HERE
        2: the images cannot be flashed, or not on this board
        10: not the board of --expect-id
        13: the loader, or the firmware after the restart, does not answer
        14: the connection was lost while flashing
        16: flashing failed, or another firmware answers
        17: the new firmware does not get past its start
      """)

  @Argument(
    help: ArgumentHelp(
      "Image files, each with its offset, or the build folder of an ESP-IDF project.",
      discussion: "Without an offset the content decides: bootloader, partition table, merged image.",
      valueName: "image[@offset]"),
    completion: .file())
  var images: [String]

  @OptionGroup var line: LineOptions

  @OptionGroup var boards: AllBoards

  @Option(
    help: ArgumentHelp("Required chip, such as esp32c3 (default: that of the images).", valueName: "chip"),
    completion: .list(ESPChip.all.map(\.name)))
  var chip: String?

  @Option(help: ArgumentHelp("Write only to the board with this base MAC.", valueName: "mac"))
  var expectID: String?

  @Option(help: "Reset into the loader; no-reset if the board is in it already.")
  var before = LineReset.Before.defaultReset

  @Option(help: "Reset after the write; no-reset stays in the loader, and awaits no firmware.")
  var after = LineReset.After.hardReset

  @Option(
    help: ArgumentHelp(
      "Time limit for the firmware to answer after the restart, 0.1-600.", valueName: "seconds"))
  var timeout = 10.0

  @Option(
    help: ArgumentHelp(
      "Time limit for the firmware to answer before the write, 0.1-600.", valueName: "seconds"))
  var probeTimeout = 1.0

  @Option(
    help: ArgumentHelp("esptool \(EsptoolProgram.pinned) or later; see above.", valueName: "path"),
    completion: .file())
  var esptool: String?

  @Flag(help: "Do not install esptool if it is missing.")
  var noInstall = false

  @Flag(help: "Write, even if the board runs the image already, or would not boot.")
  var force = false

  @Flag(help: "Check the images, print where they belong, and open no port.")
  var dryRun = false

  @Flag(help: "Run the conformance suite afterwards.")
  var thenTest = false

  @Flag(help: "Flash again, and test again, whenever the files change, until Ctrl-C.")
  var watch = false

  @Flag(help: "Show the board's console afterwards, from a restart on, as 'monitor --reset' does.")
  var monitor = false

  @OptionGroup(title: "With --then-test") var testOptions: TestOptions

  @Option(
    help: ArgumentHelp("With --then-test: write a JUnit report to this file.", valueName: "file"),
    completion: .file())
  var junit: String?

  @Flag(help: "Print one JSON document, with the suite's report in it.")
  var json = false

  func validate() throws {
    guard (1...FlashPlan.partsLimit).contains(images.count) else {
      throw ValidationError("1 to \(FlashPlan.partsLimit) images can be flashed")
    }
    guard [timeout, probeTimeout].allSatisfy((0.1...600).contains) else {
      throw ValidationError("--timeout and --probe-timeout must be 0.1 to 600 seconds")
    }
    if let chip, ESPChip.named(chip) == nil {
      throw ValidationError("--chip must be one of \(ESPChip.all.map(\.name).joined(separator: ", "))")
    }
    if let expectID, !EsptoolOutput.isMAC(expectID.uppercased()) {
      throw ValidationError("--expect-id must be a MAC, such as 24:6F:28:AA:BB:CC")
    }
    guard !monitor || (after == .hardReset && !dryRun && !thenTest && !json) else {
      throw ValidationError("--monitor requires the restart of the board, without --then-test and --json")
    }
    guard !watch || !(dryRun || monitor) else {
      throw ValidationError("--watch cannot be combined with --dry-run and --monitor")
    }
    guard !boards.all || !(watch || monitor || thenTest || expectID != nil) else {
      throw ValidationError("--all cannot be combined with --watch, --monitor, --then-test and --expect-id")
    }
    guard thenTest || !testOptions.quick else { throw ValidationError("--quick requires --then-test") }
    guard thenTest || junit == nil else { throw ValidationError("--junit requires --then-test") }
    guard !thenTest || (after == .hardReset && !dryRun) else {
      throw ValidationError("--then-test requires the restart of the board")
    }
  }

  func run() async throws {
    let command = self
    try await Interruption.cancelling {
      guard command.boards.all, !command.dryRun else {
        return try await command.watch ? command.flashAgain() : command.flash()
      }
      _ = try await command.plan()
      // Installs it at most once.
      _ = try await EsptoolProgram.located(option: command.esptool, installs: !command.noInstall)
      try await command.boards.run(command.line, isJSON: command.json) { line in
        var one = command
        one.line = line
        try await one.flash()
      }
    }
    guard monitor else { return }
    var next = try MonitorCommand.parse([])
    next.line = line
    try await next.run(resetting: .ifPossible)
  }

  /// Flashes at each change of the files. What fails is reported, and tried again with the next.
  private func flashAgain() async throws {
    // What no change of a file can correct ends the command.
    if thenTest { _ = try testOptions.cases(of: Suite.cases, try testOptions.earlier()) }
    _ = try await EsptoolProgram.located(option: esptool, installs: !noInstall)
    while true {
      let build = await BuildWatch(images)
      do {
        try await flash()
      } catch let error where !(error is CancellationError) {
        try Task.checkCancellation()
        Output.note(
          "notibot: \((error as? any ClassifiedError).map { Failure($0).description } ?? errorText(error))")
      }
      Output.note("waiting for a change of \(images.joined(separator: ", ").printable); press Ctrl-C to end")
      try await build.awaitChange()
    }
  }

  private func plan() async throws -> FlashPlan {
    try await FlashFiles(images).plan(chip: chip.flatMap(ESPChip.named), isForced: force)
  }

  private func flash() async throws {
    let earlier = try testOptions.earlier()
    let cases = thenTest ? try testOptions.cases(of: Suite.cases, earlier) : []
    let plan = try await plan()
    if dryRun { return print(FlashReport(chip: plan.chip?.name, plan: plan)) }
    let rate = try line.resolvedBitsPerSecond().value
    let name = try line.resolvedPort().value
    guard !name.isStandIn else {
      throw Failure(
        .usage, "\(name.description.printable) has no flash",
        remedy: "start a chip with: notibot emulate --flash-file PATH --link PORT")
    }
    let program = try await EsptoolProgram.located(option: esptool, installs: !noInstall)
    let reports = try TestReports(junit: junit, json: json ? "-" : nil, html: nil)
    var chosen = TestRun(
      cases: cases, seed: earlier?.seed ?? .randomSeed(), rig: rig(name, rate: rate), options: testOptions,
      showsProgress: thenTest && !testOptions.verbose)
    chosen.part = testOptions.part(cases, of: Suite.cases)
    chosen.trace = try testOptions.traceFolder()
    let suite = chosen
    let remove = Interruption.addLastWords { reports.writeFiles(suite.unfinished()) }
    defer { remove() }
    do {
      try await BoardAccess.withPort(line) { try await flash(plan, at: $0, rate, program, suite, reports) }
    } catch {
      // Written already if the suite has run.
      if thenTest { reports.writeFiles(suite.missing("not tested: \(errorText(error))")) }
      throw error
    }
  }

  private func flash(
    _ plan: FlashPlan, at name: PortName, _ rate: UInt32, _ program: EsptoolProgram, _ suite: TestRun,
    _ reports: TestReports
  ) async throws {
    let place = try await BoardAccess.located(name, bitsPerSecond: rate)
    let run = FlashRun(
      plan: plan, name: place, rate: rate, esptool: program,
      expectedID: (expectID ?? name.deviceID)?.uppercased(), before: before, after: after,
      isForced: force, greetingLimit: Self.duration(probeTimeout), timeout: Self.duration(timeout))
    try await run.perform { report, port in
      guard thenTest else { return print(report) }
      var suite = suite
      suite.rig = rig(.address(port), rate: rate)
      try await test(report, suite, reports)
    }
  }

  private static func duration(_ seconds: Double) -> Duration { .milliseconds(Int64(seconds * 1000)) }

  private func rig(_ name: PortName, rate: UInt32) -> TestRun.ChosenRig {
    .port(
      name, SerialOptions(bitsPerSecond: rate), control: nil, timeout: Self.duration(timeout),
      PortCare(before: .noReset, after: .noReset, highest: nil))
  }

  private func print(_ report: FlashReport) {
    if json { Output.json(document: report.document) } else { Output.data(report.text) }
  }

  /// Runs the suite on the flashed board; one document has both reports.
  private func test(_ flashed: FlashReport, _ suite: TestRun, _ reports: TestReports) async throws {
    if !json { print(flashed) }
    let outcome = await suite.perform(print: reports.printLine)
    reports.writeFiles(outcome.report)
    if json {
      var report = flashed
      report.test = try JSONReport(outcome.report).document()
      print(report)
    }
    if let failure = outcome.failure { throw failure }
  }
}
