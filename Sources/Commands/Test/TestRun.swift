import Conformance
import DeviceEmulator
import Foundation
import NotibotProtocol
import Rigs
import SerialLink
import Synchronization

/// One run of the suite: a rig, lines during the run, a report at its end.
struct TestRun: Sendable {
  /// The device under test.
  enum ChosenRig: Sendable {
    case emulator(DeviceProfile)
    case pty(profile: String)
    /// Like `pty`, with RFC 2217 on a TCP port of this computer.
    case rfc2217(profile: String)
    /// The reference firmware in this process: the one that is linked in, or a library.
    case firmware(library: String?)
    case ble(profile: String)
    /// A device that offers the attribute protocol on a unix socket.
    case att(path: String, control: String?, timeout: Duration)
    /// A device on the air, by its name or address.
    case bluetooth(peer: String, adapter: String, control: String?, timeout: Duration)
    case qemu(image: String?)
    /// An image on a model of the ESP32-C3; nil: the reference firmware's.
    case chip(image: String?, PortName.ChipLine)
    case port(PortName, SerialOptions, control: String?, timeout: Duration, PortCare)

    /// Whether a run takes minutes: on one device, in real time.
    var isSlow: Bool {
      switch self {
      case .port, .att, .bluetooth, .qemu: true
      case .pty, .rfc2217, .ble, .emulator, .firmware, .chip: false
      }
    }

    /// Devices in other processes that the rig starts unless a number is given; nil: it has one.
    /// They wait most of the time, except for emulated CPUs (docs/DECISIONS.md).
    var usualDevices: Int? {
      switch self {
      case .pty, .rfc2217, .ble: 16
      case .qemu: 4
      case .emulator, .firmware, .att, .bluetooth, .chip, .port: nil
      }
    }
  }

  let cases: [Case]
  let seed: UInt64
  var rig: ChosenRig
  /// What answers over connections; nil: as the rig has it.
  var server: AttributeServer?
  var options: TestOptions
  /// Devices that the rig starts, which share the cases; at least 1.
  var devices = 1
  /// Initial time of the clock of a device in this process.
  var clockStart = Instant.zero
  /// Whether stderr shows the progress, as a bar or as a line per 10 %.
  var showsProgress = false
  /// Whether the lines are coloured.
  var usesColor = Output.usesColor()
  /// Whether `perform` prints them.
  var printsSummary = true
  /// `nil` for a run of another command.
  var again: AgainLine?
  /// Where the bytes of the line are written.
  var trace: TraceFolder?
  /// Which cases of how many were chosen by `--quick`.
  var part: String?
  private let progress = TestProgress()

  init(
    cases: [Case], seed: UInt64, rig: ChosenRig, server: AttributeServer? = nil, options: TestOptions,
    devices: Int = 1, clockStart: Instant = .zero, showsProgress: Bool = false
  ) {
    (self.cases, self.seed, self.rig, self.devices) = (cases, seed, rig, devices)
    self.server = server
    (self.options, self.clockStart, self.showsProgress) = (options, clockStart, showsProgress)
  }

  /// The result of a run.
  struct Outcome: Sendable {
    var report: Report
    /// `nil` if every case passed or was skipped.
    var failure: Failure?
  }

  /// Runs the cases, with the labgrid place of the port acquired, and passes each line of text on
  /// immediately.
  func perform(print: @escaping @Sendable (String) -> Void) async -> Outcome {
    guard case .port(let name, let options, let control, let timeout, let care) = rig else {
      return await performHere(print: print)
    }
    do {
      return try await LabgridPlace.withPlace(of: name) { port in
        var run = self
        run.rig = .port(port, options, control: control, timeout: timeout, care)
        var outcome = await run.performHere(print: print)
        // As it was named, also if it was acquired.
        outcome.report.port = name.description
        return outcome
      }
    } catch {
      let failure = Self.failure(of: error)
      var report = makeReport([], Date(), .now)
      report.rigTrouble = failure.description
      return Outcome(report: report, failure: failure)
    }
  }

