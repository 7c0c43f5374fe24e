import CSerialShim
import Glibc

/// An open, locked, raw serial port; closes and unlocks when it goes out of scope.
///
/// The locks are taken before anything is changed: a port in use by another program is not
/// modified.
package struct SerialPort: ~Copyable, Sendable {
  /// As the user named it.
  package let name: String
  /// With links resolved, such as `/dev/pts/3`.
  package let devicePath: String
  private let descriptor: PortDescriptor
  private let claim: PortClaim

  /// Opens `name`: exclusive, raw 8N1, CLOCAL, HUPCL cleared, old input discarded.
  ///
  /// Takes milliseconds on a USB adapter, less on a PTY. Exclusive means flock, a UUCP lock file,
  /// and on real ports TIOCEXCL.
  package static func open(_ name: String, options: SerialOptions = SerialOptions()) throws(PortError)
    -> SerialPort
  {
    let (devicePath, status) = try locate(name)
    try UUCPLock.check(devicePath: devicePath, directory: options.lockDirectory, port: name)
    let descriptor = try openDescriptor(devicePath, status: status, port: name)
    guard isatty(descriptor.raw) == 1 else { throw PortError(.notATTY, port: name, operation: "open") }
    let lock = try acquireLocks(descriptor.raw, devicePath: devicePath, options: options, port: name)
    try configure(descriptor.raw, bitsPerSecond: options.bitsPerSecond, port: name)
    drain(descriptor.raw)
    let latency = LatencyTimer.lower(descriptor.raw, devicePath: devicePath, sysfsRoot: options.sysfsRoot)
    return SerialPort(
      name: name, devicePath: devicePath, descriptor: descriptor, claim: PortClaim(lock, latency: latency))
  }

  /// The rate in force in bits per second, which can be a driver's rounding of the requested one.
  package func bitsPerSecond() throws(PortError) -> UInt32 {
    try SerialPort.rate(of: descriptor.raw, port: name)
  }

  /// Releases the descriptor, locked. The new owner closes it, and keeps `claim` until then.
  package consuming func release() -> (descriptor: Int32, claim: PortClaim) {
    (descriptor.release(), claim)
  }

  private init(name: String, devicePath: String, descriptor: consuming PortDescriptor, claim: PortClaim) {
    self.name = name
    self.devicePath = devicePath
    self.descriptor = descriptor
    self.claim = claim
  }
}

/// Keeps the lock file of a port, and its lowered latency timer, while its descriptor is open; the
/// flock ends with the descriptor. A class, because it is passed across threads to the handler that
/// detects the end.
package final class PortClaim: Sendable {
  private let lock: UUCPLock
  let latency: LatencyTimer?
  /// Where the lock file is; `nil` if there is none.
  var lockPath: String? { lock.path }

  init(_ lock: consuming UUCPLock, latency: LatencyTimer? = nil) {
    self.lock = lock
    self.latency = latency
  }

  deinit {
    latency?.restoreAttribute()
  }
}

// MARK: - Steps of opening

extension SerialPort {
  private static func locate(_ name: String) throws(PortError) -> (String, stat) {
    guard let devicePath = FileSystem.resolved(name), let status = FileSystem.status(of: devicePath) else {
      throw PortError(errno: errno, port: name, operation: "open")
    }
    // Opening a FIFO or a tape already has side effects; a name must be a character device.
    guard status.isCharacterDevice else { throw PortError(.notATTY, port: name, operation: "open") }
    return (devicePath, status)
  }

