/// The two modem lines that this side drives. Asserted is logical 1, a low level on the pin.
///
/// On ESP32 boards two transistors derive EN and IO0 from them: DTR alone pulls IO0 low (download
/// mode), RTS alone pulls EN low (reset), both or neither pull nothing.
package struct ModemLines: Hashable, Sendable {
  package var dtr: Bool
  package var rts: Bool

  package init(dtr: Bool, rts: Bool) {
    self.dtr = dtr
    self.rts = rts
  }
}

/// An operation on a serial line other than sending bytes.
package enum LineCommand: Hashable, Sendable {
  /// The rate of both directions in bits per second, 1 or more. Queued bytes leave at the new one.
  case rate(UInt32)
  /// Drives both lines in one step.
  case lines(ModemLines)
  /// Begins or ends a break.
  case breakState(isOn: Bool)
  /// Discards bytes that this host has not read yet.
  case purgeInput
  /// Discards bytes that have not been sent yet.
  case purgeOutput

  static let linesOperation = "drive the modem lines of"

  /// As a verb, for an error: "cannot set the rate of /dev/ttyUSB0".
  var operation: String {
    switch self {
    case .rate: "set the rate of"
    case .lines: Self.linesOperation
    case .breakState: "send a break to"
    case .purgeInput, .purgeOutput: "purge"
    }
  }
}
