package import SerialLink

/// The boot mode of a chip after a reset.
package enum BootMode: String, Equatable, Sendable {
  case application
  /// The ROM waits for a firmware download.
  case download
}

/// The reaction of a board to DTR and RTS.
///
/// With two transistors: DTR alone pulls IO0 low, RTS alone pulls EN low, and the chip samples IO0
/// when EN has risen. Without them, as in a chip that is its own USB device, hardware detects the
/// same sequence.
package struct ResetCircuit: Equatable, Sendable {
  /// How a board is wired.
  package enum Wiring: Equatable, Sendable {
    /// EN has a capacitor: it stays low while both lines are asserted on the way from RTS to DTR,
    /// and rises when RTS is released. So a reset into download mode works however far apart the
    /// two steps are, as on a slow network.
    case capacitor
    /// EN rises as soon as it is not pulled low: with both lines asserted, before IO0 is low. A
    /// reset into download mode needs both lines in one step.
    case bare
    /// DTR alone arms download mode, no line disarms it, and the edge to RTS alone resets. Source:
    /// ESP-IDF, USB-Serial/JTAG.
    case usbSerialJTAG
  }

  /// The effect on the chip.
  package enum Effect: Equatable, Sendable {
    /// EN is low: the chip stands still.
    case holds
    /// EN rises.
    case releases(BootMode)
    /// The chip resets, and continues at once.
    case resets(BootMode)
  }

  package let wiring: Wiring
  private var lines = ModemLines(dtr: false, rts: false)
  private var isHeld = false
  private var isArmed = false

  package init(wiring: Wiring) {
    self.wiring = wiring
  }

  /// Drives the lines; nil if that changes nothing for the chip.
  package mutating func drive(_ new: ModemLines) -> Effect? {
    defer { lines = new }
    guard new != lines else { return nil }
    switch (wiring, new.dtr, new.rts) {
    case (.usbSerialJTAG, true, false): isArmed = true
    case (.usbSerialJTAG, false, false): isArmed = false
    case (.usbSerialJTAG, false, true): return .resets(isArmed ? .download : .application)
    case (.usbSerialJTAG, true, true): break
    case (.capacitor, false, true), (.bare, false, true):
      guard !isHeld else { return nil }
      isHeld = true
      return .holds
    case (.capacitor, true, true): break
    case (.bare, true, true): return release(.application)
    case (.capacitor, true, false), (.bare, true, false): return release(.download)
    case (.capacitor, false, false), (.bare, false, false): return release(.application)
    }
    return nil
  }

  private mutating func release(_ mode: BootMode) -> Effect? {
    guard isHeld else { return nil }
    isHeld = false
    return .releases(mode)
  }
}
