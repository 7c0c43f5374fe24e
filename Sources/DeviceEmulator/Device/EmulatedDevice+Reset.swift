import NotibotProtocol

/// The effect of the port's modem lines on the chip.
extension EmulatedDevice {
  /// The state of the chip, for statistics.
  package enum Chip: String, Equatable, Sendable {
    case running
    /// Between a reset and the boot.
    case restarting
    /// EN is low.
    case held
    /// The ROM waits for a download: no application runs.
    case download
  }

  package var chip: Chip {
    switch state {
    case .running: .running
    case .restarting: .restarting
    case .held: .held
    case .downloading: .download
    }
  }

  /// EN is low: the device stands still, and its memory is lost.
  mutating func hold(now: Instant) {
    clock = now
    standStill(.held)
  }

  /// EN is high again, or was low for a moment.
  mutating func release(into mode: BootMode, now: Instant) {
    clock = now
    lineResets += 1
    switch mode {
    case .application: restart(.externalPin)
    case .download where loader?.faults.has(.bootMode) == true: restart(.externalPin)
    case .download:
      standStill(.downloading)
      if profile.console.hasBootText || loader != nil { log(BootText.download(of: chipModel)) }
    }
  }
}