  private func performHere(print: @escaping @Sendable (String) -> Void) async -> Outcome {
    let startedAt = Date()
    let start = ContinuousClock.now
    let device: any Rig
    var recovery: Recovery?
    do {
      recovery = try await makeRecovery()
      device = try await makeRig(recovery)
    } catch {
      let failure = Self.failure(of: error)
      var report = makeReport([], startedAt, start)
      report.rigTrouble = failure.description
      report.recovery = await recovery?.account
      return Outcome(report: report, failure: failure)
    }
    let identity = await identity(of: device)
    if !options.quiet { TextReport.heading(identity).forEach(print) }
    let (results, lineTrouble) = await runCases(on: device, print: print)
    await device.close()
    var report = makeReport(results, startedAt, start)
    report.identity = identity
    report.bootID = device.bootID
    report.recovery = await recovery?.account
    var trouble = await resetAfter(recovery)
    report.rigTrouble = trouble?.description
    let left = "\(cases.count - results.count) of \(cases.count) cases were not run"
    if let lineTrouble {
      report.rigTrouble = "\(lineTrouble); \(left)"
    } else if let loss = device.loss {
      let message = "\(loss.message); \(left)"
      report.rigTrouble = message
      trouble = Failure(loss.part == .port ? .linkLost : .noAnswer, message, remedy: loss.remedy)
    } else if options.failFast, results.last?.outcome.isBad == true {
      if results.count < cases.count {
        print("Ended by --fail-fast after \(results.count) of \(cases.count) cases.")
      }
    } else if results.count < cases.count {
      report.rigTrouble = "interrupted after \(results.count) of \(cases.count) cases"
    }
    if printsSummary { summary(of: report).forEach(print) }
    let judgement = Self.judgement(of: report)
    if trouble == nil, let failure = trace?.failure {
      trouble = Failure(.unfitEnvironment, "the trace is incomplete: \(failure.message)")
    }
    let isLost = device.loss != nil && report.totals.failed == 0
    return Outcome(report: report, failure: isLost ? trouble : judgement ?? trouble)
  }

  /// The lines below the last case.
  func summary(of report: Report) -> [String] {
    options.quiet ? text.result(of: report) : text.summary(of: report)
  }

  private var text: TextReport {
    TextReport(cases: cases, usesColor: usesColor, isVerbose: options.verbose) { [again] in
      again?.text(for: $0)
    }
  }

  private func runCases(
    on device: any Rig, print: @escaping @Sendable (String) -> Void
  ) async -> ([CaseResult], lineTrouble: String?) {
    let output = Mutex(
      (
        text: text, done: 0, bar: Progress("test", total: showsProgress ? cases.count : 0, unit: "cases")
      ))
    var policy = options.policy
    policy.trace = trace
    let ordered = FaultMatrix.measured.ordered(cases, devices: devices)
    let queue = CaseQueue(ordered, policy: policy) { result in
      progress.add(result)
      output.withLock { output in
        output.text.lines(for: result).forEach(print)
        output.done += 1
        output.bar.update(output.done)
      }
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 1..<devices {
        group.addTask {
          do {
            let another = try await makeRig(nil)
            await queue.run(on: another, seed: seed)
            await another.close()
          } catch {
            guard !Task.isCancelled else { return }
            Output.note(
              "notibot: a device did not start, the others run its cases: \(Self.failure(of: error))")
          }
        }
      }
      await queue.run(on: device, seed: seed)
    }
    return (await queue.results, await queue.trouble)
  }

  /// The report of a run that ends early.
  func unfinished() -> Report {
    let results = progress.results
    var report = makeReport(results, progress.startedAt, progress.start)
    report.rigTrouble = "ended after \(results.count) of \(cases.count) cases, in the middle of the next"
    report.identity = identity
    return report
  }

  private func makeRig(_ recovery: Recovery?) async throws -> any Rig {
    switch rig {
    case .emulator(let profile): return EmulatorRig(profile: profile, clockStart: clockStart)
    case .firmware(let path):
      return FirmwareRig(library: try path.map { try .load($0) } ?? .linked, clockStart: clockStart)
    case .pty(let profile):
      return RecoveringRig(try await PTYRig.start(program: program(), profile: profile, seed: seed))
    case .rfc2217(let profile):
      return RecoveringRig(
        try await PTYRig.start(program: program(), profile: profile, front: .rfc2217, seed: seed))
    case .ble(let profile):
      return RecoveringRig(
        try await BLERig.start(program: program(), profile: profile, seed: seed, server: server))
    case .att(let path, let control, let timeout):
      return RecoveringRig(
        try await BLERig.open(path, control: control, server: server ?? .own, answerTimeout: timeout))
    case .bluetooth(let peer, let adapter, let control, let timeout):
      return RecoveringRig(
        try await BluetoothHost.openRig(
          peer, on: adapter, control: control, server: server ?? .stack, answerTimeout: timeout))
    case .chip(let path, let port):
      return try await ChipRig(image: .read(path, line: port), port: port)
    case .qemu(let image): return RecoveringRig(try await QEMURig.start(image: image, seed: seed))
    case .port(let name, let options, let control, let timeout, let care):
      if care.before != .noReset { try await playLines(of: name, options, timeout, recovery, care.before) }
      let open: @Sendable () async throws -> PortRig = {
        let place = try await Self.place(of: name, options, timeout, recovery)
        return try await PortRig.open(
          place, name: name.description, options: options, control: control,
          deviceID: name.deviceID,
          answerTimeout: timeout)
      }
      guard let recovery else { return RecoveringRig(try await open()) }
      let reopen: @Sendable () async throws -> any Rig = {
        guard await recovery.climb() else { throw Self.notRecovered(name) }
        return try await open()
      }
      do {
        return RecoveringRig(try await open(), recover: reopen)
      } catch let failure as Failure where failure.kind != .noBoard {
        return RecoveringRig(try await reopen(), recover: reopen)
      }
    }
  }