  private static func openDescriptor(
    _ devicePath: String, status: stat, port: String
  ) throws(PortError) -> PortDescriptor {
    // O_NONBLOCK: without it open() waits for carrier, which three-wire boards never raise.
    let raw = Glibc.open(devicePath, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    if raw >= 0 { return PortDescriptor(owning: raw) }
    let number = errno
    if number == EBUSY {
      throw PortError(.busy(PortHolder.ofOpenDescriptor(on: devicePath)), port: port, operation: "open")
    }
    // Joining a group helps only if the group can read and write.
    let isOpenToGroup = status.st_mode & 0o060 == 0o060
    throw PortError(
      errno: number, port: port, operation: "open", group: isOpenToGroup ? groupName(status.st_gid) : nil)
  }

  private static func acquireLocks(
    _ descriptor: Int32, devicePath: String, options: SerialOptions, port: String
  ) throws(PortError) -> UUCPLock {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      throw PortError(errno: errno, port: port, operation: "open")
    }
    if flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      let number = errno
      guard number == EWOULDBLOCK else { throw PortError(errno: number, port: port, operation: "lock") }
      let holder = PortHolder.ofConflict(on: status, devicePath: devicePath)
      throw PortError(.busy(holder), port: port, operation: "open")
    }
    let lock = try UUCPLock.acquire(devicePath: devicePath, directory: options.lockDirectory, port: port)
    // On a PTY the flag would outlive this process, because the other end keeps the slave open: if
    // this process were killed, only root could open it again. On real ports it ends with the last
    // close.
    if !status.isPseudoTerminalSlave { _ = ioctl(descriptor, UInt(TIOCEXCL)) }
    return lock
  }

  static func configure(_ descriptor: Int32, bitsPerSecond: UInt32, port: String) throws(PortError) {
    try apply(bitsPerSecond, port: port) { serial_shim_set_raw(descriptor, $0) }
    try verify(bitsPerSecond, on: descriptor, port: port)
  }

  /// Changes the rate at once; bytes still in the output queue leave at the new one.
  static func setRate(_ descriptor: Int32, bitsPerSecond: UInt32, port: String) throws(PortError) {
    try apply(bitsPerSecond, port: port) { serial_shim_set_rate(descriptor, $0) }
    try verify(bitsPerSecond, on: descriptor, port: port)
  }

  static func rate(of descriptor: Int32, port: String) throws(PortError) -> UInt32 {
    var input: UInt32 = 0
    var output: UInt32 = 0
    let result = serial_shim_get_rate(descriptor, &input, &output)
    guard result == 0 else { throw PortError(errno: -result, port: port, operation: "read the rate of") }
    return output
  }

  private static func apply(
    _ bitsPerSecond: UInt32, port: String, change: (UInt32) -> Int32
  ) throws(PortError) {
    let operation = "set the rate of"
    // Rate 0 means "hang up" to the kernel.
    guard bitsPerSecond > 0 else {
      throw PortError(.unsupportedBaud(requested: 0, offered: nil), port: port, operation: operation)
    }
    switch change(bitsPerSecond) {
    case 0: return
    case -EINVAL, -ERANGE:
      let code = PortError.Code.unsupportedBaud(requested: bitsPerSecond, offered: nil)
      throw PortError(code, port: port, operation: operation)
    case let result: throw PortError(errno: -result, port: port, operation: operation)
    }
  }

  /// A driver that does not support a rate keeps the old one or chooses the nearest, and reports
  /// success. Beyond 3 % of difference a UART no longer samples the last bit of a byte safely.
  private static func verify(_ wanted: UInt32, on descriptor: Int32, port: String) throws(PortError) {
    let offered = try rate(of: descriptor, port: port)
    let difference = UInt64(max(wanted, offered) - min(wanted, offered))
    guard difference * 100 <= UInt64(wanted) * 3 else {
      let code = PortError.Code.unsupportedBaud(requested: wanted, offered: offered)
      throw PortError(code, port: port, operation: "set the rate of")
    }
  }

  /// Discards the rest of an earlier session: first the bytes in the line discipline, then those
  /// still in the driver. The limit is for a board that sends continuously.
  private static func drain(_ descriptor: Int32) {
    let drainLimitBytes = 1 << 20
    _ = tcflush(descriptor, TCIFLUSH)
    var scratch = [UInt8](repeating: 0, count: 4096)
    var drained = 0
    while drained < drainLimitBytes {
      let count = read(descriptor, &scratch, scratch.count)
      if count <= 0 { return }
      drained += count
    }
  }

  /// The group that owns the device, unless it is root's, to which no user should be added.
  private static func groupName(_ group: gid_t) -> String? {
    guard group != 0 else { return nil }
    var entry = Glibc.group()
    var found: UnsafeMutablePointer<Glibc.group>?
    var buffer = [CChar](repeating: 0, count: 16_384)
    guard getgrgid_r(group, &entry, &buffer, buffer.count, &found) == 0, found != nil else { return nil }
    return entry.gr_name.map { String(cString: $0) }
  }
}
