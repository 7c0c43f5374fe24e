import Foundation
import NIOCore
import NIOPosix
import NotibotHost
import NotibotProtocol
import SerialLink

/// One reset: query of the device, reset, verification.
struct ResetRun: Sendable {
  enum Way: Equatable, Sendable {
    /// By the modem lines, selected by the port's USB ids and driver.
    case byPort
    /// By the modem lines, one sequence after the other until one works.
    case sequences([ResetSequence])
    case usb
    case power
    case none
  }

  /// Time limit for the device to report its boot id before the reset.
  private static let greetingLimit = Duration.seconds(1)
  /// Time limit for a port that disappeared in the reset to return.
  private static let absenceLimit = Duration.seconds(10)
  /// SYNCs to the loader after each sequence, and the time limit of each.
  private static let syncsLimit = 5
  private static let syncTimeout = Duration.milliseconds(100)
  /// How often all sequences into the loader are tried.
  private static let roundsLimit = 2
  /// Attempts to open a port that has returned, and their interval. Source: esptool 5.
  private static let opensLimit = 3
  private static let opensInterval = Duration.milliseconds(500)
  /// The rate at which ROMs print.
  private static let romBitsPerSecond: UInt32 = 115_200

  let name: PortName
  /// In bits per second; `nil` if neither an option nor a variable sets it.
  let rate: UInt32?
  let target: ResetTarget
  let way: Way
  let after: LineReset.After
  let timeout: Duration
  var ports = PortList()
  private let unlockedUsers = UnlockedUsers()
  private var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

  /// - Throws: `Failure` when the reset failed; `PortError`.
  func report() async throws -> ResetReport {
    let start = ContinuousClock.now
    let greeting = target == .app || name.deviceID != nil ? try await greetFirst() : nil
    let port = try resolved(greeting)
    let info = ports.info(at: port)
    var report = ResetReport(
      port: name.description, portAfter: port.description, target: target.rawValue, way: word)
    report.bootIDBefore = greeting.map { ResetReport.hex($0.bootID) }
    switch way {
    case .none: if target == .loader { try await enterLoader(port, [], info, &report) }
    case .usb: try await resetUSB(port, info, &report)
    case .power: try await cyclePower(port, info, &report)
    case .byPort, .sequences:
      let wiring = ResetStrategy.Wiring(port, info)
      let sequences = sequences(over: wiring)
      switch target {
      case .app: try await startApp(port, sequences[0], wiring, info, &report)
      case .loader: try await enterLoader(port, sequences, info, &report)
      }
    }
    if after == .hardReset, target == .loader || way == .none {
      report.sequences.append(try await leaveLoader(port, ResetStrategy.Wiring(port, info)))
    }
    report.seconds = (ContinuousClock.now - start).inSeconds
    return report
  }

  private var word: String {
    switch way {
    case .byPort, .sequences: "lines"
    case .usb: "usb"
    case .power: "power"
    case .none: "none"
    }
  }

  private func sequences(over wiring: ResetStrategy.Wiring) -> [ResetSequence] {
    if case .sequences(let sequences) = way { return sequences }
    return ResetStrategy.attempts(into: target, over: wiring).map(\.sequence)
  }

  /// Resolves the port once, so that all later steps use the same.
  private func resolved(_ greeting: Greeting?) throws -> PortAddress {
    if name.deviceID != nil, let address = greeting?.address { return address }
    return try ports.address(of: name)
  }

  // MARK: Ways

  private func startApp(
    _ port: PortAddress, _ sequence: ResetSequence, _ wiring: ResetStrategy.Wiring, _ info: PortInfo?,
    _ report: inout ResetReport
  ) async throws {
    let line = try await open(port)
    report.sequences.append(sequence.name)
    let begin = ContinuousClock.now
    var text: ESPBootText?
    do {
      report.changes = try await line.play(sequence).map(ResetReport.Change.init)
      if report.bootIDBefore == nil {
        _ = await line.receives(within: timeout) { ESPBootText(lastIn: $0) != nil }
      }
      text = ESPBootText(lastIn: await line.text())
    } catch {
      await line.close()
      // USB inside the chip restarts with it, so an error of the last steps is expected.
      guard wiring == .chip, error.code == .deviceGone else { throw error }
    }
    await line.close()
    let returned = try await awaitReturn(of: port, info)
    report.portAfter = returned.description
    try await prove(returned, text, since: begin, &report)
  }

