/// How to open a serial port.
package struct SerialOptions: Hashable, Sendable {
  /// Where lock files of the old UUCP manner are.
  package static let standardLockDirectory = "/var/lock"

  /// Rate of both directions, 1 or more; any number, the driver decides.
  package var bitsPerSecond: UInt32
  /// Where lock files live. A directory that is missing or not writable is passed over.
  package var lockDirectory: String

  package init(bitsPerSecond: UInt32 = 921_600, lockDirectory: String = standardLockDirectory) {
    self.bitsPerSecond = bitsPerSecond
    self.lockDirectory = lockDirectory
  }
}
