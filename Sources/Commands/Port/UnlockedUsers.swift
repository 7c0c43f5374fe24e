import SerialLink
import Synchronization

/// Warns of other processes that have a serial port open without a lock, once per process and port.
/// A port can be opened next to them, and each byte of the device then reaches only one reader.
final class UnlockedUsers: Sendable {
  private struct Use: Hashable {
    var port: String
    var pid: Int32
  }

  /// Processes that are remembered; further ones are not reported.
  private static let usesLimit = 64

  private let reported = Mutex<Set<Use>>([])

  /// The warning for a port that was just opened; `nil` if nobody else has it open, or the warning
  /// was given before.
  ///
  /// - Parameter port: path of the port; an address on a network has no users that could be found.
  func warning(for port: String) -> String? {
    guard port.hasPrefix("/"), let user = PortHolder.user(of: port) else { return nil }
    let isNew = reported.withLock { reported in
      reported.count < Self.usesLimit && reported.insert(Use(port: port, pid: user.pid)).inserted
    }
    guard isNew else { return nil }
    return "warning: \(port.printable) is also open in process \(user), without a lock: "
      + "each byte of the device reaches only one of you; stop it"
  }
}
