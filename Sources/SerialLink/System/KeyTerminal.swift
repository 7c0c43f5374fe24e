import CSerialShim
import Glibc

/// The terminal on standard input in key mode: each key is read at once, without echo, and none
/// raises a signal.
///
/// Only its input mode is changed, not its output. `leave`, and every signal that ends the process,
/// restore it.
package enum KeyTerminal {
  /// Enters key mode. Does nothing if it is already active, or if another job is in the foreground.
  /// - Returns: whether key mode is active now.
  package static func enter() -> Bool {
    guard isOurs else { return false }
    let result = keys_shim_enter(STDIN_FILENO)
    return result == 0 || result == -EBUSY
  }

  /// Restores the terminal; any thread, any number of times.
  package static func leave() {
    keys_shim_leave()
  }

  /// Whether standard input is a terminal that this process can read: one without job control, or
  /// with this process in the foreground.
  package static var isOurs: Bool {
    guard isatty(STDIN_FILENO) == 1 else { return false }
    let foreground = tcgetpgrp(STDIN_FILENO)
    return foreground < 0 || foreground == getpgrp()
  }
}
