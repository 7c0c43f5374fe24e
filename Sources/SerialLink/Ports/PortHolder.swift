import Glibc

/// The process that has a port open, for a message.
package struct PortHolder: Hashable, Sendable, CustomStringConvertible {
  package let pid: Int32
  /// Its command line, empty when it could not be read.
  package let command: String

  package init(pid: Int32, command: String) {
    self.pid = pid
    self.command = command
  }

  package init(pid: Int32) {
    self.init(pid: pid, command: PortHolder.commandLine(of: pid))
  }

  /// "1234 (picocom /dev/ttyUSB0)", safe to print, the command cut at 120 characters.
  package var description: String {
    let shown = command.printable
    let cut = shown.count > 120 ? "\(shown.prefix(119))…" : shown
    let command = cut.isEmpty ? "" : " (\(cut))"
    return pid == getpid() ? "\(pid)\(command), this very program" : "\(pid)\(command)"
  }

  /// The holder of the flock on the inode described by `status`, according to /proc/locks. It is
  /// asked before /proc/*/fd, which would name an emulator that has its terminal open as well.
  /// Source: proc_locks(5), lines such as "1: FLOCK ADVISORY WRITE 708 00:1b:6 0 EOF".
  static func ofFlock(on status: stat) -> PortHolder? {
    guard let bytes = FileSystem.contents(of: "/proc/locks", limitBytes: 1 << 20) else { return nil }
    let device = DeviceNumber(status.st_dev)
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      guard fields.count >= 6, fields[1] == "FLOCK", let pid = Int32(fields[4]), pid > 0 else { continue }
      let place = fields[5].split(separator: ":")
      guard place.count == 3, UInt64(place[0], radix: 16) == device.major,
        UInt64(place[1], radix: 16) == device.minor,
        UInt64(place[2]) == UInt64(status.st_ino)
      else { continue }
      return PortHolder(pid: pid)
    }
    return nil
  }

  /// The holder of the flock of a port that could not be locked. An inherited lock outlives the
  /// process that took it, so that process is named only while it has the port open itself.
  static func ofConflict(on status: stat, devicePath: String) -> PortHolder? {
    let locker = ofFlock(on: status)
    if let locker, mayHaveOpen(locker.pid, devicePath) { return locker }
    return ofOpenDescriptor(on: devicePath) ?? locker
  }

  /// Whether a process has `devicePath` open; true as well when /proc does not show this user its
  /// descriptors.
  static func mayHaveOpen(_ pid: Int32, _ devicePath: String) -> Bool {
    guard FileSystem.status(of: "/proc/\(pid)") != nil else { return false }
    let numbers = FileSystem.names(in: "/proc/\(pid)/fd")
    return numbers.isEmpty
      || numbers.contains { FileSystem.target(ofLink: "/proc/\(pid)/fd/\($0)") == devicePath }
  }

  /// Another process that has the port at `path` open, with a lock or without one. It can read the
  /// answers of the device.
  package static func user(of path: String) -> PortHolder? {
    ofOpenDescriptor(on: FileSystem.resolved(path) ?? path)
  }

  /// Another process that has `devicePath` open, as far as /proc shows to this user; not the far
  /// end of a pseudo-terminal.
  static func ofOpenDescriptor(on devicePath: String) -> PortHolder? {
    openers(of: [devicePath])[devicePath].map { PortHolder(pid: $0) }
  }

  /// The holders of the ports in use, by the given path: a lock file's owner, or a process that has
  /// it open. Does not open any port.
  /// - Parameter lockDirectory: where UUCP lock files are.
  package static func holders(
    of paths: [String], lockDirectory: String = SerialOptions.standardLockDirectory
  ) -> [String: PortHolder] {
    guard !paths.isEmpty else { return [:] }
    var holders: [String: PortHolder] = [:]
    let devices = paths.map { FileSystem.resolved($0) ?? $0 }
    let openers = openers(of: Set(devices))
    for (path, device) in zip(paths, devices) {
      if let pid = UUCPLock.liveOwner(devicePath: device, directory: lockDirectory) ?? openers[device] {
        holders[path] = PortHolder(pid: pid)
      }
    }
    return holders
  }

  /// For each device that another process has open, that process. The far end of a pseudo-terminal,
  /// which keeps the port open for its next host, is not a user of it.
  private static func openers(of devices: Set<String>) -> [String: Int32] {
    var openers: [String: Int32] = [:]
    for name in FileSystem.names(in: "/proc") {
      guard let pid = Int32(name), pid != getpid() else { continue }
      let directory = "/proc/\(name)/fd"
      for number in FileSystem.names(in: directory) {
        let link = "\(directory)/\(number)"
        // Few descriptors belong to a port: only for those are the expensive checks made.
        guard let target = FileSystem.target(ofLink: link), devices.contains(target), openers[target] == nil,
          !isOwnBeforeExec(pid), !isUdevWorker(pid), !isFarEnd(pid, of: target),
          // A program that had its exec meanwhile holds only what it still has.
          FileSystem.target(ofLink: link) == target
        else { continue }
        openers[target] = pid
      }
    }
    return openers
  }

  /// Whether a process is one of udevd's, which looks at a new port for a moment and reads nothing.
  private static func isUdevWorker(_ pid: Int32) -> Bool {
    FileSystem.line(at: "/proc/\(pid)/comm") == "(udev-worker)"
  }

  /// Whether a process has the master of the pseudo-terminal `device`.
  /// Source: proc_pid_fdinfo(5), "tty-index" of /dev/ptmx.
  private static func isFarEnd(_ pid: Int32, of device: String) -> Bool {
    let prefix = "/dev/pts/"
    guard device.hasPrefix(prefix) else { return false }
    let wanted = "tty-index:\t\(device.dropFirst(prefix.count))"
    return FileSystem.names(in: "/proc/\(pid)/fd").contains { number in
      guard let target = FileSystem.target(ofLink: "/proc/\(pid)/fd/\(number)"), target.hasSuffix("ptmx"),
        let info = FileSystem.contents(of: "/proc/\(pid)/fdinfo/\(number)", limitBytes: 4096)
      else { return false }
      return String(decoding: info, as: UTF8.self).split(separator: "\n").contains { $0 == wanted }
    }
  }

  /// Whether this is a program that another thread is just starting. Until its exec it is a copy of
  /// this process, with all descriptors, and holds nothing of its own.
  private static func isOwnBeforeExec(_ pid: Int32) -> Bool {
    guard parent(of: pid) == getpid(),
      let program = FileSystem.target(ofLink: "/proc/self/exe"),
      program == FileSystem.target(ofLink: "/proc/\(pid)/exe")
    else { return false }
    // A process of the same program with different arguments has had its exec.
    return commandLine(of: pid) == commandLine(of: getpid())
  }

  /// Whether a process runs: one that has ended and waits for its parent has everything closed.
  static func isRunning(_ pid: Int32) -> Bool {
    guard kill(pid, 0) == 0 || errno != ESRCH else { return false }
    return !["Z", "X"].contains(status(of: pid).first ?? "")
  }

  private static func parent(of pid: Int32) -> Int32? {
    let fields = status(of: pid)
    return fields.count > 1 ? Int32(fields[1]) : nil
  }

  /// When a process began, in seconds of the calendar as it is set now; nil: it ended.
  static func startSeconds(of pid: Int32) -> Int? {
    let fields = status(of: pid)
    guard fields.count > 19, let ticks = Int(fields[19]) else { return nil }
    var (now, uptime) = (timespec(), timespec())
    clock_gettime(CLOCK_REALTIME, &now)
    clock_gettime(CLOCK_BOOTTIME, &uptime)
    return now.tv_sec - uptime.tv_sec + ticks / sysconf(Int32(_SC_CLK_TCK))
  }

  /// From the state on. Source: proc_pid_stat(5): the name before it can contain anything.
  private static func status(of pid: Int32) -> [Substring] {
    guard let line = FileSystem.line(at: "/proc/\(pid)/stat"), let end = line.lastIndex(of: ")") else {
      return []
    }
    return line[line.index(after: end)...].dropFirst().split(separator: " ")
  }

  private static func commandLine(of pid: Int32) -> String {
    guard var bytes = FileSystem.contents(of: "/proc/\(pid)/cmdline", limitBytes: 4096) else { return "" }
    while bytes.last == 0 { bytes.removeLast() }
    return String(decoding: bytes.map { $0 == 0 ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }
}
