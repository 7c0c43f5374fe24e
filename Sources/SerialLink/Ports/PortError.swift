import Glibc
import NIOCore

/// Why a port could not be opened, or was lost: what happened, where, during what, and what to do
/// about it.
package struct PortError: Error, Hashable, Sendable {
  /// What went wrong, with what was seen.
  package enum Code: Hashable, Sendable {
    /// No port has that name. `present`: the paths of the existing ports.
    case notFound(present: [String])
    /// The kernel has the port, and its device node is missing here, as in a container.
    case nodeMissing
    /// `auto` found no known board. `others`: ports of unknown boards, which it never chooses. Exit
    /// 10.
    case noBoard(others: [String])
    /// More than one port matches.
    case ambiguous([String])
    /// One board matches, which has these ports.
    case severalInterfaces([String])
    /// Another process uses the port; `nil` if that process is unknown.
    case busy(PortHolder?)
    /// A lock file names a process that does not have the port open, or none.
    case locked(file: String, by: PortHolder?)
    /// The server of a network port serves another client; the text is the reason.
    case serverBusy(String)
    /// The user is not permitted to open it. `group`: the group that is.
    case permissionDenied(group: String?)
    /// A file, a directory or some other device.
    case notATTY
    /// A pseudo-terminal or a socket: it carries bytes and no DTR or RTS.
    case noModemLines
    /// The driver does not support this rate; `offered`: the rate that it set instead.
    case unsupportedBaud(requested: UInt32, offered: UInt32?)
    /// Not a port name; the text is the reason.
    case badPortName(String)
    /// The port name is valid, but only a command can open ports of this form.
    case unavailableForm
    /// Not a rate; the text is the reason.
    case badRate(String)
    /// The path of a stable link is in use by a file that must not be replaced.
    case linkOccupied(String)
    /// A link or a socket cannot be created at its path; the text is the reason.
    case badPlace(String)
    /// The user is not permitted to create a link or a socket at its path; the text is the reason.
    case placeRefused(String)
    /// End of file, EIO or hang-up: the device was disconnected.
    case deviceGone
    /// A network port did not accept the connection; the text is the reason.
    case unreachable(String)
    /// A port of `notibot share` cannot be used.
    case share(ShareProblem)
    /// A network port did not execute or did not confirm a command; the text is the reason. Exit
    /// 13.
    case unconfirmed(String)
    /// A pseudo-terminal cannot be created; the text is the reason.
    case noTerminals(String)
    /// A device cannot be plugged into the virtual USB controller; the text is the reason.
    case noVirtualUSB(String)
    /// Any other system error, by its number.
    case system(errno: Int32)
  }

  /// What went wrong.
  package var code: Code
  /// The port as the user named it.
  package var port: String
  /// The operation that failed, as a verb: "open", "set the rate of", "read".
  package var operation: String

  package init(_ code: Code, port: String, operation: String) {
    self.code = code
    self.port = port
    self.operation = operation
  }

  /// The error for `error` of creating a channel for an open port.
  init(opening port: String, _ error: any Error) {
    switch error {
    case let error as PortError: self = error
    case let error as IOError: self.init(errno: error.errnoCode, port: port, operation: "open")
    default: self.init(.deviceGone, port: port, operation: "open")
    }
  }

  /// The error for `errno` value `number` of creating a link, a folder or a socket at `path`.
  package init(placing path: String, errno number: Int32, operation: String) {
    let code: Code =
      switch number {
      case ENOENT: .badPlace("its folder does not exist")
      case ENOTDIR, ELOOP, ENAMETOOLONG, EISDIR: .badPlace(systemText(number))
      case EACCES, EPERM, EROFS: .placeRefused(systemText(number))
      default: .system(errno: number)
      }
    self.init(code, port: path, operation: operation)
  }

  /// The error for `errno` value `number` on a port. `group` is looked up only if it is needed.
  init(errno number: Int32, port: String, operation: String, group: @autoclosure () -> String? = nil) {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG: PortList().absence(of: port)
      case EACCES, EPERM: .permissionDenied(group: group())
      case ENOTTY: .notATTY
      case EIO, ENXIO, ENODEV, EPIPE, ECONNRESET: .deviceGone
      default: .system(errno: number)
      }
    self.init(code, port: port, operation: operation)
  }
}

extension PortError: ClassifiedError {
  package var kind: FailureKind {
    switch code {
    case .notFound, .nodeMissing, .noBoard, .ambiguous, .severalInterfaces, .unreachable: .noBoard
    case .busy, .locked, .serverBusy: .portBusy
    case .permissionDenied, .placeRefused: .noPermission
    case .notATTY, .noModemLines, .unsupportedBaud, .badPortName, .unavailableForm, .badRate, .linkOccupied,
      .badPlace:
      .usage
    case .share(let problem): problem.kind
    case .deviceGone: .linkLost
    case .unconfirmed: .noAnswer
    case .noTerminals, .noVirtualUSB, .system: .unfitEnvironment
    }
  }

