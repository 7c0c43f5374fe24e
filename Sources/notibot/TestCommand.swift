import ArgumentParser
import Conformance
import DeviceEmulator
import Foundation
import NotibotProtocol
import SerialLink

/// `notibot test`: runs the conformance suite against a device and says rule by rule what held.
struct TestCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test",
    abstract: "Checks a device, rule by rule, against docs/PROTOCOL.md.",
    discussion: """
      Prints a line for each case: the rule it checks, what must hold, its time. With -p emu:[PROFILE] or --rig \
      emulator the device is an emulator in this process in virtual time, with --rig pty one in a process of its own \
      behind a pseudo-terminal, with --rig rfc2217 the same behind a TCP port, with --rig ble one whose attributes are reached as over BLE, on a unix socket; --att \
      names such a socket of any other device. With --rig firmware it is the reference firmware in C, in virtual time, \
      and with -p qemu:[ELF] or --rig qemu the same on an emulated CPU. On a board, cases that must restart it or press \
      its buttons are skipped and named. What other writers have stored on a board may be pushed out by the suite. \
      With --self no device is tested, but the host of this program.

      \(ExitStatus.helpTable)
      """)

  /// What stands in for a board.
  enum RigName: String, ExpressibleByArgument, CaseIterable {
    case emulator
    case pty
    case rfc2217
    case ble
    case firmware
    case qemu
  }

  @OptionGroup var boardOptions: BoardOptions

  @Option(help: ArgumentHelp("The control socket of the emulator behind the port.", valueName: "path"))
  var control: String?

  @OptionGroup var recovery: RecoveryOptions

  @Option(help: "On a port: what is done to its lines before the run: default-reset, usb-reset or no-reset.")
  var before = LineReset.Before.noReset

  @Option(help: "On a port: what is done to its lines after the run: hard-reset or no-reset.")
  var after = LineReset.After.noReset

  @Option(
    help: ArgumentHelp(
      "Bring a device along: emulator, pty, rfc2217, ble, firmware or qemu.",
      discussion: """
        In this process; in another, behind a pseudo-terminal, a TCP port or a socket of attributes; in C, in this process; in C, on \
        an emulated CPU.
        """)
  )
  var rig: RigName?

  @Option(
    help: ArgumentHelp(
      "Test the device that serves attributes on this socket, as emulate --att does.", valueName: "unix:path")
  )
  var att: String?

  @Option(
    help: ArgumentHelp(
      "With --rig firmware: the shared library of another build of it.", valueName: "file"))
  var firmware: String?

  @Option(
    help: ArgumentHelp(
      "With --rig emulator or firmware: start the clock at this many milliseconds (default: 0).",
      discussion: "4294965296 is 2 s before a clock of 32 bits wraps.", valueName: "ms"))
  var clockStart: UInt64?

  @Option(
    help: ArgumentHelp(
      "With --rig emulator: break device and host alike, to see which cases tell.", valueName: "name"))
  var symmetric: String?

  @OptionGroup var options: TestOptions

  @Flag(
    name: .customLong("self"),
    help: "Test the host of this program, in virtual time, instead of a device.")
  var testsOwnHost = false

  @Flag(help: "List the cases and exit; with --json as one document.")
  var list = false

  @Flag(help: ArgumentHelp("List what --symmetric takes, and exit.", visibility: .hidden))
  var listSymmetric = false

  @Option(help: ArgumentHelp("Write a JUnit report here.", valueName: "file"))
  var junit: String?

  @Option(help: ArgumentHelp("Write a JSON report here; - is stdout.", valueName: "file"))
  var json: String?

  @Option(help: ArgumentHelp("Decides nonces, noise and damage; random without it.", valueName: "number"))
  var seed: UInt64?

  func validate() throws {
    _ = try att.map(UnixSocketOption.path)
    let isForPorts = recovery.highest != nil || before != .noReset || after != .noReset
    guard clockStart == nil || (rig == .emulator || rig == .firmware) else {
      throw ValidationError("--clock-start is for --rig emulator and --rig firmware")
    }
    // 292 years of nanoseconds fit.
    guard clockStart ?? 0 <= 1 << 43 else {
      throw ValidationError("--clock-start takes at most \(UInt64(1) << 43) milliseconds")
    }
    guard !isForPorts || (rig == nil && att == nil && !testsOwnHost) else {
      throw ValidationError("--recover, --before and --after are for a device on a port")
    }
  }

  /// A broken pair of host and device is judged by the cases of both.
  private var suite: [Case] {
    if symmetric != nil { return Suite.all }
    return testsOwnHost ? Suite.hostCases : Suite.cases
  }

  func run() async throws {
    if listSymmetric { return SymmetricMutant.all.forEach { Output.data(TestListing.line(for: $0)) } }
    let cases = try options.cases(of: suite)
    if list { return try TestListing.print(cases, json: json) }
    let seed = seed ?? .randomSeed()
    if let boards = try chosenBoards() {
      let reports = try TestReports(junit: junit, json: json)
      let runs = boards.map {
        BoardsRun.Board(name: $0.name, run: TestRun(cases: cases, seed: seed, rig: $0.rig, options: options))
      }
      let run = BoardsRun(boards: runs, jobs: boardOptions.jobs ?? runs.count, reports: reports)
      let remove = Interruption.addLastWords { reports.writeFiles(runs.map { $0.run.unfinished() }) }
      defer { remove() }
      return try await Interruption.cancelling { try await run.perform() }
    }
    let start = Instant(nanoseconds: Int64(clockStart ?? 0) * 1_000_000)
    let showsProgress = options.quiet || (Output.hasTerminal && isatty(STDOUT_FILENO) == 0)
    let run = TestRun(
      cases: cases, seed: seed, rig: try chosenRig(), options: options, clockStart: start,
      showsProgress: showsProgress)
    let reports = try TestReports(junit: junit, json: json)
    let remove = Interruption.addLastWords { reports.writeFiles(run.unfinished()) }
    defer { remove() }
    try await Interruption.cancelling {
      reports.startGroup(run.name)
      let outcome = await run.perform(print: reports.printLine)
      reports.endGroup()
      try reports.write(outcome.report)
      if let failure = outcome.failure { throw failure }
    }
  }

  /// The boards of `--all`, or of several ports; nil: there is one device.
  private func chosenBoards() throws -> [(name: String, rig: TestRun.ChosenRig)]? {
    if testsOwnHost {
      let isAlone =
        !boardOptions.all && boardOptions.port.isEmpty && rig == nil && att == nil && control == nil
        && firmware == nil && symmetric == nil
      guard isAlone else {
        throw CommandFailure(
          .usage, "--self tests no device",
          remedy: "leave --port, --rig and the other options of a device out")
      }
      return nil
    }
    guard boardOptions.all || boardOptions.port.count > 1 else { return nil }
    guard rig == nil, att == nil, control == nil, firmware == nil, symmetric == nil else {
      throw CommandFailure(
        .usage, "several boards have no --rig, --att, --control, --firmware or --symmetric",
        remedy: "test them one by one")
    }
    return try boardOptions.resolvedPorts().map { ($0.description, try rig(nil, at: $0)) }
  }

  private func chosenRig() throws -> TestRun.ChosenRig {
    if firmware != nil, rig != .firmware {
      throw CommandFailure(
        .usage, "--firmware is for --rig firmware", remedy: "name that rig, or leave it out")
    }
    if testsOwnHost { return .ownHost }
    if let symmetric { return .symmetric(try symmetricMutant(symmetric)) }
    if let att {
      guard rig == nil, boardOptions.port.isEmpty else {
        throw CommandFailure(
          .usage, "--att names the device to test", remedy: "leave --port and --rig out")
      }
      return .att(path: try UnixSocketOption.path(att), control: control)
    }
    let own: PortName.StandIn = rig == .qemu ? .qemu(image: nil) : .emulator(profile: nil)
    let isOwn = boardOptions.port.isEmpty && rig != nil
    return try self.rig(rig, at: isOwn ? .standIn(own) : try port())
  }

  /// What the suite runs on: the device that a rig starts, else what the port stands for.
  private func rig(_ rig: RigName?, at name: PortName) throws -> TestRun.ChosenRig {
    switch (rig, name) {
    case (nil, .standIn(.emulator(let profile))), (.emulator?, .standIn(.emulator(let profile))):
      return .emulator(try Board.profile(profile))
    case (nil, .standIn(.qemu(let image))), (.qemu?, .standIn(.qemu(let image))): return .qemu(image: image)
    case (.pty?, .standIn(.emulator(let profile))): return .pty(profile: try Board.profile(profile).name)
    case (.rfc2217?, .standIn(.emulator(let profile))):
      return .rfc2217(profile: try Board.profile(profile).name)
    case (.ble?, .standIn(.emulator(let profile))): return .ble(profile: try Board.profile(profile).name)
    case (.firmware?, .standIn(.emulator(nil))): return .firmware(library: firmware)
    case (.some(let rig), _):
      throw CommandFailure(
        .usage, "--rig \(rig.rawValue) brings its own device",
        remedy: "omit --port, or name \(rig == .qemu ? "qemu:[ELF]" : "emu:[PROFILE]")")
    case (nil, .address), (nil, .automatic), (nil, .usb), (nil, .deviceID), (nil, .labgrid):
      let rate = try boardOptions.rate.resolvedBitsPerSecond().value
      return .port(
        name, SerialOptions(bitsPerSecond: rate), control: control,
        timeout: .seconds(boardOptions.answer.timeout),
        PortCare(before: before, after: after, highest: recovery.highest))
    }
  }

  private func symmetricMutant(_ name: String) throws -> SymmetricMutant {
    guard rig == .emulator, boardOptions.port.isEmpty else {
      throw CommandFailure(
        .usage, "--symmetric is for --rig emulator", remedy: "name that rig, without a port")
    }
    guard let mutant = SymmetricMutant.all.first(where: { $0.name == name }) else {
      let names = SymmetricMutant.all.map(\.name).joined(separator: ", ")
      throw CommandFailure(
        .usage, "there is no fault '\(name.printable)'", remedy: "choose one of: \(names)")
    }
    return mutant
  }

  private func port() throws -> PortName {
    do {
      return try boardOptions.resolvedPort().value
    } catch let error as PortError {
      throw CommandFailure(error)
    }
  }
}

