import Foundation
import NIOCore
import NIOPosix
import NotibotHost
import SerialLink

/// One reset: who is there, the reset itself, the proof.
struct ResetRun: Sendable {
  enum Way: Equatable, Sendable {
    /// By the lines, as the port's USB numbers and driver say.
    case byPort
    /// By the lines, one sequence after the other until one works.
    case sequences([ResetSequence])
    case usb
    case power
    case none
  }

  /// How long the device may take to tell its boot id before it is reset.
  private static let greetingLimit = Duration.seconds(1)
  /// How long a port may stay away that the reset took away.
  private static let absenceLimit = Duration.seconds(10)
  /// SYNCs to the loader after each sequence, and how long each may take.
  private static let syncsLimit = 5
  private static let syncTimeout = Duration.milliseconds(100)
  /// How often all sequences into the loader are tried.
  private static let roundsLimit = 2
  /// How often a port that has come back is opened, and how far apart. Source: esptool 5, which does it so.
  private static let opensLimit = 3
  private static let opensInterval = Duration.milliseconds(500)
  /// The rate at which ROMs print.
  private static let romBitsPerSecond: UInt32 = 115_200

  let name: PortName
  /// In bits per second; `nil`: nobody asked for one.
  let rate: UInt32?
  let target: ResetTarget
  let way: Way
  let after: LineReset.After
  let timeout: Duration
  var ports = PortList()
  private var loop: any EventLoop { MultiThreadedEventLoopGroup.singleton.next() }

  /// - Throws: `CommandFailure` for whatever did not come out as it should; `PortError`.
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
      try await finish(port, ResetStrategy.Wiring(port, info), &report)
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

  /// The one port that is meant, so that what comes later is about the same.
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
        _ = await line.says(within: timeout) { ESPBootText(lastIn: $0) != nil }
      }
      text = ESPBootText(lastIn: await line.text())
    } catch {
      await line.close()
      // USB inside the chip restarts with it: an error of the last steps is what was wanted.
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
      case .some(let text) where text.isInLoader: "the loader waits, and does not answer SYNC"
      case .some(let text): "it starts the app (\(text.cause.name.printable)): IO0 does not follow DTR"
      case nil: "nothing came back"
      }
    throw CommandFailure(
      .noAnswer, "cannot enter the loader of \(port.description.printable): \(hint)",
      remedy: "hold the board's BOOT button and try again, or another --strategy")
  }

  private func answersSync(_ line: WatchedPort) async -> Bool {
    for _ in 0..<Self.syncsLimit {
      line.write(ESPLoader.sync)
      if await line.says(within: Self.syncTimeout, { ESPLoader.hasAnswered(in: $0) }) { return true }
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
    let returned = try await BoardUSB.cyclePower(port, info).address
    report.portAfter = returned.description
    report.proof = .port
    if report.bootIDBefore != nil { try await prove(returned, nil, since: begin, &report) }
  }

  /// Leaves the loader.
  private func finish(
    _ port: PortAddress, _ wiring: ResetStrategy.Wiring, _ report: inout ResetReport
  ) async throws {
    let sequence = ResetStrategy.attempts(into: .app, over: wiring)[0].sequence
    let line = try await open(port)
    do {
      _ = try await line.play(sequence)
    } catch  where wiring == .chip && error.code == .deviceGone {
      // It restarts, and its port with it.
    } catch {
      await line.close()
      throw error
    }
    await line.close()
    report.sequences.append(sequence.name)
  }

  // MARK: Proof

  private func prove(
    _ port: PortAddress, _ text: ESPBootText?, since begin: ContinuousClock.Instant,
    _ report: inout ResetReport
  ) async throws {
    if let text, text.isInLoader {
      throw CommandFailure(
        .deviceRestarted,
        "\(port.description.printable): it came back in the loader (\(text.cause.name.printable))",
        remedy: "something holds IO0 low: let go of the BOOT button, or try --strategy usb-hard")
    }
    let greeting = try await greetAgain(port, hasText: text != nil)
    report.bootIDAfter = greeting.map { ResetReport.hex($0.bootID) }
    report.resetReason = greeting?.resetReason.map(Self.reasonWord) ?? text?.cause.name
    try refuseCrash(port, greeting, text)
    let sinceReset = ContinuousClock.now - begin
    switch (report.bootIDBefore, greeting, text) {
    case (let before?, let now?, _) where ResetReport.hex(now.bootID) != before: report.proof = .bootID
    case (.some, .some, _):
      throw CommandFailure(
        .unfitEnvironment,
        "\(port.description.printable) never restarted: its boot id is \(report.bootIDBefore ?? "") still",
        remedy: "its lines may not lead to EN: try another --strategy, --usb or --power")
    case (nil, let now?, _)
    where now.uptimeMs.map({ Duration.milliseconds(Int64(clamping: $0)) < sinceReset }) == true:
      report.proof = .uptime
    case (_, _, .some): report.proof = .bootText
    case (_, .some, nil):
      throw CommandFailure(
        .unfitEnvironment, "\(port.description.printable) answers, and nothing tells that it restarted",
        remedy: "its lines may not lead to EN: try another --strategy, --usb or --power")
    case (_, nil, nil):
      throw CommandFailure(
        .noAnswer,
        "\(port.description.printable): nothing came back within \(String(format: "%.1f", timeout.inSeconds)) s, no boot text and no Notibot",
        remedy: "check the supply and the rate, or give it longer with --timeout")
    }
  }

  private func refuseCrash(_ port: PortAddress, _ greeting: Greeting?, _ text: ESPBootText?) throws {
    let crashes: ClosedRange<UInt8> = 4...7
    let isCrash =
      greeting?.resetReason.map { crashes.contains($0) || $0 == 9 } ?? (text?.cause.trouble != nil)
    guard isCrash else { return }
    let reason = greeting?.resetReason.map(Self.reasonWord) ?? text?.cause.name ?? ""
    throw CommandFailure(
      .deviceRestarted, "\(port.description.printable): it came back, but from a crash (\(reason.printable))",
      remedy: "its console says why: notibot watch --text")
  }

  /// Source: ESP-IDF, `esp_reset_reason_t`.
  static func reasonWord(_ reason: UInt8) -> String {
    let words = [
      "unknown", "power-on", "pin", "software", "panic", "interrupt-watchdog", "task-watchdog", "watchdog",
      "deep-sleep", "brownout", "sdio",
    ]
    return Int(reason) < words.count ? words[Int(reason)] : "\(reason)"
  }
}

