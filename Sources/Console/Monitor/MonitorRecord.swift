package import NotibotProtocol

/// One observation of a monitor.
package struct MonitorRecord: Equatable, Sendable {
  package enum Content: Equatable, Sendable {
    /// The port is open; what follows comes from it.
    case opened(port: String)
    /// The port is gone; the reason is printable.
    case lost(reason: String)
    case text(ConsoleLine)
    /// A valid frame of either direction.
    case frame(Frame)
    case damage(DamagedFrame)
    /// The device restarted; `cause` is the name given by its ROM or its HELLO, printable.
    case boot(cause: String)
    /// The lines were reported as text before.
    case crash(Crash)
    /// A fault after which the program goes on; as a crash.
    case warning(Crash)
    /// This many boots that nobody intended in `BootHistory.loopWindow`; reported once until it has
    /// stopped.
    case rebootLoop(boots: Int)
    /// The device's log is binary: only its ELF file has the texts. Reported once for each opening.
    case binaryLog

    /// The report of a crash or a warning.
    package var report: Crash? {
      switch self {
      case .crash(let crash), .warning(let crash): crash
      case .opened, .lost, .text, .frame, .damage, .boot, .rebootLoop, .binaryLog: nil
      }
    }
  }

  /// The time of its first byte.
  package var at: Instant
  package var content: Content

  package init(at: Instant, _ content: Content) {
    self.at = at
    self.content = content
  }
}

/// A line of console text, or the part received so far.
package struct ConsoleLine: Equatable, Sendable {
  package enum Source: Equatable, Sendable {
    /// Between the frames.
    case console
    /// UDATA on channel 1. Source: PROTOCOL.md LNK-4.
    case framedLog
  }

  package enum End: Equatable, Sendable {
    /// LF, CR, or CRs and LF.
    case newline
    /// None after 0.2 s, as after a prompt. The next line of this source repeats these bytes.
    case silence
    /// It is longer than `ConsoleText.lineLimitBytes`; the next line of this source continues it.
    case limit
    /// Its rest was lost, because of the port, a damaged frame, or the end of the monitor.
    case broken
  }

  package var source: Source
  /// Unchanged, without its end.
  package var bytes: [UInt8]
  package var end: End
  /// How many of `bytes` were already in a record that ended in silence.
  package var reportedBytes: Int
  /// Whether it is part of the report of a crash or a warning.
  package var isInCrash: Bool

  package init(
    _ source: Source, _ bytes: [UInt8], end: End = .newline, reportedBytes: Int = 0, isInCrash: Bool = false
  ) {
    self.source = source
    self.bytes = bytes
    self.end = end
    self.reportedBytes = reportedBytes
    self.isInCrash = isInCrash
  }
}

/// The bytes found in place of a frame. Source: PROTOCOL.md FRM-12.
package struct DamagedFrame: Equatable, Sendable {
  package enum Kind: String, Equatable, Sendable {
    case crc
    case malformed
    /// 544 bytes without a zero; they follow as text.
    case overrun
  }

  package var kind: Kind
  /// All bytes between the two zeros, at most 543; empty for an overrun.
  package var bytes: [UInt8]

  package init(_ kind: Kind, _ bytes: [UInt8]) {
    self.kind = kind
    self.bytes = bytes
  }
}

/// Counters of a monitor.
package struct MonitorCounts: Equatable, Sendable {
  package var bytes: UInt64 = 0
  /// Whole lines.
  package var lines: UInt64 = 0
  package var frames: UInt64 = 0
  package var damagedFrames: UInt64 = 0
  package var boots: UInt64 = 0
  package var warnings: UInt64 = 0
  package var crashes: UInt64 = 0
}
