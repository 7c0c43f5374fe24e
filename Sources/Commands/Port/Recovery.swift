import ArgumentParser
import Conformance
import Foundation
import NIOPosix
import NotibotHost
import SerialLink
import Synchronization

extension RecoveryLadder.Step: ExpressibleByArgument {}

/// The options for the recovery of a device that does not answer.
struct RecoveryOptions: ParsableArguments {
  @Flag(help: "Recover a device that does not answer; see --recover-up-to.")
  var recover = false

  @Option(
    help: ArgumentHelp(
      "Last recovery step.",
      discussion: "Each step is tried once, in the order of the values. Implies --recover. Default: lines.",
      valueName: "step"))
  var recoverUpTo: RecoveryLadder.Step?

  /// `nil` if recovery is off.
  var highest: RecoveryLadder.Step? { recoverUpTo ?? (recover ? .lines : nil) }
}

/// Runs the steps of a `RecoveryLadder` on one port.
actor Recovery {
  /// Time limit for an answer after a step, including a boot.
  private static let probeLimit = Duration.seconds(8)
  /// Time limit for draining a device that sends continuously.
  private static let drainLimit = Duration.milliseconds(300)
  /// Time limit for a port that disappeared in a step to return.
  private static let absenceLimit = Duration.seconds(10)
  /// Probes after one step, at most.
  private static let probesLimit = 5
  /// A probe in which this process was later than that does not prove that the device is silent.
  private static let latenessLimit = Duration.seconds(1)

  /// The port of the device: it can return under another name after a step.
  private(set) var port: PortName
  /// The port's entry when it was last found; `nil`: not a port of this machine.
  private var info: PortInfo?
  private let bitsPerSecond: UInt32
  private var ladder: RecoveryLadder

  /// Resolves the port while its board still answers, because an identity cannot be queried later.
  ///
  /// - Parameters:
  ///   - name: a port that is closed when `climb` is called.
  ///   - highest: the last step allowed.
  /// - Throws: `Failure` when no board has the identity, or several.
  static func prepared(
    for name: PortName, bitsPerSecond: UInt32, upTo highest: RecoveryLadder.Step
  ) async throws -> Recovery {
    let located = try await BoardAccess.located(name, bitsPerSecond: bitsPerSecond)
    return Recovery(located, bitsPerSecond: bitsPerSecond, upTo: highest)
  }

  private init(_ name: PortName, bitsPerSecond: UInt32, upTo highest: RecoveryLadder.Step) {
    let ports = PortList()
    // A name that means no port at present stays a name, and the steps that need a port are left
    // out.
    let address = try? ports.address(of: name)
    port = address.map { .address($0) } ?? name
    info = address.flatMap { ports.info(at: $0) }
    self.bitsPerSecond = bitsPerSecond
    ladder = RecoveryLadder(upTo: highest)
  }

  /// The steps so far; `nil` if the device always answered.
  var account: RecoveryAccount? { ladder.climbs > 0 ? ladder.account : nil }

  /// Whether the device answers as a Notibot within `limit`.
  func answers(within limit: Duration) async -> Bool {
    // A port that cannot be opened does not answer either.
    (try? await BoardGreeting.ask(port, bitsPerSecond: bitsPerSecond, within: limit)) != nil
  }

  /// Runs one step after the other until the device answers. Returns whether it does.
  func climb() async -> Bool {
    ladder.begin()
    while let action = ladder.nextAction() {
      switch action {
      case .perform(let step):
        Output.note("notibot: no answer from \(port.description.printable), trying: \(step.rawValue)")
        let outcome = await perform(step)
        ladder.handle(outcome)
      case .probe:
        let isBack = await answersWhereItReturns()
        ladder.handle(answers: isBack)
      case .recovered(let step):
        Output.note("notibot: \(port.description.printable) answers again, after: \(step.rawValue)")
        return true
      case .exhausted: return false
      }
    }
    return false
  }

  /// Whether the device answers after a step, at its port or where that port returned: a board can
  /// leave the bus after the step is over, even while it is probed. The probe is repeated if it
  /// proves nothing: the port left, could not be opened, or this process waited for a processor.
  private func answersWhereItReturns() async -> Bool {
    let meter = LatenessMeter(peers: [])
    for _ in 0..<Self.probesLimit {
      await meter.beginWindow()
      let answer = await probed()
      let lateness = await meter.endWindow().bench
      switch answer {
      case .greeting: return true
      case .silence where lateness < Self.latenessLimit: return false
      case .silence: continue
      case .departure:
        do { try await awaitReturn() } catch { return false }
      case .refusal:
        // For a moment, a node that has just returned belongs to root, or to a program that looks
        // at each new port.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        await PortWait.forArrival(at: nil, upTo: .seconds(1), on: loop)
      }
    }
    return false
  }

  /// What a probe can find.
  private enum Answer { case greeting, silence, departure, refusal }

  private func probed() async -> Answer {
    do {
      let greeting = try await BoardGreeting.ask(
        port, bitsPerSecond: bitsPerSecond, within: Self.probeLimit)
      return greeting == nil ? .silence : .greeting
    } catch let failure as Failure where [.noBoard, .linkLost].contains(failure.kind) {
      return .departure
    } catch {
      return .refusal
    }
  }

  private func perform(_ step: RecoveryLadder.Step) async -> RecoveryLadder.Outcome {
    do {
      switch step {
      case .drain:
        try await withPort { line in _ = await line.receives(within: Self.drainLimit) { _ in false } }
      case .session: try await withPort { line in line.write([0, 0]) }
      case .lines: try await playLines()
      case .usb:
        guard info?.usb != nil else { return .impossible("it is not a USB port of this machine") }
        try await BoardUSB.reset(address(), info)
        try await awaitReturn()
      case .power:
        guard info?.usb != nil || LabgridPlace.held != nil else {
          return .impossible("it is not a USB port of this machine")
        }
        port = .address(try await BoardUSB.cyclePower(address(), info))
      }
      return .done
    } catch let error as PortError {
      return error.code == .noModemLines ? .impossible(error.reason) : .failed(error.reason)
    } catch let failure as Failure {
      // No program and no such hub: that will not change while this runs.
      let isForGood = step == .power && failure.kind == .unfitEnvironment
      return isForGood ? .impossible(failure.message) : .failed(failure.message)
    } catch {
      return .failed(errorText(error))
    }
  }

  private func address() throws(PortError) -> PortAddress { try PortList().address(of: port) }

  private func withPort(_ body: (WatchedPort) async throws -> Void) async throws {
    let options = SerialOptions(bitsPerSecond: bitsPerSecond)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let line = try await WatchedPort.open(address(), options: options, on: loop)
    do {
      try await body(line)
      await line.close()
    } catch {
      await line.close()
      throw error
    }
  }

  private func playLines() async throws {
    do {
      try await LinePlay.startApp(address(), bitsPerSecond: bitsPerSecond, way: .defaultReset)
    } catch let error as PortError where error.code == .deviceGone && info?.usb != nil {
      // The board takes its port with it: that returns when the board has started.
    }
    try await awaitReturn()
  }

  private func awaitReturn() async throws {
    guard let usb = info?.usb else { return }
    let ports = PortList()
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let found = Mutex<PortInfo?>(nil)
    _ = try await PortWait.until(upTo: Self.absenceLimit, on: loop) {
      // Its node in /dev can appear after its folder in /sys.
      guard let port = ports.port(at: usb.location, interface: usb.interface), access(port.path, F_OK) == 0
      else { return false }
      found.withLock { $0 = port }
      return true
    }
    // It can leave again meanwhile: the next probe notices that.
    guard let back = found.withLock({ $0 }) else {
      throw PortError(.deviceGone, port: port.description, operation: "find")
    }
    if back.path != info?.path { port = .address(back.address) }
    info = back
  }
}

/// Starts the app with the modem lines of a port, for commands that do so before or after their
/// work.
enum LinePlay {
  /// - Throws: `PortError`.
  static func startApp(
    _ port: PortAddress, bitsPerSecond: UInt32, way: LineReset.Before
  ) async throws {
    let wiring = ResetStrategy.Wiring(port, PortList().info(at: port))
    let sequence: ResetSequence
    switch way {
    case .noReset: return
    case .usbReset: sequence = .usbHard
    case .defaultReset: sequence = ResetStrategy.attempts(into: .app, over: wiring)[0].sequence
    }
    let line = try await WatchedPort.open(
      port, options: SerialOptions(bitsPerSecond: bitsPerSecond),
      on: MultiThreadedEventLoopGroup.singleton.next())
    do {
      _ = try await line.play(sequence)
    } catch {
      await line.close()
      // USB inside the chip restarts with it.
      guard wiring == .chip, error.code == .deviceGone else { throw error }
      return
    }
    await line.close()
  }
}
