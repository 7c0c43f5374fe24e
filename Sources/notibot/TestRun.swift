import Conformance
import DeviceEmulator
import Foundation
import SerialLink

/// One run of the suite by the command line: rig, report while it goes, files at its end, exit code.
struct TestRun: Sendable {
  /// What the suite runs on.
  enum ChosenRig: Sendable {
    case emulator(DeviceProfile)
    case pty(profile: String)
    /// The reference firmware in this process: the one that is linked in, or a library.
    case firmware(library: String?)
    /// A device and a host that are broken alike (docs/MUTANTS.md).
    case symmetric(SymmetricMutant)
    case ble(profile: String)
    /// A device that offers the attribute protocol on a unix socket.
    case att(path: String, control: String?)
    case qemu(image: String?)
    case port(PortSpecifier, SerialOptions, control: String?, timeout: Duration, PortCare)
  }

  let cases: [Case]
  let seed: UInt64
  let junit: String?
  let json: String?
  let rig: ChosenRig

  /// Runs the cases. The files are written on every way out, also when there is no rig.
  ///
  /// - Throws: `CommandFailure` unless every case passed or was skipped.
  func perform() async throws {
    let startedAt = Date()
    let start = ContinuousClock.now
    let device: any Rig
    let recovery = makeRecovery()
    do {
      device = try await makeRig(recovery)
    } catch {
      let failure = Self.failure(of: error)
      var report = makeReport([], startedAt, start)
      report.rigTrouble = failure.description
      report.recovery = await recovery?.account
      try writeFiles(report)
      throw failure
    }
    var text = TextReport(cases: cases, usesColor: Output.usesColor())
    let results = await Runner(rig: device, seed: seed).run(cases) { result in
      text.lines(for: result).forEach(printLine)
    }
    await device.close()
    var report = makeReport(results, startedAt, start)
    report.bootID = (device as? PortRig)?.bootID ?? (device as? RecoveringRig)?.bootID
    report.recovery = await recovery?.account
    report.rigTrouble = await resetAfter()
    if results.count < cases.count {
      report.rigTrouble = "interrupted after \(results.count) of \(cases.count) cases"
    }
    text.summary(of: report).forEach(printLine)
    try writeFiles(report)
    try judge(report)
  }

  /// The report goes to stdout, unless the JSON does.
  private func printLine(_ line: String) {
    json == "-" ? Output.note(line) : Output.data(line)
  }

  private func makeRig(_ recovery: Recovery?) async throws -> any Rig {
    switch rig {
    case .emulator(let profile): return EmulatorRig(profile: profile)
    case .firmware(let path): return FirmwareRig(library: try path.map { try .load($0) } ?? .linked)
    case .symmetric(let mutant): return mutant.makeRig()
    case .pty(let profile):
      return try await PTYRig.start(program: program(), profile: profile, seed: seed)
    case .ble(let profile):
      return try await BLERig.start(program: program(), profile: profile, seed: seed)
    case .att(let path, let control):
      return try await BLERig.open(path, control: control)
    case .qemu(let image): return try await QEMURig.start(image: image, seed: seed)
    case .port(let specifier, let options, let control, let timeout, let care):
      try await LinePlay.startApp(
        specifier, PortList().port(leadingTo: specifier.description), bitsPerSecond: options.bitsPerSecond,
        way: care.before)
      let open: @Sendable () async throws -> PortRig = {
        try await PortRig.open(
          specifier, name: specifier.description, options: options, control: control, answerTimeout: timeout,
          // Whoever has an emulator there checks both ends; whoever has a board checks the board.
          offersHost: control != nil)
      }
      guard let recovery else { return try await open() }
      let reopen: @Sendable () async throws -> any Rig = {
        guard await recovery.climb() else { throw Self.notRecovered(specifier) }
        return try await open()
      }
      do {
        return RecoveringRig(try await open(), recover: reopen)
      } catch is PortRig.NoAnswer {
        return RecoveringRig(try await reopen(), recover: reopen)
      }
    }
  }