  private func enterLoader(
    _ port: PortAddress, _ sequences: [ResetSequence], _ info: PortInfo?, _ report: inout ResetReport
  ) async throws {
    var seen: [UInt8] = []
    for _ in 0..<Self.roundsLimit {
      for sequence in sequences.isEmpty ? [nil] : sequences.map(Optional.some) {
        let line = try await open(port)
        do {
          if let sequence {
            report.sequences.append(sequence.name)
            report.changes = try await line.play(sequence).map(ResetReport.Change.init)
          }
          if await answersSync(line) {
            report.proof = .loaderSync
            report.resetReason = ESPBootText(lastIn: await line.text())?.cause.name
            await line.close()
            return
          }
          seen = await line.text()
          await line.close()
        } catch {
          await line.close()
          throw error
        }
        try Task.checkCancellation()
      }
    }
    let hint =
      switch ESPBootText(lastIn: seen) {
      case .some(let text) where text.isInLoader: "the loader runs, but does not answer SYNC"
      case .some(let text): "it starts the app (\(text.cause.name.printable)): IO0 does not follow DTR"
      case nil: "no answer"
      }
    throw Failure(
      .noAnswer, "cannot enter the loader of \(port.description.printable): \(hint)",
      remedy: "hold the board's BOOT button and try again, or try another --strategy")
  }

  private func answersSync(_ line: WatchedPort) async -> Bool {
    for _ in 0..<Self.syncsLimit {
      line.write(ESPLoader.sync)
      if await line.receives(within: Self.syncTimeout, { ESPLoader.hasAnswered(in: $0) }) { return true }
    }
    return false
  }

  private func resetUSB(_ port: PortAddress, _ info: PortInfo?, _ report: inout ResetReport) async throws {
    let begin = ContinuousClock.now
    report.device = try await BoardUSB.reset(port, info)
    let returned = try await awaitReturn(of: port, info)
    report.portAfter = returned.description
    report.proof = .port
    // A reset of USB restarts only a chip that has its USB inside.
    guard report.bootIDBefore != nil, ResetStrategy.Wiring(port, info) == .chip else { return }
    try await prove(returned, nil, since: begin, &report)
  }

  private func cyclePower(_ port: PortAddress, _ info: PortInfo?, _ report: inout ResetReport) async throws {
    let begin = ContinuousClock.now
    let returned = try await BoardUSB.cyclePower(port, info)
    report.portAfter = returned.description
    report.proof = .port
    if report.bootIDBefore != nil { try await prove(returned, nil, since: begin, &report) }
  }

  /// Leaves the loader. Returns the name of the sequence.
  func leaveLoader(_ port: PortAddress, _ wiring: ResetStrategy.Wiring) async throws -> String {
    let sequence = ResetStrategy.attempts(into: .app, over: wiring)[0].sequence
    let line = try await open(port)
    do {
      _ = try await line.play(sequence)
    } catch  where wiring == .chip && error.code == .deviceGone {
      // The chip restarts together with its port.
    } catch {
      await line.close()
      throw error
    }
    await line.close()
    return sequence.name
  }

  // MARK: Verification

  private func prove(
    _ port: PortAddress, _ text: ESPBootText?, since begin: ContinuousClock.Instant,
    _ report: inout ResetReport
  ) async throws {
    if let text, text.isInLoader {
      throw Failure(
        .deviceRestarted,
        "\(port.description.printable): it restarted into the loader (\(text.cause.name.printable))",
        remedy: "IO0 is held low: release the BOOT button, or try --strategy usb-hard")
    }
    let greeting = try await greetAgain(port, hasText: text != nil)
    report.bootIDAfter = greeting.map { ResetReport.hex($0.bootID) }
    report.resetReason = greeting?.resetReason.map(Self.reasonWord) ?? text?.cause.name
    try refuseCrash(port, greeting, text)
    let sinceReset = ContinuousClock.now - begin
    switch (report.bootIDBefore, greeting, text) {
    case (let before?, let now?, _) where ResetReport.hex(now.bootID) != before: report.proof = .bootID
    case (.some, .some, _):
      throw Failure(
        .unfitEnvironment,
        "\(port.description.printable) did not restart: its boot id is still \(report.bootIDBefore ?? "")",
        remedy:
          "check that DTR and RTS are connected to EN and IO0, or try another --strategy, --usb or --power")
    case (nil, let now?, _)
    where now.uptimeMs.map({ Duration.milliseconds(Int64(clamping: $0)) < sinceReset }) == true:
      report.proof = .uptime
    case (_, _, .some): report.proof = .bootText
    case (_, .some, nil):
      throw Failure(
        .unfitEnvironment, "\(port.description.printable) answers, but a restart cannot be verified",
        remedy:
          "check that DTR and RTS are connected to EN and IO0, or try another --strategy, --usb or --power")
    case (_, nil, nil):
      throw Failure(
        .noAnswer,
        "\(port.description.printable): no boot text and no answer within \(String(format: "%.1f", timeout.inSeconds)) s",
        remedy: "check the power supply and the rate, or increase --timeout")
    }
  }

