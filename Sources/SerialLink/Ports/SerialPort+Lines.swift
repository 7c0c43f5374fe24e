import CSerialShim
import Glibc

extension SerialPort {
  /// Executes a line command on an open descriptor.
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
    guard result == 0 else { throw failure(-result, of: command.operation, port: port) }
  }

  /// Whether DTR and RTS are asserted. Throws `.noModemLines` if there are none.
  static func lines(of descriptor: Int32, port: String) throws(PortError) -> ModemLines {
    var dtr: Int32 = 0
    var rts: Int32 = 0
    let result = serial_shim_get_lines(descriptor, &dtr, &rts)
    guard result == 0 else { throw failure(-result, of: LineCommand.linesOperation, port: port) }
    return ModemLines(dtr: dtr != 0, rts: rts != 0)
  }

  private static func failure(_ number: Int32, of operation: String, port: String) -> PortError {
    if number == ENOTTY, operation == LineCommand.linesOperation {
      return PortError(.noModemLines, port: port, operation: operation)
    }
    return PortError(errno: number, port: port, operation: operation)
  }
}
