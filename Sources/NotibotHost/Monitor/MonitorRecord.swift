package import NotibotProtocol

/// One thing that a monitor saw.
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
    /// The device restarted; `cause` as its ROM or its HELLO names it, printable.
    case boot(cause: String)
    case crash(Crash)
    /// So many boots in `BootHistory.loopWindow`; told once until it has stopped.
    case rebootLoop(boots: Int)
  }

  /// When it began to come: for a line the moment of its first byte.
  package var at: Instant
  package var content: Content

  package init(at: Instant, _ content: Content) {
    self.at = at
    self.content = content
  }
}

/// A line of console text, or as much of it as there is.
package struct ConsoleLine: Equatable, Sendable {
  package enum Source: Equatable, Sendable {
    /// Between the frames.
    case console
    /// UDATA on channel 1. Source: PROTOCOL.md LNK-4.
    case framedLog
  }

  package enum End: Equatable, Sendable {
    case newline
    /// Nothing more has come for a moment: a prompt. The next line of this source has these bytes again.
    case silence
    /// It is longer than `ConsoleText.lineLimitBytes`; the next line of this source goes on with it.
    case limit
    /// What should follow was lost: the port, a damaged frame, the end of the monitor.
    case broken
  }

  package var source: Source
  /// As they came, without the newline and the carriage return before it.
  package var bytes: [UInt8]
  package var end: End
  /// How many of `bytes` a record that ended in silence has told already.
  package var toldBytes: Int
  /// Whether it is part of a crash, and will be told again with it.
  package var isInCrash: Bool

  package init(
    _ source: Source, _ bytes: [UInt8], end: End = .newline, toldBytes: Int = 0, isInCrash: Bool = false
  ) {
    self.source = source
    self.bytes = bytes
    self.end = end
    self.toldBytes = toldBytes
    self.isInCrash = isInCrash
  }
}

/// What stood where a frame should be. Source: PROTOCOL.md FRM-12.
package struct DamagedFrame: Equatable, Sendable {
  package enum Kind: String, Equatable, Sendable {
    case crc
    case malformed
    /// 544 bytes without a zero; they follow as text.
    case overrun
  }

  package var kind: Kind
  /// All that stood between the two zeros, at most 543 bytes; none of an overrun.
  package var bytes: [UInt8]

  package init(_ kind: Kind, _ bytes: [UInt8]) {
    self.kind = kind
    self.bytes = bytes
  }
}

/// How much a monitor has seen.
package struct MonitorCounts: Equatable, Sendable {
  package var bytes: UInt64 = 0
  /// Whole lines.
  package var lines: UInt64 = 0
  package var frames: UInt64 = 0
  package var damagedFrames: UInt64 = 0
  package var boots: UInt64 = 0
  package var crashes: UInt64 = 0
}
