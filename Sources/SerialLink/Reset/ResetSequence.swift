/// A timed sequence of modem line changes that resets a board.
package struct ResetSequence: Hashable, Sendable {
  /// One step of it.
  package enum Step: Hashable, Sendable {
    /// Sets the given lines, both in one call; `nil`: unchanged.
    case lines(dtr: Bool?, rts: Bool?)
    /// Waits.
    case wait(Duration)
  }

  /// The state of the lines from an instant on.
  package struct Change: Hashable, Sendable {
    /// Since the start of the sequence.
    package let offset: Duration
    package let lines: ModemLines
  }

  /// For messages and reports: `hard`, `classic` … or `custom`.
  package let name: String
  package let steps: [Step]

  package init(_ name: String, _ steps: [Step]) {
    self.name = name
    self.steps = steps
  }

  /// The changes of the lines from the state `start`, and the total duration, including waits after
  /// the last change.
  package func changes(from start: ModemLines) -> (changes: [Change], length: Duration) {
    var lines = start
    var offset = Duration.zero
    var changes: [Change] = []
    for step in steps {
      switch step {
      case .lines(let dtr, let rts):
        lines = ModemLines(dtr: dtr ?? lines.dtr, rts: rts ?? lines.rts)
        changes.append(Change(offset: offset, lines: lines))
      case .wait(let duration): offset += duration
      }
    }
    return (changes, offset)
  }
}

// MARK: - Predefined sequences

// Source: esptool 5 reset.py and its documentation; DTR asserted pulls IO0 low, RTS asserted pulls
// EN low, both at once pull neither.
extension ResetSequence {
  private static let hold = Duration.milliseconds(100)

  /// EN low for 100 ms with IO0 high: the app starts. Both lines in one call, because both are
  /// asserted on a board whose port was just opened, and RTS alone would then change nothing.
  package static let hard = ResetSequence(
    "hard", [.lines(dtr: false, rts: true), .wait(hold), .lines(dtr: false, rts: false)])

  /// The same for USB inside the chip, where the *edge* resets: the flag for the loader is cleared
  /// first, and there is time for the port to disappear.
  package static let usbHard = ResetSequence(
    "usb-hard",
    [
      .lines(dtr: false, rts: false), .lines(dtr: false, rts: true), .wait(.milliseconds(200)),
      .lines(dtr: false, rts: false), .wait(.milliseconds(200)),
    ])

  /// Enters the loader, one line at a time: EN low, then EN high with IO0 low.
  /// - Parameter delay: how long IO0 stays low after EN was released: 50 ms, or 550 ms for a board
  ///   with a slow EN.
  package static func classic(_ name: String, delay: Duration) -> ResetSequence {
    ResetSequence(
      name,
      [
        .lines(dtr: false, rts: nil), .lines(dtr: nil, rts: true), .wait(hold), .lines(dtr: true, rts: nil),
        .lines(dtr: nil, rts: false), .wait(delay), .lines(dtr: false, rts: nil),
      ])
  }

  /// Enters the loader, both lines in one call: EN is never high before IO0 is low.
  package static func tight(_ name: String, delay: Duration) -> ResetSequence {
    ResetSequence(
      name,
      [
        .lines(dtr: false, rts: false), .lines(dtr: true, rts: true), .lines(dtr: false, rts: true),
        .wait(hold),
        .lines(dtr: true, rts: false), .wait(delay), .lines(dtr: false, rts: false),
      ])
  }

  /// Enters the loader of a chip with USB-Serial/JTAG. Passes through (1,1), because (0,0) would
  /// clear the flag.
  package static let usbJTAG = ResetSequence(
    "usb-jtag",
    [
      .lines(dtr: false, rts: false), .wait(hold), .lines(dtr: true, rts: false), .wait(hold),
      .lines(dtr: true, rts: true), .lines(dtr: false, rts: true), .wait(hold),
      .lines(dtr: false, rts: false),
    ])

  /// Enters the loader behind a CP2102C, whose flow control cannot be turned off: IO0 is not
  /// released at the end. Source: espressif/esptool #1157.
  package static func cp2102c(_ name: String, delay: Duration) -> ResetSequence {
    ResetSequence(
      name,
      [.lines(dtr: false, rts: true), .wait(hold), .lines(dtr: true, rts: false), .wait(delay)])
  }
}
