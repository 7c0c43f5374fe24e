package import NotibotProtocol
import SerialLink

/// A fault as a device reported it: a crash, or a warning after which it goes on.
package struct Crash: Equatable, Sendable {
  package enum Kind: String, Equatable, Sendable, CaseIterable {
    case panic
    case abort
    case assertion
    case stackOverflow
    case heapCorruption
    case watchdog
    case brownout
    /// A boot loader found no program.
    case bootFailure
  }

  package var kind: Kind
  /// The device's own short reason; sanitise before printing.
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

extension ESPResetCause.Trouble {
  /// A processor that locks up has died in its own panic handler.
  var crashKind: Crash.Kind {
    switch self {
    case .watchdog: .watchdog
    case .brownout: .brownout
    case .lockup: .panic
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
}
