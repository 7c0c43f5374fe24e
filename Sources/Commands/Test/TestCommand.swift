import ArgumentParser
import Conformance
import DeviceEmulator
import Foundation
import NotibotProtocol
import Rigs
import SerialLink

/// `notibot test`: runs the conformance suite against a device and reports the result of each case.
struct TestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Test a device against each rule of docs/PROTOCOL.md.",
    discussion: """
      Prints what does not pass, where to begin, and totals. Cases that must restart a board or press its buttons are \
      skipped and named, unless --control is given. The suite can evict notifications that other writers \
      have stored on a board.

      RIGS
        emulator  an emulator in this process, in virtual time; also -p emu:[PROFILE]
        pty       an emulator in another process, on a pseudo-terminal
        rfc2217   an emulator in another process, on a TCP port
        ble       an emulator in another process, with attributes on a unix socket
        firmware  the reference firmware in C, in this process, in virtual time
        qemu      the reference firmware on an emulated CPU; also -p qemu:[ELF]
        chip      the image for ESP32-C3 on a model of the chip, in virtual time; also -p chip:[IMAGE][?line=usb]
      """)

  /// The devices that the command can start.
  enum RigName: String, ExpressibleByArgument, CaseIterable {
    case emulator
    case pty
    case rfc2217
    case ble
    case firmware
    case qemu
    case chip
  }

  @OptionGroup var boardOptions: BoardOptions

  @Option(
    help: ArgumentHelp("Control socket of the emulator at the port.", valueName: "path"),
    completion: .file())
  var control: String?

  @OptionGroup var recovery: RecoveryOptions

  @Option(help: "Reset before the run; requires a port.")
  var before = LineReset.Before.noReset

  @Option(help: "Reset after the run; requires a port.")
  var after = LineReset.After.noReset

  @Option(help: "Start a device to test; see above.")
  var rig: RigName?

  @Option(
    help: ArgumentHelp(
      "Test the device that serves its attributes on this socket, as 'emulate --att' does.",
      valueName: "unix:path")
  )
  var att: String?

  @Option(
    help: ArgumentHelp(
      "What answers over BLE: the device itself, or the Bluetooth stack's own server, whose differences "
        + "are listed (default: stack for ble:, own for --att).",
      valueName: "own|stack"))
  var server: AttributeServer?

  @Option(
    name: .customLong("also"),
    help: ArgumentHelp(
      "Test the device over this connection, too, and compare: ble:NAME[@ADAPTER] or att:PATH.",
      discussion: "What the two bearers answer differently comes first in each report, and is a failure.",
      valueName: "port"))
  var alsoPorts: [String] = []

  @Option(
    help: ArgumentHelp(
      "With --rig firmware: shared library of another build of the firmware.", valueName: "file"),
    completion: .file())
  var firmware: String?

  @Option(
    help: ArgumentHelp(
      "With --rig chip: image or content of the flash (default: the reference firmware's).",
      valueName: "file"),
    completion: .file())
  var image: String?

  @Option(help: "With --rig chip: line of the chip; uart is UART0 (default: uart).")
  var line: PortName.ChipLine?

  @Option(
    help: ArgumentHelp(
      "With --rig emulator or firmware: initial time of the clock, 0-8796093022208 (default: 0).",
      discussion: "4294965296 is 2 s before a 32-bit clock wraps.", valueName: "ms"))
  var clockStart: UInt64?

  @OptionGroup var options: TestOptions

  @Flag(help: "List the cases and exit; with --json, as one document.")
  var list = false

  @Option(
    help: ArgumentHelp("Write a JUnit report to this file.", valueName: "file"),
    completion: .file())
  var junit: String?

  @Option(
    help: ArgumentHelp("Write a JSON report to this file; - is standard output.", valueName: "file"),
    completion: .file())
  var json: String?

  @Option(
    help: ArgumentHelp("Write an HTML report to this file.", valueName: "file"),
    completion: .file())
  var html: String?

  @Option(
    help: ArgumentHelp("Seed for nonces, noise and line faults (default: random).", valueName: "number"))
  var seed: UInt64?

  func validate() throws {
    _ = try att.map(UnixSocketOption.path)
    guard alsoPorts.count < 2 else { throw ValidationError("--also can be given once") }
    guard rig == .chip || (image == nil && line == nil) else {
      throw ValidationError("--image and --line require --rig chip")
    }
    guard !list || [junit, html, options.trace].allSatisfy({ $0 == nil }) else {
      throw ValidationError("--list runs no case: it cannot be combined with --junit, --html and --trace")
    }
    let isForPorts = recovery.highest != nil || before != .noReset || after != .noReset
    guard clockStart == nil || (rig == .emulator || rig == .firmware) else {
      throw ValidationError("--clock-start requires --rig emulator or --rig firmware")
    }
    // An Int64 holds 292 years of nanoseconds.
    guard clockStart ?? 0 <= 1 << 43 else {
      throw ValidationError("--clock-start must be at most \(UInt64(1) << 43) milliseconds")
    }
    guard !isForPorts || (rig == nil && att == nil) else {
      throw ValidationError("--recover, --before and --after require a device on a port")
    }
  }

  func run() async throws {
    let earlier = try options.earlier()
    let cases = try options.cases(of: Suite.cases, earlier)
    if list { return try TestListing.print(cases, json: json) }
    let seed = seed ?? earlier?.seed ?? .randomSeed()
    var runOptions = options
    runOptions.repetitions = max(options.repetitions, earlier?.repetitions ?? 1)
    let part = options.part(cases, of: Suite.cases)
    let arguments = CommandLine.arguments.dropFirst()
    let usesColor = json != "-" && Output.usesColor()
    func makeRun(_ rig: TestRun.ChosenRig, board: String? = nil, showsProgress: Bool) throws -> TestRun {
      var run = TestRun(
        cases: cases, seed: seed, rig: rig, server: server, options: runOptions, showsProgress: showsProgress)
      run.usesColor = usesColor
      run.part = part
      run.again = AgainLine(arguments, board: board, seed: seed)
      run.trace = try options.traceFolder(board: board)
      return run
    }
    if boardOptions.all || boardOptions.port.count > 1 {
      let reports = try TestReports(junit: junit, json: json, html: html)
      let boards: [(name: String, rig: TestRun.ChosenRig)]
      do {
        boards = try await chosenBoards()
      } catch let failure where !Self.isUsage(failure) {
        // Whatever its reason: a runner reads the reports.
        let names = boardOptions.port.isEmpty ? ["auto"] : boardOptions.port
        try reports.write(
          names.map { name in
            let rig = try self.rig(nil, at: try PortName(parsing: name))
            return try makeRun(rig, board: name, showsProgress: false).missing("\(failure)")
          })
        throw failure
      }
      let runs = try boards.map {
        BoardsRun.Board(name: $0.name, run: try makeRun($0.rig, board: $0.name, showsProgress: false))
      }
      let run = BoardsRun(boards: runs, jobs: boardOptions.jobs ?? runs.count, reports: reports)
      return try await Self.perform(runs.map(\.run), reports) { try await run.perform() }
    }
    let rig = try chosenRig()
    try refuseUnused(by: [rig])
    if let bearers = try chosenBearers(rig) {
      let reports = try TestReports(junit: junit, json: json, html: html)
      let runs = try bearers.map {
        BoardsRun.Board(
          name: $0.name, run: try makeRun($0.rig, board: $0.name, showsProgress: Output.hasTerminal))
      }
      let run = BearersRun(bearers: runs, reports: reports)
      return try await Self.perform(runs.map(\.run), reports) { try await run.perform() }
    }
    // In a log only of what takes minutes.
    let showsProgress = Output.hasTerminal ? !options.verbose || isatty(STDOUT_FILENO) == 0 : rig.isSlow
    var configured = try makeRun(rig, showsProgress: showsProgress)
    configured.devices = rig.usualDevices.map { min(boardOptions.jobs ?? $0, cases.count) } ?? 1
    configured.clockStart = Instant(nanoseconds: Int64(clockStart ?? 0) * 1_000_000)
    let run = configured
    let reports = try TestReports(junit: junit, json: json, html: html)
    try await Self.perform([run], reports) {
      reports.startGroup(run.name)
      let outcome = await run.perform(print: reports.printLine)
      reports.endGroup()
      try reports.write(outcome.report)
      if let failure = outcome.failure { throw failure }
    }
  }

  /// Runs `body`. If it does not end after a signal, the reports of unfinished runs are written.
  private static func perform(
    _ runs: [TestRun], _ reports: TestReports, _ body: @escaping @Sendable () async throws -> Void
  ) async throws {
    let remove = Interruption.addLastWords { reports.writeFiles(runs.map { $0.unfinished() }) }
    defer { remove() }
    try await Interruption.cancelling(body)
  }

  private static func isUsage(_ error: any Error) -> Bool {
    (error as? any ClassifiedError)?.kind == .usage
  }

  /// The boards of `--all`, or of several ports.
  private func chosenBoards() async throws -> [(name: String, rig: TestRun.ChosenRig)] {
    guard rig == nil, att == nil, control == nil, firmware == nil, also == nil else {
      throw Failure(
        .usage, "--rig, --att, --also, --control and --firmware cannot be used with several boards",
        remedy: "test them one by one")
    }
    let boardOptions = boardOptions
    let ports = try await Interruption.cancelling { try await boardOptions.resolvedPorts() }
    let boards = try ports.map { (name: $0.description, rig: try rig(nil, at: $0)) }
    try refuseUnused(by: boards.map(\.rig))
    return boards
  }

  /// The two bearers of `--also`, each with its port; nil without that option.
  private func chosenBearers(_ first: TestRun.ChosenRig) throws -> [(name: String, rig: TestRun.ChosenRig)]? {
    guard let also else { return nil }
    let name = try PortName(parsing: also)
    let isBoard =
      switch first {
      case .port, .att, .bluetooth: true
      case .emulator, .pty, .rfc2217, .firmware, .ble, .qemu, .chip: false
      }
    guard isBoard, name.isConnection else {
      throw Failure(
        .usage,
        isBoard
          ? "--also cannot be \(name.description.printable): it compares with a connection"
          : "--also cannot be combined with a device that this command starts: its connection is not known",
        remedy: isBoard
          ? "use ble:NAME or att:PATH"
          : "start it with: notibot emulate --att unix:PATH; and name its port with -p")
    }
    if case .attributes(let path) = name, access(path, F_OK) != 0 {
      throw PortError(.unreachable("no such socket"), port: name.description, operation: "connect to")
    }
    let second = try connectionRig(name)
    return [first, second].map { rig in
      (TestRun(cases: [], seed: 0, rig: rig, options: options).name, rig)
    }
  }

  private func connectionRig(_ name: PortName) throws -> TestRun.ChosenRig {
    let timeout = Duration.seconds(boardOptions.answer.timeout)
    if case .attributes(let path) = name { return .att(path: path, control: control, timeout: timeout) }
    guard case .bluetooth(let peer, let adapter) = name else {
      throw PortError(.unavailableForm, port: name.description, operation: "test")
    }
    return .bluetooth(
      peer: peer, adapter: try BluetoothHost.adapter(adapter, for: name), control: control, timeout: timeout)
  }

  private func chosenRig() throws -> TestRun.ChosenRig {
    if firmware != nil, rig != .firmware {
      throw Failure(
        .usage, "--firmware requires --rig firmware", remedy: "add --rig firmware, or omit --firmware")
    }
    if let att {
      guard rig == nil, boardOptions.port.isEmpty else {
        throw Failure(
          .usage, "--att cannot be combined with --port or --rig", remedy: "omit --port and --rig")
      }
      return try connectionRig(.attributes(path: try UnixSocketOption.path(att)))
    }
    let own: PortName.StandIn = rig == .qemu ? .qemu(image: nil) : .emulator(profile: nil)
    let isOwn = boardOptions.port.isEmpty && rig != nil
    return try self.rig(rig, at: isOwn ? .standIn(own) : try boardOptions.resolvedPort().value)
  }

  private var also: String? { alsoPorts.first }

  /// The options that a device uses.
  private func used(by rig: TestRun.ChosenRig) -> Set<String> {
    // The profile of a name is used; without one it is that of another device.
    let port: Set<String> = boardOptions.port == ["emu:"] ? [] : ["--port"]
    switch rig {
    case .port: return Set(["--port", "--control", "--baud"]).union(also == nil ? [] : ["--server"])
    case .ble: return port.union(["--server"])
    case .emulator, .qemu: return ["--port"]
    case .chip, .pty, .rfc2217: return port
    case .firmware: return ["--firmware"]
    case .att, .bluetooth: return [att == nil ? "--port" : "--att", "--control", "--server"]
    }
  }

  /// Refuses options that none of the chosen devices uses: they contradict the others.
  private func refuseUnused(by rigs: [TestRun.ChosenRig]) throws {
    let used = rigs.reduce(into: Set<String>()) { $0.formUnion(self.used(by: $1)) }
    let given = [
      ("--port", !boardOptions.port.isEmpty), ("--control", control != nil),
      ("--baud", boardOptions.rate.baud != nil), ("--firmware", firmware != nil),
      ("--att", att != nil), ("--server", server != nil),
    ]
    guard let (option, _) = given.first(where: { $0.1 && !used.contains($0.0) }) else { return }
    let port = boardOptions.port.first.map { "--port \($0.printable)" } ?? "the default port"
    let device = rig.map { "--rig \($0.rawValue)" } ?? att.map { _ in "--att" } ?? port
    throw Failure(
      .usage, "\(option) cannot be combined with \(device)", remedy: "omit one of them")
  }

  /// The device that a rig starts, else the one at the port.
  private func rig(_ rig: RigName?, at name: PortName) throws -> TestRun.ChosenRig {
    switch (rig, name) {
    case (nil, .standIn(.emulator(let profile))), (.emulator?, .standIn(.emulator(let profile))):
      return .emulator(try BoardAccess.profile(profile))
    case (nil, .standIn(.qemu(let image))), (.qemu?, .standIn(.qemu(let image))): return .qemu(image: image)
    case (.pty?, .standIn(.emulator(let profile))):
      return .pty(profile: try BoardAccess.profile(profile).name)
    case (.rfc2217?, .standIn(.emulator(let profile))):
      return .rfc2217(profile: try BoardAccess.profile(profile).name)
    case (.ble?, .standIn(.emulator(let profile))):
      return .ble(profile: try BoardAccess.profile(profile).name)
    case (.firmware?, .standIn(.emulator(nil))): return .firmware(library: firmware)
    case (.chip?, .standIn(.emulator(nil))): return .chip(image: image, line ?? .uart)
    case (nil, .standIn(.chip(let image, let line))): return .chip(image: image, line)
    case (.some(let rig), _):
      throw Failure(
        .usage, "--rig \(rig.rawValue) starts its own device",
        remedy: "omit --port, or name \(rig == .qemu ? "qemu:[ELF]" : "emu:[PROFILE]")")
    case (nil, .address(.share(let path, isExclusive: false))):
      // The suite needs the line itself.
      return try self.rig(nil, at: .address(.share(path: path, isExclusive: true)))
    case (nil, .bluetooth), (nil, .attributes):
      guard recovery.highest == nil, before == .noReset, after == .noReset else {
        throw Failure(
          .usage, "\(name) has no lines to reset it", remedy: "omit --recover, --before and --after")
      }
      return try connectionRig(name)
    case (nil, _):
      let rate = try boardOptions.rate.resolvedBitsPerSecond().value
      return .port(
        name, SerialOptions(bitsPerSecond: rate), control: control,
        timeout: .seconds(boardOptions.answer.timeout),
        PortCare(before: before, after: after, highest: recovery.highest))
    }
  }
}

extension PortName.ChipLine: ExpressibleByArgument {}
extension AttributeServer: ExpressibleByArgument {}