  private func makeRecovery() async throws -> Recovery? {
    guard case .port(let name, let options, _, _, let care) = rig, let highest = care.highest else {
      return nil
    }
    return try await Recovery.prepared(for: name, bitsPerSecond: options.bitsPerSecond, upTo: highest)
  }

  /// Where the board is now: a recovery can have found it under another name.
  private static func place(
    of name: PortName, _ options: SerialOptions, _ timeout: Duration, _ recovery: Recovery?
  ) async throws -> PortName {
    if let recovery { return await recovery.port }
    return try await BoardAccess.located(name, bitsPerSecond: options.bitsPerSecond, timeout: timeout)
  }

  private func playLines(
    of name: PortName, _ options: SerialOptions, _ timeout: Duration, _ recovery: Recovery?,
    _ way: LineReset.Before
  ) async throws {
    let address = try PortList().address(of: try await Self.place(of: name, options, timeout, recovery))
    try await LinePlay.startApp(address, bitsPerSecond: options.bitsPerSecond, way: way)
  }

  /// Restarts the board at the end, if requested. Returns why that failed.
  private func resetAfter(_ recovery: Recovery?) async -> Failure? {
    guard case .port(let name, let options, _, let timeout, let care) = rig, care.after == .hardReset else {
      return nil
    }
    do {
      try await playLines(of: name, options, timeout, recovery, .defaultReset)
      return nil
    } catch {
      return Self.failure(of: error)
    }
  }

  private func program() throws -> String {
    try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
  }

  /// The device under test, as named in the report.
  var name: String { makeReport([], Date(), .now).port }

  func makeReport(
    _ results: [CaseResult], _ startedAt: Date, _ start: ContinuousClock.Instant
  ) -> Report {
    let (name, port) =
      switch rig {
      case .emulator(let profile): ("emulator", "emu:\(profile.name)")
      case .pty(let profile): ("pty", "emulator '\(profile)' in a process of its own")
      case .rfc2217(let profile):
        ("rfc2217", "emulator '\(profile)' in a process of its own, over TCP")
      case .firmware(let path): ("firmware", path ?? "the reference firmware in this process")
      case .ble(let profile):
        ("ble", "attribute socket of an emulator '\(profile)' in a process of its own")
      case .att(let path, _, _): ("ble", "att:\(path)")
      case .bluetooth(let peer, let adapter, _, _): ("ble", "ble:\(peer)@\(adapter)")
      case .qemu(let image): ("qemu", PortName.standIn(.qemu(image: image)).description)
      case .chip(let path, let port): ("chip", "\(path ?? "the reference firmware") on \(port.place)")
      case .port(let name, _, _, _, _): ("port", name.description)
      }
    // In the suite's order, whatever the order of the run.
    let places = Dictionary(uniqueKeysWithValues: cases.enumerated().map { ($0.element.id, $0.offset) })
    let results = results.sorted { places[$0.testCase.id] ?? 0 < places[$1.testCase.id] ?? 0 }
    var report = Report(
      rig: name, port: devices == 1 ? port : "\(port), \(devices) at once", seed: seed, startedAt: startedAt,
      duration: ContinuousClock.now - start, results: results)
    report.part = part
    return report
  }

  private static func judgement(of report: Report) -> Failure? {
    let totals = report.totals
    if totals.failed > 0 {
      return Failure(.testFailed, "\(totals.failed) of \(totals.run) cases failed")
    }
    if totals.errored > 0 {
      return Failure(
        .unfitEnvironment, "\(totals.errored) of \(totals.run) cases could not be run",
        remedy: "see the errors of the rig in the report")
    }
    return nil
  }

  private static func notRecovered(_ port: PortName) -> Failure {
    Failure(
      .noAnswer, "\(port.description.printable): no answer, and no recovery step helped",
      remedy: "press its reset button, or allow more with --recover-up-to")
  }

  private static func failure(of error: any Error) -> Failure {
    switch error {
    case let error as any ClassifiedError: Failure(error)
    case let error as RigTrouble:
      Failure(
        error.part == .port ? .linkLost : .unfitEnvironment, error.message.printable, remedy: error.remedy)
    case let error: Failure(.unfitEnvironment, errorText(error).printable)
    }
  }
}

/// The results of a run so far.
final class TestProgress: Sendable {
  let startedAt = Date()
  let start = ContinuousClock.now
  private let finished = Mutex<[CaseResult]>([])

  /// In the order of the run.
  var results: [CaseResult] { finished.withLock(\.self) }

  func add(_ result: CaseResult) { finished.withLock { $0.append(result) } }
}

/// Resets and recovery of the board on a port.
struct PortCare: Sendable {
  var before: LineReset.Before
  var after: LineReset.After
  /// The last recovery step allowed; `nil`: no recovery.
  var highest: RecoveryLadder.Step?
}
