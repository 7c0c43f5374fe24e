import CSerialShim
import Glibc

/// A pseudo-terminal pair: the master is the device's end, the slave is a port that a host opens.
///
/// Keeps a slave of its own open, so that a host can close the port and open it again: otherwise
/// the master would hang up when the host closes it. Closes both when it goes out of scope; the
/// slave's path then vanishes.
package struct PseudoTerminal: ~Copyable, Sendable {
  /// The path of the slave, such as `/dev/pts/3`.
  package let slavePath: String
  private let master: OwnedDescriptor
  private let spareSlave: OwnedDescriptor

  /// Creates a pair, raw at 115200 baud, that only its owner can open.
  package static func open() throws(PortError) -> PseudoTerminal {
    let made = serial_shim_open_master()
    guard made >= 0 else {
      throw PortError(.noTerminals(systemText(-made)), port: "/dev/ptmx", operation: "open")
    }
    let master = OwnedDescriptor(owning: made)
    let path = try slavePath(of: master.raw)
    try restrictAccess(to: path)
    let raw = Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    guard raw >= 0 else { throw PortError(.noTerminals(systemText(errno)), port: path, operation: "open") }
    let slave = OwnedDescriptor(owning: raw)
    // A new line echoes: the device would receive its own output.
    try SerialPort.configure(slave.raw, bitsPerSecond: 115_200, port: path)
    return PseudoTerminal(slavePath: path, master: master, spareSlave: slave)
  }

  /// The rate that the host set last, in bits per second. A PTY itself has no speed.
  package func hostBitsPerSecond() throws(PortError) -> UInt32 {
    try SerialPort.rate(of: master.raw, port: slavePath)
  }

  /// Gives both descriptors away; the receiver closes them, the master first.
  consuming func release() -> (master: Int32, spareSlave: Int32) {
    (master.release(), spareSlave.release())
  }

  private init(slavePath: String, master: consuming OwnedDescriptor, spareSlave: consuming OwnedDescriptor) {
    self.slavePath = slavePath
    self.master = master
    self.spareSlave = spareSlave
  }

  private static func slavePath(of master: Int32) throws(PortError) -> String {
    var path = [CChar](repeating: 0, count: 128)
    let result = serial_shim_slave_path(master, &path, path.count)
    guard result == 0 else {
      throw PortError(.noTerminals(systemText(-result)), port: "/dev/ptmx", operation: "name the slave of")
    }
    return String(decoding: path.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Distributions differ: 0620 with group tty lets any user's `write` type into the line.
  private static func restrictAccess(to path: String) throws(PortError) {
    guard chmod(path, 0o600) == 0, let status = FileSystem.status(of: path), status.st_mode & 0o077 == 0
    else {
      throw PortError(.permissionDenied(group: nil), port: path, operation: "restrict access to")
    }
  }
}