extension ResetReport.Change {
  init(_ change: PlayedChange) {
    self.init(dtr: change.lines.dtr, rts: change.lines.rts, seconds: change.at.inSeconds)
  }
}

// MARK: - The port

extension ResetRun {
  /// What a device says of itself.
  struct Greeting: Sendable {
    var address: PortAddress?
    var bootID: UInt32
    var resetReason: UInt8?
    var uptimeMs: UInt64?
  }

  private func open(_ port: PortAddress) async throws -> WatchedPort {
    let options = SerialOptions(bitsPerSecond: rate ?? Self.romBitsPerSecond)
    return try await WatchedPort.open(port, options: options, on: loop)
  }

  /// Asks who is there; `nil` when nothing answers as a Notibot. Throws what is wrong with the port.
  private func greet(_ name: PortName, within limit: Duration) async throws -> Greeting? {
    try await BoardGreeting.ask(
      name, bitsPerSecond: rate ?? PortSelection.standardBitsPerSecond, within: limit)
  }

  /// A port that is wedged is what a reset below it is for.
  private func greetFirst() async throws -> Greeting? {
    do {
      return try await greet(name, within: Self.greetingLimit)
    } catch let failure as CommandFailure
      where (way == .usb || way == .power) && [.linkLost, .unfitEnvironment].contains(failure.status)
    {
      return nil
    }
  }

  /// A board that has printed its boot text needs no protocol to be believed, so that it is asked for a moment only.
  private func greetAgain(_ port: PortAddress, hasText: Bool) async throws -> Greeting? {
    for _ in 1..<Self.opensLimit {
      do {
        return try await greet(.address(port), within: hasText ? min(timeout, Self.greetingLimit) : timeout)
      } catch let failure as CommandFailure {
        // A port that the reset took away may be there still, or may not have got its rights yet.
        guard [.linkLost, .noBoard, .noPermission].contains(failure.status) else { throw failure }
        _ = try await PortWait.until(upTo: Self.opensInterval, on: loop) { false }
      }
    }
    return try await greet(.address(port), within: timeout)
  }

  /// The port of the board after the reset: at once where it stayed, or when it is back where it was plugged in.
  private func awaitReturn(of port: PortAddress, _ info: PortInfo?) async throws -> PortAddress {
    guard let usb = info?.usb else { return port }
    let ports = ports
    let isBack = try await PortWait.until(upTo: Self.absenceLimit, on: loop) {
      ports.port(at: usb.location, interface: usb.interface) != nil
    }
    guard isBack, let back = ports.port(at: usb.location, interface: usb.interface) else {
      throw CommandFailure(
        .linkLost, "\(port.description.printable) went away, and did not come back within 10 s",
        remedy: "pull the plug and put it in again")
    }
    return back.path == info?.path ? port : back.address
  }
}
