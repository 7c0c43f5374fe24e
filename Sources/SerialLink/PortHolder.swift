import Glibc

/// The process that has a port, for a message that says whom to ask.
package struct PortHolder: Hashable, Sendable, CustomStringConvertible {
  package let pid: Int32
  /// Its command line, empty when it could not be read.
  package let command: String

  package init(pid: Int32, command: String) {
    self.pid = pid
    self.command = command
  }

  init(pid: Int32) {
    self.init(pid: pid, command: PortHolder.commandLine(of: pid))
  }

  /// "1234 (picocom /dev/ttyUSB0)", safe to print, the command cut at 120 characters.
  package var description: String {
    let shown = command.printable
    let cut = shown.count > 120 ? "\(shown.prefix(119))…" : shown
    let command = cut.isEmpty ? "" : " (\(cut))"
    return pid == getpid() ? "\(pid)\(command), this very program" : "\(pid)\(command)"
  }

  /// Who holds the flock of the inode described by `status`, as /proc/locks tells.
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

  /// Another process that has `devicePath` open, as far as /proc lets this user see.
  static func ofOpenDescriptor(on devicePath: String) -> PortHolder? {
    for name in FileSystem.names(in: "/proc") {
      guard let pid = Int32(name), pid != getpid() else { continue }
      let directory = "/proc/\(name)/fd"
      let isOpen = FileSystem.names(in: directory).contains {
        FileSystem.target(ofLink: "\(directory)/\($0)") == devicePath
      }
      if isOpen { return PortHolder(pid: pid) }
    }
    return nil
  }

  private static func commandLine(of pid: Int32) -> String {
    guard var bytes = FileSystem.contents(of: "/proc/\(pid)/cmdline", limitBytes: 4096) else { return "" }
    while bytes.last == 0 { bytes.removeLast() }
    return String(decoding: bytes.map { $0 == 0 ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
  }
}
