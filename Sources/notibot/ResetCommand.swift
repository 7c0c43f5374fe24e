import ArgumentParser
import Foundation
import NotibotHost
import SerialLink

/// `notibot reset`: restarts a board, and proves that it did.
struct ResetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset",
    abstract: "Restart a board by its modem lines, its USB port or its supply, and prove it.",
    discussion: """
      The proof is another boot id, a short time since boot, or the text that the chip's ROM prints; into the loader, its \
      answer to SYNC. Without --strategy or --sequence the port's USB numbers and driver decide what is done to DTR and RTS. \
      A board whose USB is inside its chip takes the port away; it is waited for.

      STRATEGIES
      \(ResetStrategy.allCases.map { "  \($0.rawValue) (\($0.target.rawValue))" }.joined(separator: "\n"))

      EXIT CODES HERE
        13: nothing came back; 14: the port did; 17: it came back from a crash, or in the loader; 18: it never restarted.

      \(ExitStatus.helpTable)
      """)

  @OptionGroup var line: LineOptions

  @Option(help: ArgumentHelp("What to start: app or loader.", valueName: "target"))
  var into: ResetTarget?

  @Option(help: ArgumentHelp("Drive DTR and RTS so, whatever the port is; see above.", valueName: "name"))
  var strategy: ResetStrategy?

  @Option(help: ArgumentHelp("Drive DTR and RTS so.", discussion: ResetSequence.form, valueName: "steps"))
  var sequence: String?

  @Flag(help: "Reset the board's USB port, with the supply left on.")
  var usb = false

  @Flag(help: "Turn the board's supply off and on, with uhubctl and a hub that can.")
  var power = false

  @Option(help: "What is done to the lines at first: default-reset, usb-reset or no-reset.")
  var before = LineReset.Before.defaultReset

  @Option(
    help: "What is done to them at the end, when the loader is no longer wanted: hard-reset or no-reset.")
  var after = LineReset.After.noReset

  @Option(help: ArgumentHelp("How long the board may take to come back, 0.1-600.", valueName: "seconds"))
  var timeout = 5.0

  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard (0.1...600).contains(timeout) else { throw ValidationError("--timeout is 0.1 to 600 seconds") }
    let ways = [strategy != nil, sequence != nil, usb, power].count { $0 }
    guard ways <= 1 else { throw ValidationError("choose one of --strategy, --sequence, --usb and --power") }
    if let into, let strategy, strategy.target != into {
      throw ValidationError("the strategy \(strategy.rawValue) starts the \(strategy.target.rawValue)")
    }
    guard !(usb || power) || into != .loader else {
      throw ValidationError("only the lines lead into the loader: leave --usb and --power out")
    }
    if let sequence {
      do {
        _ = try ResetSequence(parsing: sequence)
      } catch {
        throw ValidationError("\(error)".printable)
      }
    }
  }

  func run() async throws {
    let command = self
    let report = try await Interruption.cancelling { try await command.reset() }
    if json {
      try Output.json(report, pretty: true)
    } else {
      Output.data(report.text)
    }
  }

  private func reset() async throws -> ResetReport {
    try await LabgridPlace.withPlace(of: try line.resolvedPort().value) { try await reset($0) }
  }

  private func reset(_ name: PortName) async throws -> ResetReport {
    guard !name.isStandIn else {
      throw CommandFailure(
        .usage, "\(name.description.printable) has no lines to reset it by",
        remedy: "start one with 'notibot emulate --control PATH', then: notibot control --socket PATH reboot")
    }
    let way: ResetRun.Way =
      if usb {
        .usb
      } else if power {
        .power
      } else if let sequence {
        .sequences([try ResetSequence(parsing: sequence)])
      } else if let strategy {
        .sequences([strategy.sequence])
      } else {
        switch before {
        case .defaultReset: .byPort
        case .usbReset:
          .sequences([into == .loader ? .usbJTAG : .usbHard])
        case .noReset: .none
        }
      }
    let run = ResetRun(
      name: name, rate: try chosenRate(), target: into ?? strategy?.target ?? .app, way: way,
      after: after,
      timeout: .milliseconds(Int64(timeout * 1000)))
    return try await run.report()
  }

  /// `nil`: nobody asked for one.
  private func chosenRate() throws -> UInt32? {
    let rate = try line.resolvedBitsPerSecond()
    return rate.source == .standard ? nil : rate.value
  }
}

extension ResetTarget: ExpressibleByArgument {}
extension ResetStrategy: ExpressibleByArgument {}

/// What a command does to the lines of a port before and after its work, in esptool's words.
enum LineReset {
  enum Before: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// As the port's USB numbers and driver say.
    case defaultReset = "default-reset"
    /// As a chip with USB-Serial/JTAG wants it.
    case usbReset = "usb-reset"
    case noReset = "no-reset"
  }

  enum After: String, CaseIterable, ExpressibleByArgument, Sendable {
    case hardReset = "hard-reset"
    case noReset = "no-reset"
  }
}
