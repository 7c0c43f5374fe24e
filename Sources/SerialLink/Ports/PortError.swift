import Glibc
import NIOCore

/// Why a port could not be opened, or was lost: what happened, where, during what, and what to do about it.
package struct PortError: Error, Hashable, Sendable {
  /// What went wrong, with what was seen. A later layer gives each its exit code.
  package enum Code: Hashable, Sendable {
    /// Nothing is there by that name. `present`: the paths of the ports that are. Exit 10.
    case notFound(present: [String])
    /// `auto` found no known board. `others`: ports it did not dare to choose. Exit 10.
    case noBoard(others: [String])
    /// More than one port answers the description. Exit 10.
    case ambiguous([String])
    /// Another process uses the port; `nil` when it could not be learnt which. Exit 11.
    case busy(PortHolder?)
    /// The server of a network port serves another client; the text says how that is known. Exit 11.
    case serverBusy(String)
    /// The user may not open it. `group`: the group that may. Exit 12.
    case permissionDenied(group: String?)
    /// A file, a directory or some other device. Exit 2.
    case notATTY
    /// A pseudo-terminal or a socket: it carries bytes and no DTR or RTS. Exit 2.
    case noModemLines
    /// The driver does not offer this rate; `offered` is what it made of it. Exit 2.
    case unsupportedBaud(requested: UInt32, offered: UInt32?)
    /// Not a port name; the text says what is wrong with it. Exit 2.
    case badPortName(String)
    /// Not a rate; the text says what is wrong with it. Exit 2.
    case badRate(String)
    /// The path of a stable link is taken by something that is not ours to replace. Exit 2.
    case linkOccupied(String)
    /// A link or a socket cannot be made at its path; the text says why. Exit 2.
    case badPlace(String)
    /// This user may not make a link or a socket at its path; the text says why. Exit 12.
    case placeRefused(String)
    /// End of file, EIO, or the far end hung up: the device went away. Exit 14.
    case deviceGone
    /// A network port did not accept; the text says why. Exit 10.
    case unreachable(String)
    /// A network port did not do a command, or did not say that it did; the text says which of the two. Exit 13.
    case unconfirmed(String)
    /// No pseudo-terminal can be made; the text says why. Exit 18.
    case noTerminals(String)
    /// Any other system error, by its number. Exit 18.
    case system(errno: Int32)
  }

  /// What went wrong.
  package var code: Code
  /// The port as the user named it.
  package var port: String
  /// What was being done, as a verb: "open", "set the rate of", "read".
  package var operation: String

  package init(_ code: Code, port: String, operation: String) {
    self.code = code
    self.port = port
    self.operation = operation
  }

  /// What `error` means that came out of making a channel of an open port.
  init(opening port: String, _ error: any Error) {
    switch error {
    case let error as PortError: self = error
    case let error as IOError: self.init(errno: error.errnoCode, port: port, operation: "open")
    default: self.init(.deviceGone, port: port, operation: "open")
    }
  }

  /// The error that `errno` value `number` stands for where a link, a folder or a socket is made at `path`.
  package init(placing path: String, errno number: Int32, operation: String) {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR: .badPlace("its folder does not exist")
      case ELOOP, ENAMETOOLONG, EISDIR: .badPlace(systemText(number))
      case EACCES, EPERM, EROFS: .placeRefused(systemText(number))
      default: .system(errno: number)
      }
    self.init(code, port: path, operation: operation)
  }

  /// The error that `errno` value `number` stands for on a port. `group` is looked up only when it is of use.
  init(errno number: Int32, port: String, operation: String, group: @autoclosure () -> String? = nil) {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG: .notFound(present: PortList.paths())
      case EACCES, EPERM: .permissionDenied(group: group())
      case ENOTTY: .notATTY
      case EIO, ENXIO, ENODEV, EPIPE, ECONNRESET: .deviceGone
      default: .system(errno: number)
      }
    self.init(code, port: port, operation: operation)
  }
}

extension PortError: CustomStringConvertible {
  /// One line: what, which port, why. Safe to print.
  package var description: String {
    "cannot \(operation) \(port.printable): \(cause)"
  }

  /// Why, in a few words. Safe to print.
  package var cause: String {
    switch code {
    case .notFound: "no such port"
    case .noBoard: "no known board is connected"
    case .ambiguous(let ports): "\(ports.count) ports match: \(ports.printableList)"
    case .busy(.some(let holder)): "in use by process \(holder.description)"
    case .busy(nil): "in use by another process"
    case .serverBusy(let text): text.printable
    case .permissionDenied: "permission denied"
    case .notATTY: "not a serial port"
    case .noModemLines: "it has no modem lines, as every pseudo-terminal and socket"
    case .unsupportedBaud(let requested, .some(let offered)):
      "the port does not offer \(requested) baud, only \(offered)"
    case .unsupportedBaud(let requested, nil): "the port does not offer \(requested) baud"
    case .badPortName(let text), .badRate(let text): text.printable
    case .linkOccupied(let text), .badPlace(let text), .placeRefused(let text): text.printable
    case .deviceGone: "the device went away"
    case .unreachable(let text), .unconfirmed(let text): text.printable
    case .noTerminals(let text): "no pseudo-terminal can be made: \(text.printable)"
    case .system(let number): "\(systemText(number)) (errno \(number))"
    }
  }

  /// One line: what the user can do. Safe to print.
  package var remedy: String {
    switch code {
    case .notFound(let present) where present.isEmpty: "no serial port is present: plug the board in"
    case .notFound(let present): "ports present: \(present.printableList)"
    case .noBoard(let others) where others.isEmpty: "plug the board in, or name its port with --port"
    case .noBoard(let others): "name the port with --port; present: \(others.printableList)"
    case .ambiguous: "name one of them with --port"
    case .busy(.some(let holder)): "end process \(holder.pid), or wait until it closes the port"
    case .busy(nil): "close the program that uses it (see: fuser -v \(port.printable))"
    case .serverBusy: "close the other connection to it, or wait until it ends"
    case .permissionDenied(.some(let group)):
      "sudo usermod -a -G \(group.printable) $USER, then log out and in again"
    case .permissionDenied(nil): "ask the administrator for access to it (see: ls -l \(port.printable))"
    case .notATTY: "name a serial port, such as /dev/ttyUSB0 or /dev/ttyACM0"
    case .noModemLines:
      "use a port that has them; restart an emulator with: notibot control --socket PATH reboot"
    case .unsupportedBaud, .badRate: "choose another rate with --baud, such as 115200"
    case .badPortName: "a port is \(PortName.allForms)"
    case .linkOccupied: "remove it, or choose another path for the link"
    case .badPlace, .placeRefused: "choose a path in a folder that exists and can be written"
    case .deviceGone: "check the cable and the supply, then connect again"
    case .unreachable: "check host and port, and that the server runs"
    case .unconfirmed: "check the server's port; with ?ign_set_control modem lines are not waited for"
    case .noTerminals: "check /dev/ptmx, and mount what it needs: sudo mount -t devpts devpts /dev/pts"
    case .system(EPROTO):
      "the firmware may have turned its USB off: unplug the board, or press its reset button"
    case .system where operation == "listen at": "choose another place for it, which can be written to"
    case .system: "check the port with: stty -a -F \(port.printable)"
    }
  }
}

extension [String] {
  /// For a message: at most eight of them, then how many more.
  fileprivate var printableList: String {
    let shown = prefix(8).map(\.printable).joined(separator: ", ")
    return count > 8 ? "\(shown) and \(count - 8) more" : shown
  }
}
