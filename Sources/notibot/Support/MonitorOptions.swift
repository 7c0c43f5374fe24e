import ArgumentParser
import NotibotHost
import NotibotProtocol
import SerialLink

/// What `notibot monitor` was asked for.
struct MonitorOptions: Sendable {
  enum Frames: String, ExpressibleByArgument, CaseIterable, Sendable {
    case none
    /// A line each: what it is and what is in it.
    case summary
    /// Its header and payload besides.
    case full
  }

  enum Timestamps: String, ExpressibleByArgument, CaseIterable, Sendable {
    case none
    /// Local time of day.
    case clock
    /// UTC.
    case iso
    /// Since the line before.
    case delta
    case epoch
  }

  enum Color: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// On a terminal, unless NO_COLOR says otherwise.
    case auto
    case always
    case never
  }

  var port: PortName
  var serial: SerialOptions
  /// Regular expressions.
  var until: String?
  var failOn: String?
  var timeout: Duration?
  /// The file for what comes.
  var save: String?
  var isJSON = false
  var showsText = true
  var frames = Frames.summary
  var timestamps = Timestamps.none
  var usesColor = false
  var reconnects = true
  var failsOnCrash = false
  /// Sent when the port is first open, each with a newline.
  var linesToSend: [String] = []
  /// Whether a person's keys go to the device.
  var takesKeys = false

  /// A line that is longer is not one that a console takes.
  static let sendLimitBytes = 4096

  /// An expression as the user gave it. Throws `CommandFailure` when it is none.
  static func expression(_ pattern: String, option: String) throws(CommandFailure) -> Pattern {
    do throws(Pattern.Failure) {
      return try Pattern(pattern)
    } catch {
      throw CommandFailure(
        .usage,
        "\(option): '\(pattern.prefix(80).description.printable)' is not a regular expression that can be used: "
          + "\(error.reason.printable) (at character \(error.position))",
        remedy: "quote signs that stand for themselves with \\; docs/CLI.md lists what an expression may hold"
      )
    }
  }
}
