import Console
import NotibotHost
import NotibotProtocol
import SerialLink

/// Decides when a monitor ends.
struct MonitorJudge {
  enum Verdict {
    /// The expression of `--until` matched.
    case done(match: String)
    case failed(reason: String, match: String, Failure)
  }

  private let port: String
  private let until: Pattern?
  private let failOn: Pattern?
  private let failsOnCrash: Bool
  /// Whether `$` matches where a line has not ended.
  private let matchesPrompts: Bool

  /// Throws `Failure` when an expression is invalid.
  init(_ options: MonitorOptions) throws {
    port = options.port.description.printable
    until = try options.until.map { try MonitorOptions.expression($0, option: "--until") }
    failOn = try options.failOn.map { try MonitorOptions.expression($0, option: "--fail-on") }
    failsOnCrash = options.failsOnCrash
    matchesPrompts = options.matchesPrompts
  }

  /// Whether a line or an event can end the monitor.
  var canDecide: Bool { until != nil || failOn != nil || failsOnCrash }

  /// The decision for a record; `nil`: continue. Failures take precedence.
  func verdict(on record: MonitorRecord) -> Verdict? {
    switch record.content {
    case .text(let line): return verdict(onText: line.bytes, isWhole: line.end != .silence || matchesPrompts)
    case .damage(let damage): return verdict(onText: damage.bytes, isWhole: true)
    case .crash(let crash):
      guard failsOnCrash else { return nil }
      let text = "\(crash.kind.rawValue), \(VisibleText(Array(crash.reason.utf8)).plain)"
      return .failed(
        reason: "crash", match: crash.reason,
        Failure(.deviceRestarted, "\(port): the device crashed: \(text)"))
    case .rebootLoop(let boots):
      guard failsOnCrash else { return nil }
      return .failed(
        reason: "rebootLoop", match: "",
        Failure(
          .deviceRestarted, "\(port): the device is in a reboot loop: \(boots) boots in 10 s",
          remedy: "check its power supply and its console text"))
    case .opened, .lost, .frame, .boot, .warning, .binaryLog: return nil
    }
  }

  private func verdict(onText bytes: [UInt8], isWhole: Bool) -> Verdict? {
    guard until != nil || failOn != nil else { return nil }
    let text = VisibleText(bytes).plain
    if let failOn, let seen = failOn.firstMatch(in: text, isWhole: isWhole) {
      return .failed(
        reason: "failOn", match: seen,
        Failure(.testFailed, "\(port): '\(seen.prefix(80).description.printable)' matched --fail-on"))
    }
    return until?.firstMatch(in: text, isWhole: isWhole).map { .done(match: $0) }
  }
}