  private func refuseCrash(_ port: PortAddress, _ greeting: Greeting?, _ text: ESPBootText?) throws {
    let crashes: [ResetReason] = [.panic, .interruptWatchdog, .taskWatchdog, .otherWatchdog, .brownout]
    let isCrash = greeting?.resetReason.map(crashes.contains) ?? (text?.cause.trouble != nil)
    guard isCrash else { return }
    let reason = greeting?.resetReason.map(Self.reasonWord) ?? text?.cause.name ?? ""
    throw Failure(
      .deviceRestarted, "\(port.description.printable): it restarted after a crash (\(reason.printable))",
      remedy: "see its console with: notibot monitor")
  }

  /// Source: ESP-IDF, `esp_reset_reason_t`.
  static func reasonWord(_ reason: ResetReason) -> String {
    switch reason {
    case .unknown: "unknown"
    case .powerOn: "power-on"
    case .externalPin: "pin"
    case .software: "software"
    case .panic: "panic"
    case .interruptWatchdog: "interrupt-watchdog"
    case .taskWatchdog: "task-watchdog"
    case .otherWatchdog: "watchdog"
    case .deepSleep: "deep-sleep"
    case .brownout: "brownout"
    case .sdio: "sdio"
    }
  }
}

extension ResetReport.Change {
  init(_ change: PlayedChange) {
    self.init(dtr: change.lines.dtr, rts: change.lines.rts, seconds: change.at.inSeconds)
  }
}

// MARK: - The port

extension ResetRun {
  /// The device at the port.
  struct Greeting: Sendable {
    var address: PortAddress?
    var bootID: UInt32
    var resetReason: ResetReason?
    var uptimeMs: UInt64?
    var info: DeviceInfo
  }

  private func open(_ port: PortAddress) async throws -> WatchedPort {
    let options = SerialOptions(bitsPerSecond: rate ?? Self.romBitsPerSecond)
    let line = try await WatchedPort.open(port, options: options, on: loop)
    if let path = port.path, let warning = unlockedUsers.warning(for: path) { Output.note(warning) }
    return line
  }

  /// Queries the device; `nil` if no Notibot answers. Throws an error of the port.
  private func greet(_ name: PortName, within limit: Duration) async throws -> Greeting? {
    try await BoardGreeting.ask(
      name, bitsPerSecond: rate ?? PortSelection.standardBitsPerSecond, within: limit)
  }

  /// A reset of USB or power also works for a port that cannot be opened.
  private func greetFirst() async throws -> Greeting? {
    do {
      return try await greet(name, within: Self.greetingLimit)
    } catch let failure as Failure
      where (way == .usb || way == .power) && [.linkLost, .unfitEnvironment].contains(failure.kind)
    {
      return nil
    }
  }

  /// Boot text already verifies the restart, so the query of such a board is short.
  private func greetAgain(_ port: PortAddress, hasText: Bool) async throws -> Greeting? {
    for _ in 1..<Self.opensLimit {
      do {
        return try await greet(.address(port), within: hasText ? min(timeout, Self.greetingLimit) : timeout)
      } catch let failure as Failure {
        // After the reset the old device node can still exist, or the permissions of the new one
        // are not set yet.
        guard [.linkLost, .noBoard, .noPermission].contains(failure.kind) else { throw failure }
        _ = try await PortWait.until(upTo: Self.opensInterval, on: loop) { false }
      }
    }
    return try await greet(.address(port), within: timeout)
  }

  /// The port of the board after the reset: the same, or the one that returned at the same place.
  private func awaitReturn(of port: PortAddress, _ info: PortInfo?) async throws -> PortAddress {
    guard let usb = info?.usb else { return port }
    let ports = ports
    let isBack = try await PortWait.until(upTo: Self.absenceLimit, on: loop) {
      ports.port(at: usb.location, interface: usb.interface) != nil
    }
    guard isBack, let back = ports.port(at: usb.location, interface: usb.interface) else {
      throw Failure(
        .linkLost, "\(port.description.printable) disappeared and did not return within 10 s",
        remedy: "unplug the board and plug it in again")
    }
    return back.path == info?.path ? port : back.address
  }
}
