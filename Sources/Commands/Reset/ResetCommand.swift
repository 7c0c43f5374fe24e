import ArgumentParser
import Foundation
import NotibotHost
import SerialLink

/// `notibot reset`: restarts a board, and verifies that it restarted.
struct ResetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset",
    abstract: "Restart a board by its modem lines, USB port or power supply, and verify it.",
    discussion: """
      The restart is verified by a new boot id, a short uptime, or the text of the chip's ROM; for the loader by its \
      answer to SYNC. If --strategy and --sequence are omitted, the port's USB ids and driver select the sequence of \
      DTR and RTS. If the port disappears, as with USB inside the chip, the command waits for it to return.

      STRATEGIES
      \(ResetStrategy.allCases.map { "  \($0.rawValue) (\($0.target.rawValue))" }.joined(separator: "\n"))

      EXIT CODES HERE
        13: no answer after the reset
        14: the port disappeared
        17: the board restarted after a crash, or into the loader
        18: the board did not restart
      """)

  @OptionGroup var line: LineOptions

  @Option(
    help: ArgumentHelp(
      "Program to start (default: the strategy's, else app).", valueName: "target"))
  var into: ResetTarget?

  @Option(
    help: ArgumentHelp("Use this reset strategy instead of selecting one; see above.", valueName: "name"))
  var strategy: ResetStrategy?

  @Option(
    help: ArgumentHelp(
      "Use a custom sequence of DTR and RTS.", discussion: ResetSequence.form, valueName: "steps"))
  var sequence: String?

  @Flag(help: "Reset the board's USB port; its power stays on.")
  var usb = false

  @Flag(help: "Switch the board's power off and on, with uhubctl and a hub that supports it, or by labgrid.")
  var power = false

  @Option(help: "Reset at the beginning.")
  var before = LineReset.Before.defaultReset

  @Option(
    help: "Reset at the end, out of the loader.")
  var after = LineReset.After.noReset

  @Option(help: ArgumentHelp("Time limit for the board to restart, 0.1-600.", valueName: "seconds"))
  var timeout = 5.0

  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard (0.1...600).contains(timeout) else { throw ValidationError("--timeout must be 0.1 to 600 seconds") }
    let ways = [strategy != nil, sequence != nil, usb, power].count { $0 }
    guard ways <= 1 else {
      throw ValidationError("use only one of --strategy, --sequence, --usb and --power")
    }
    if let into, let strategy, strategy.target != into {
      throw ValidationError("the strategy \(strategy.rawValue) starts the \(strategy.target.rawValue)")
    }
    guard !(usb || power) || into != .loader else {
      throw ValidationError("only DTR and RTS can start the loader: omit --usb and --power")
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
    try await BoardAccess.withPlace(of: try line.resolvedPort().value) { try await reset($0) }
  }

  private func reset(_ name: PortName) async throws -> ResetReport {
    guard !name.isStandIn else {
      throw Failure(
        .usage, "\(name.description.printable) has no modem lines to reset it with",
        remedy:
          "start an emulator with 'notibot emulate --control PATH', then run: notibot control --socket PATH reboot"
      )
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

  /// `nil` if neither an option nor a variable sets it.
  private func chosenRate() throws -> UInt32? {
    let rate = try line.resolvedBitsPerSecond()
    return rate.source == .standard ? nil : rate.value
  }
}

extension ResetTarget: ExpressibleByArgument {}
extension ResetStrategy: ExpressibleByArgument {}

/// The resets before and after a command's work, with esptool's names.
enum LineReset {
  enum Before: String, CaseIterable, ExpressibleByArgument, Sendable {
    /// Selected by the port's USB ids and driver.
    case defaultReset = "default-reset"
    /// For a chip with USB-Serial/JTAG.
    case usbReset = "usb-reset"
    case noReset = "no-reset"
  }

  enum After: String, CaseIterable, ExpressibleByArgument, Sendable {
    case hardReset = "hard-reset"
    case noReset = "no-reset"
  }
}
