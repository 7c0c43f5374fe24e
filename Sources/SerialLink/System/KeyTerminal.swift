import CSerialShim
import Glibc

/// The terminal on standard input, when a person's keys are to go elsewhere: each at once, unechoed, none making a signal.
///
/// Only its input is changed; what is printed is treated as before. It is given back by `leave`, and by every signal that ends
/// the process.
package enum KeyTerminal {
  /// Takes the terminal. Does nothing when it is taken already, or is another job's in the foreground.
  /// - Returns: whether its keys come as described now.
  package static func enter() -> Bool {
    guard isOurs else { return false }
    let result = keys_shim_enter(STDIN_FILENO)
    return result == 0 || result == -EBUSY
  }

  /// Gives the terminal back as it was; any thread, any number of times.
  package static func leave() {
    keys_shim_leave()
  }

  /// Whether standard input is a terminal, and this process may read it: one that is nobody's job control, or in whose
  /// foreground this process is.
  package static var isOurs: Bool {
    guard isatty(STDIN_FILENO) == 1 else { return false }
    let foreground = tcgetpgrp(STDIN_FILENO)
    return foreground < 0 || foreground == getpgrp()
  }
}
