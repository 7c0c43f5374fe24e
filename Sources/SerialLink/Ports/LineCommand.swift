/// The two modem lines that this side drives. Asserted is logical 1, a low level on the pin.
///
/// On ESP32 boards two transistors make EN and IO0 of them: DTR alone pulls IO0 low (download mode), RTS alone pulls EN low
/// (reset), both or neither pull nothing.
package struct ModemLines: Hashable, Sendable {
  package var dtr: Bool
  package var rts: Bool

  package init(dtr: Bool, rts: Bool) {
    self.dtr = dtr
    self.rts = rts
  }
}

/// What can be done to a line besides sending bytes on it.
package enum LineCommand: Hashable, Sendable {
  /// The rate of both directions in bits per second, 1 or more. Bytes that wait leave at the new one.
  case rate(UInt32)
  /// Drives both lines in one step.
  case lines(ModemLines)
  /// Begins or ends a break.
  case breakState(isOn: Bool)
  /// Throws away what this host has not read yet.
  case purgeInput
  /// Throws away what has not been sent yet.
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
