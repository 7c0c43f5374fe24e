import CSerialShim
import Glibc

extension SerialPort {
  /// Does something to the line of an open descriptor.
  static func perform(_ command: LineCommand, on descriptor: Int32, port: String) throws(PortError) {
    let result: Int32
    switch command {
    case .rate(let bitsPerSecond):
      return try setRate(descriptor, bitsPerSecond: bitsPerSecond, port: port)
    case .lines(let lines):
      result = serial_shim_set_lines(descriptor, lines.dtr ? 1 : 0, lines.rts ? 1 : 0)
    case .breakState(let isOn):
      result = ioctl(descriptor, UInt(isOn ? TIOCSBRK : TIOCCBRK)) == 0 ? 0 : -errno
    case .purgeInput:
      result = tcflush(descriptor, TCIFLUSH) == 0 ? 0 : -errno
    case .purgeOutput:
      result = tcflush(descriptor, TCOFLUSH) == 0 ? 0 : -errno
    }
    guard result == 0 else { throw PortError(errno: -result, port: port, operation: command.operation) }
  }
}
