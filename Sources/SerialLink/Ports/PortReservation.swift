import CSerialShim
import Glibc
import Synchronization

/// Keeps a serial port for this process while other programs that it starts open and close it: its
/// UUCP lock file stays, so that no other process of this program gets in between. The port itself
/// is not open, and its flock is free for such a program. Ends with this value.
package final class PortReservation: Sendable {
  /// Whether there is a lock file; without one, because its folder is missing or not writable,
  /// nothing keeps others out between two openings.
  package var isEffective: Bool { lockPath != nil }
  private let lockPath: String?
  private let claim: PortClaim

  /// Opens the port at `path`, which changes nothing if it is in use, takes its lock and closes it
  /// again.
  /// - Throws: what `SerialPort.open` throws; `.busy` as well for a process that has the port open
  ///   without a lock, because it would read the answers of the device.
  package init(_ path: String, options: SerialOptions = SerialOptions()) throws(PortError) {
    let port = try SerialPort.open(path, options: options)
    let (descriptor, claim) = port.release()
    // On a real port the flag would end with the last close, which can be another program's.
    _ = ioctl(descriptor, UInt(TIOCNXCL))
    PortDescriptor.unlock(descriptor)
    _ = close(descriptor)
    self.claim = claim
    lockPath = claim.lockPath
    if let user = PortHolder.user(of: path) {
      throw PortError(.busy(user), port: path, operation: "open")
    }
    if let lockPath { _ = UUCPLock.reserved.withLock { $0.insert(lockPath) } }
  }

  deinit {
    if let lockPath { _ = UUCPLock.reserved.withLock { $0.remove(lockPath) } }
  }
}
