package import NotibotProtocol
import SerialLink

/// The output of a device when it crashed.
package struct Crash: Equatable, Sendable {
  package enum Kind: String, Equatable, Sendable, CaseIterable {
    case panic
    case abort
    case assertion
    case stackOverflow
    case heapCorruption
    case watchdog
    case brownout
  }

  package var kind: Kind
  /// The device's own short reason; printable.
  package var reason: String
  /// The printed lines; empty if only its HELLO reported the crash.
  package var lines: [[UInt8]]
  /// Whether it printed more than `CrashDetector` keeps.
  package var isCut = false

  package init(_ kind: Kind, reason: String, lines: [[UInt8]] = []) {
    self.kind = kind
    self.reason = reason
    self.lines = lines
  }
}

/// The words by which ESP-IDF and the chips' ROMs announce a crash, its end, or a boot.
/// Source: ESP-IDF programming guide, "Fatal Errors"; the ROM's texts as boards print them.
enum CrashWord: Equatable, Sendable {
  case crash(Crash.Kind)
  /// `Rebooting...`: the last line of a crash.
  case rebooting
  /// The first line after a reset.
  case banner
  /// `rst:0x…`: the reset reason according to the ROM.
  case reset

  private static let words: [(text: [UInt8], word: CrashWord)] = [
    ("Guru Meditation Error", .crash(.panic)), ("abort() was called", .crash(.abort)),
    ("assert failed:", .crash(.assertion)), ("***ERROR*** A stack overflow", .crash(.stackOverflow)),
    ("Stack smashing protect failure", .crash(.stackOverflow)), ("CORRUPT HEAP:", .crash(.heapCorruption)),
    ("Task watchdog got triggered", .crash(.watchdog)),
    ("Brownout detector was triggered", .crash(.brownout)),
    ("Rebooting...", .rebooting), ("ESP-ROM:", .banner), ("ets J", .banner), ("rst:0x", .reset),
  ].map { (Array($0.utf8), $1) }

  /// The first such word of a line and its position. It can be anywhere, since a device can crash
  /// in the middle of a line.
  static func first(in line: [UInt8]) -> (word: CrashWord, offset: Int)? {
    for offset in line.indices {
      switch line[offset] {
      case UInt8(ascii: "G"), UInt8(ascii: "a"), UInt8(ascii: "*"), UInt8(ascii: "S"), UInt8(ascii: "C"),
        UInt8(ascii: "T"), UInt8(ascii: "B"), UInt8(ascii: "R"), UInt8(ascii: "E"), UInt8(ascii: "e"),
        UInt8(ascii: "r"):
        for (text, word) in words where line[offset] == text[0] && line[offset...].starts(with: text) {
          return (word, offset)
        }
      case _: break
      }
    }
    return nil
  }
}

extension ESPResetCause.Trouble {
  /// A processor that locks up has died in its own panic handler.
  var crashKind: Crash.Kind {
    switch self {
    case .watchdog: .watchdog
    case .brownout: .brownout
    case .panic, .lockup: .panic
    }
  }
}

extension ResetReason {
  /// The kind of crash that this reset reason stands for; nil: no crash.
  package var crashKind: Crash.Kind? {
    switch self {
    case .panic: .panic
    case .interruptWatchdog, .taskWatchdog, .otherWatchdog: .watchdog
    case .brownout: .brownout
    case .unknown, .powerOn, .externalPin, .software, .deepSleep, .sdio: nil
    }
  }

  /// In words.
  package var name: String {
    switch self {
    case .unknown: "unknown"
    case .powerOn: "power-on"
    case .externalPin: "external pin"
    case .software: "software"
    case .panic: "panic"
    case .interruptWatchdog: "interrupt watchdog"
    case .taskWatchdog: "task watchdog"
    case .otherWatchdog: "other watchdog"
    case .deepSleep: "deep sleep"
    case .brownout: "brownout"
    case .sdio: "SDIO"
    }
  }
}