/// `--list`.
enum TestListing {
  private struct Document: Encodable {
    struct Entry: Encodable {
      var id: String
      var title: String
      var chapter: String
      var rules: [String]
      var needs: [String]
    }

    let schema = "notibot.conformance.cases"
    let version = 1
    var cases: [Entry]
  }

  /// Prints cases, a line each or one JSON document; the document goes to a file if `json` names one.
  static func print(_ cases: [Case], json: String?) throws {
    guard let json else { return cases.forEach { Output.data(line(for: $0)) } }
    let document = Document(
      cases: cases.map { testCase in
        Document.Entry(
          id: testCase.id, title: testCase.title, chapter: testCase.chapter.rawValue, rules: testCase.rules,
          needs: testCase.needs.sorted().map(\.rawValue))
      })
    if json == "-" { return try Output.json(document, pretty: true) }
    let text = try Output.document(document, pretty: true) + "\n"
    do {
      try Data(text.utf8).write(to: URL(fileURLWithPath: json), options: .atomic)
    } catch {
      throw CommandFailure(
        .unfitEnvironment, "cannot write \(json.printable): \(error.localizedDescription)",
        remedy: "choose a place that can be written")
    }
  }

  /// One case in one line: chapter, id, title, needs.
  static func line(for testCase: Case) -> String {
    let needs = testCase.needs.sorted().map(\.rawValue).joined(separator: ", ")
    let also = testCase.rules.dropFirst().joined(separator: ", ")
    return "\(testCase.chapter.rawValue)\t\(testCase.id)\t\(testCase.title)\t\(also)\t\(needs)"
  }

  /// One fault in one line: name, rules, the case that tells of the device, that of the host, what is wrong.
  static func line(for mutant: SymmetricMutant) -> String {
    [mutant.name, mutant.rules.joined(separator: ","), mutant.deviceCase, mutant.hostCase, mutant.what]
      .joined(separator: "\t")
  }
}