  /// One line: what, which port, why. Safe to print.
  package var description: String {
    "cannot \(operation) \(port.printable): \(reason)"
  }

  /// Why, in a few words. Safe to print.
  package var reason: String {
    switch code {
    case .notFound: "no such port"
    case .nodeMissing: "the kernel has this port, but its device node is missing here"
    case .noBoard: "no known board is connected"
    case .ambiguous(let ports): "\(ports.count) ports match: \(ports.printableList)"
    case .severalInterfaces(let ports): "the board has \(ports.count) ports: \(ports.printableList)"
    case .busy(.some(let holder)): "in use by process \(holder.description)"
    case .busy(nil): "in use by another process"
    case .locked(let file, .some(let holder)):
      "its lock file \(file.printable) is that of process \(holder.description), which does not have it open"
    case .locked(let file, nil): "its lock file \(file.printable) does not name its owner"
    case .serverBusy(let text): text.printable
    case .permissionDenied: "permission denied"
    case .notATTY: "not a serial port"
    case .noModemLines: "no modem lines (pseudo-terminals and plain sockets have none)"
    case .unsupportedBaud(let requested, .some(let offered)):
      "\(requested) baud is not supported by the port, only \(offered)"
    case .unsupportedBaud(let requested, nil): "\(requested) baud is not supported by the port"
    case .badPortName(let text), .badRate(let text): text.printable
    case .unavailableForm: "this form is not available here"
    case .linkOccupied(let text), .badPlace(let text), .placeRefused(let text): text.printable
    case .deviceGone: "the device was disconnected"
    case .unreachable(let text), .unconfirmed(let text): text.printable
    case .share(let problem): problem.reason
    case .noTerminals(let text): "cannot create a pseudo-terminal: \(text.printable)"
    case .noVirtualUSB(let text): text.printable
    case .system(let number): "\(systemText(number)) (errno \(number))"
    }
  }

  /// One line: the action for the user. Safe to print.
  package var hint: String {
    switch code {
    case .notFound(let present) where present.isEmpty: "no serial port is present; plug the board in"
    case .notFound(let present): "ports present: \(present.printableList)"
    case .nodeMissing:
      "start the container with --device=\(port.printable), or for boards that come and go with -v /dev:/dev and "
        + "--device-cgroup-rule='c 166:* rmw' --device-cgroup-rule='c 188:* rmw'"
    case .noBoard(let others) where others.isEmpty: "plug the board in, or choose its port"
    case .noBoard(let others): "choose a port; ports present: \(others.printableList)"
    case .ambiguous: "choose one of them"
    case .severalInterfaces: "find the one that answers with: notibot devices --probe; then choose it"
    case .busy(.some(let holder)): "stop process \(holder.pid), or wait until it closes the port"
    case .busy(nil): "stop the program that uses it (find it with: fuser -v \(port.printable))"
    case .locked(let file, let holder):
      "\(holder.map { "wait until process \($0.pid) ends, or " } ?? "")if nothing uses the port: "
        + "sudo rm \(file.printable)"
    case .serverBusy: "close the other connection, or wait until it ends"
    case .permissionDenied(.some(let group)):
      "sudo usermod -a -G \(group.printable) $USER, then log out and in again"
    case .permissionDenied(nil): "ask the administrator for access (check with: ls -l \(port.printable))"
    case .notATTY: "use a serial port, such as /dev/ttyUSB0 or /dev/ttyACM0"
    case .noModemLines:
      "use a port with modem lines"
    case .unsupportedBaud, .badRate: "choose another rate, such as 115200"
    case .badPortName(let text) where text.hasPrefix(PortName.noForm):
      "a file in this folder is ./\(port.printable); other forms: \(PortName.allForms)"
    case .badPortName: "use one of: \(PortName.allForms)"
    case .unavailableForm: "use one of: \(PortName.openableForms)"
    case .linkOccupied: "choose another path, or remove it if nothing uses it"
    case .badPlace where port.contains("://") || port.hasPrefix("127.0.0.1:"):
      "use an address of this computer, or 127.0.0.1"
    case .badPlace, .placeRefused: "choose a path in an existing folder that you can write to"
    case .deviceGone: "check the cable and the power supply, then connect again"
    case .share(let problem): problem.hint
    case .unreachable where port.hasPrefix("att:"):
      "start a device there, for example with: notibot emulate --att unix:\(String(port.dropFirst(4)).printable)"
    case .unreachable: "check host and port, and that the server is running"
    case .unconfirmed: "check the server's port; add ?ign_set_control to skip the confirmation of modem lines"
    case .noTerminals: "check /dev/ptmx, and mount its file system: sudo mount -t devpts devpts /dev/pts"
    case .noVirtualUSB: "sudo modprobe vhci-hcd, then run this as root; or export the device with --usbip"
    case .system(EPROTO):
      "the firmware has possibly turned USB off; unplug the board, or press its reset button"
    case .system where operation == "listen at": "choose another port, or a path that you can write to"
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
