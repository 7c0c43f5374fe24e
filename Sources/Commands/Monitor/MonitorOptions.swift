import ArgumentParser
import Console
import NotibotHost
import NotibotProtocol
import SerialLink

/// The options of `notibot monitor`.
struct MonitorOptions: Sendable {
  enum Frames: String, ExpressibleByArgument, CaseIterable, Sendable {
    case none
    /// One line per frame: its type and content.
    case summary
    /// Header and payload in addition.
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
    /// On a terminal, unless NO_COLOR is set.
    case auto
    case always
    case never
  }

  enum Reset: Sendable {
    case none
    /// A port that cannot reset its board is noted.
    case ifPossible
    /// It ends the monitor.
    case required
  }

  var port: PortName
  var serial: SerialOptions
  /// Regular expressions.
  var until: String?
  var failOn: String?
  /// Whether `$` matches the end of text that has no line end yet.
  var matchesPrompts = false
  var timeout: Duration?
  /// The file for received bytes.
  var save: String?
  /// Decodes addresses of crashes; `nil` without an ELF file.
  var decoder: CrashDecoder?
  /// The folder for core dumps; `nil`: they are not saved.
  var coreDumps: String?
  /// Which lines are printed.
  var filter: LogFilter?
  var isJSON = false
  var showsText = true
  var frames = Frames.summary
  var timestamps = Timestamps.none
  var usesColor = false
  var reconnects = true
  var failsOnCrash = false
  /// Whether the board is restarted when the port is first open.
  var reset = Reset.none
  /// Sent when the port is first open, each with a newline.
  var linesToSend: [String] = []
  /// Whether other rates are tried when the bytes are not text: the user has asked for none.
  var searchesRate = false
  /// Files or folders of firmware that Ctrl-T f writes.
  var images: [String] = []
  /// Whether the run continues another one, whose file it extends.
  var isContinued = false
  /// Whether keys go to the device.
  var takesKeys = false

  /// Consoles do not accept longer lines.
  static let sendLimitBytes = 4096

  /// The parsed `--filter`. Throws `Failure` when it is invalid.
  static func filter(_ text: String) throws(Failure) -> LogFilter {
    do throws(Failure) {
      return try LogFilter(text)
    } catch {
      throw Failure(.usage, "--filter: \(error.message)", remedy: error.remedy)
    }
  }

  /// The parsed expression of an option. Throws `Failure` when it is invalid.
  static func expression(_ pattern: String, option: String) throws(Failure) -> Pattern {
    do throws(Failure) {
      return try Pattern(pattern)
    } catch {
      throw Failure(
        .usage,
        "\(option): '\(pattern.prefix(80).description.printable)' is not a supported regular expression: "
          + error.message.printable,
        remedy: "escape literal characters with \\; docs/CLI.md lists the supported syntax"
      )
    }
  }
}
