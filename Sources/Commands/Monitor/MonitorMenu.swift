import Console
import NotibotHost

/// The commands behind Ctrl-T in `monitor`: a letter, or Ctrl and the letter.
enum MonitorMenu: Character, CaseIterable, Sendable {
  case help = "h"
  case reset = "r"
  case loader = "p"
  case flash = "f"
  case pause = "y"
  case timestamps = "i"
  case log = "l"
  case filter = "v"
  case rate = "b"
  case leave = "x"

  /// Ctrl-T.
  static let prefix: UInt8 = 0x14
  /// Ctrl-].
  static let leaveKey: UInt8 = 0x1D

  /// The command of a key behind Ctrl-T; `nil` if there is none.
  init?(key: UInt8) {
    let letter = key < 0x20 ? key | 0x60 : key | 0x20
    self.init(rawValue: Character(UnicodeScalar(letter)))
  }

  var meaning: String {
    switch self {
    case .help: "show these keys"
    case .reset: "reset the board"
    case .loader: "reset the board into its serial loader"
    case .flash: "write the images of --flash, and go on"
    case .pause: "stop printing, or go on"
    case .timestamps: "timestamps on or off"
    case .log: "write received bytes to a new file, or stop that"
    case .filter: "only warnings and errors, or all lines; with --filter: filter or not"
    case .rate: "next rate: \(RateSearch.candidates.map { "\($0)" }.joined(separator: ", "))"
    case .leave: "exit, as Ctrl-] does"
    }
  }

  /// All keys.
  static let helpLines =
    ["Ctrl-T, and then:"] + allCases.map { "  \($0.rawValue)  \($0.meaning)" }
    + ["  Ctrl-T, Ctrl-]: send that key to the device"]
}

/// Divides typed bytes into keys for the device and commands for the monitor.
struct MonitorKeyParser {
  enum Event: Equatable, Sendable {
    case keys([UInt8])
    case command(MonitorMenu)
    /// A key behind Ctrl-T that is no command.
    case unknown
  }

  private var isBehindPrefix = false

  mutating func parse(_ bytes: some Sequence<UInt8>) -> [Event] {
    var events: [Event] = []
    var typed: [UInt8] = []
    func flush() {
      if !typed.isEmpty { events.append(.keys(typed)) }
      typed = []
    }
    for byte in bytes {
      let isSpecial = byte == MonitorMenu.prefix || byte == MonitorMenu.leaveKey
      switch (isBehindPrefix, isSpecial) {
      case (false, false), (true, true):
        typed.append(byte)
        isBehindPrefix = false
      case (false, true) where byte == MonitorMenu.prefix: isBehindPrefix = true
      case (false, true):
        flush()
        events.append(.command(.leave))
      case (true, false):
        flush()
        events.append(MonitorMenu(key: byte).map(Event.command) ?? .unknown)
        isBehindPrefix = false
      }
    }
    flush()
    return events
  }
}