  private func makeRecovery() -> Recovery? {
    guard case .port(let specifier, let options, _, _, let care) = rig, let highest = care.highest else {
      return nil
    }
    return Recovery(specifier, bitsPerSecond: options.bitsPerSecond, upTo: highest)
  }

  /// Restarts the board at the end, if that was asked for. Returns why it could not.
  private func resetAfter() async -> String? {
    guard case .port(let specifier, let options, _, _, let care) = rig, care.after == .hardReset else {
      return nil
    }
    do {
      try await LinePlay.startApp(
        specifier, PortList().port(leadingTo: specifier.description), bitsPerSecond: options.bitsPerSecond,
        way: .defaultReset)
      return nil
    } catch {
      return Self.failure(of: error).description
    }
  }

  private func program() throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  }

  private func makeReport(
    _ results: [CaseResult], _ startedAt: Date, _ start: ContinuousClock.Instant
  ) -> Report {
    let (name, port) =
      switch rig {
      case .emulator(let profile): ("emulator", "emu:\(profile.name)")
      case .pty(let profile): ("pty", "emulator '\(profile)' in a process of its own")
      case .firmware(let path): ("firmware", path ?? "the reference firmware in this process")
      case .symmetric(let mutant): ("emulator", "emu: with the fault '\(mutant.name)' on both sides")
      case .ble(let profile): ("ble", "attribute socket of an emulator '\(profile)' in a process of its own")
      case .att(let path, _): ("ble", "unix:\(path)")
      case .qemu(let image): ("qemu", PortSpecifier.qemu(image: image).description)
      case .port(let specifier, _, _, _, _): ("port", specifier.description)
      }
    return Report(
      rig: name, port: port, seed: seed, startedAt: startedAt, duration: ContinuousClock.now - start,
      results: results)
  }

  private func writeFiles(_ report: Report) throws {
    if let junit { try write(JUnitReport.document(of: report), to: junit) }
    guard let json else { return }
    let document = try JSONReport(report).document()
    json == "-" ? Output.json(document: String(document.dropLast())) : try write(document, to: json)
  }

  private func write(_ document: String, to path: String) throws {
    do {
      try Data(document.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
    } catch {
      throw CommandFailure(
        .unfitEnvironment, "cannot write \(path.printable): \(error.localizedDescription)",
        remedy: "choose a place that can be written")
    }
  }

  private func judge(_ report: Report) throws {
    let totals = report.totals
    if totals.failed > 0 {
      throw CommandFailure(.testFailed, "\(totals.failed) of \(totals.count) cases failed")
    }
    if totals.errored > 0 {
      throw CommandFailure(
        .unfitEnvironment, "\(totals.errored) of \(totals.count) cases could not be run",
        remedy: "see what the report says about the rig")
    }
  }

  private static func notRecovered(_ port: PortSpecifier) -> CommandFailure {
    CommandFailure(
      .noAnswer, "\(port.description.printable): it does not answer, and nothing brought it back",
      remedy: "press its reset button, or allow more with --recover-up-to")
  }

  private static func failure(of error: any Error) -> CommandFailure {
    switch error {
    case let error as PortError: CommandFailure(error)
    case let error as CommandFailure: error
    case let error as PortRig.NoAnswer:
      CommandFailure(
        .noAnswer, "\(error.port.printable): \(error.description.printable)", remedy: error.remedy)
    case let error as RigTrouble:
      CommandFailure(.unfitEnvironment, error.message.printable, remedy: error.remedy)
    case let error: CommandFailure(.unfitEnvironment, "\(error)".printable)
    }
  }
}

/// What is done to the board on a port besides testing it.
struct PortCare: Sendable {
  var before: LineReset.Before
  var after: LineReset.After
  /// The last step that may be taken when it does not answer; `nil`: none.
  var highest: RecoveryLadder.Step?
}
