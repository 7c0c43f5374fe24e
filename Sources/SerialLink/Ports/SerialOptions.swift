/// How to open a serial port.
package struct SerialOptions: Hashable, Sendable {
  /// The folder of UUCP lock files.
  package static let standardLockDirectory = "/var/lock"

  /// Rate of both directions, 1 or more; any number, the driver decides.
  package var bitsPerSecond: UInt32
  /// Where lock files live. A directory that is missing or not writable is ignored.
  package var lockDirectory: String
  /// Where sysfs is mounted: the latency timer of an FTDI bridge is there.
  package var sysfsRoot: String

  package init(
    bitsPerSecond: UInt32 = 921_600, lockDirectory: String = standardLockDirectory, sysfsRoot: String = "/sys"
  ) {
    self.bitsPerSecond = bitsPerSecond
    self.lockDirectory = lockDirectory
    self.sysfsRoot = sysfsRoot
  }
}
