import Glibc
import Testing

@testable import SerialLink

@Suite struct PortErrorTests {
  static let meanings: [(Int32, PortError.Code)] = [
    (EACCES, .permissionDenied(group: "dialout")),
    (EPERM, .permissionDenied(group: "dialout")),
    (ENOTTY, .notATTY),
    (EIO, .deviceGone),
    (ENXIO, .deviceGone),
    (ENODEV, .deviceGone),
    (EMFILE, .system(errno: EMFILE)),
  ]

  @Test(arguments: meanings)
  func `a system error has its meaning for a port`(number: Int32, code: PortError.Code) {
    #expect(PortError(errno: number, port: "p", operation: "open", group: "dialout").code == code)
  }

  static let messages: [(PortError.Code, String, String)] = [
    (.notFound(present: []), "no such port", "no serial port is present; plug the board in"),
    (.notFound(present: ["/dev/a", "/dev/b"]), "no such port", "ports present: /dev/a, /dev/b"),
    (
      .noBoard(others: []), "no known board is connected",
      "plug the board in, or choose its port"
    ),
    (
      .permissionDenied(group: "dialout"), "permission denied",
      "sudo usermod -a -G dialout $USER, then log out and in again"
    ),
    (
      .busy(PortHolder(pid: 1, command: "picocom\u{1B}[2J\n")),
      "in use by process 1 (picocom\\u{1b}[2J\\u{a})",
      "stop process 1, or wait until it closes the port"
    ),
    (
      .unsupportedBaud(requested: 74_880, offered: 9600),
      "74880 baud is not supported by the port, only 9600",
      "choose another rate, such as 115200"
    ),
    (
      .nodeMissing, "the kernel has this port, but its device node is missing here",
      "start the container with --device=/dev/\\u{7}x, or for boards that come and go with -v /dev:/dev and "
        + "--device-cgroup-rule='c 166:* rmw' --device-cgroup-rule='c 188:* rmw'"
    ),
    (.deviceGone, "the device was disconnected", "check the cable and the power supply, then connect again"),
    (
      .system(errno: EMFILE), "Too many open files (errno 24)",
      "check the port with: stty -a -F /dev/\\u{7}x"
    ),
  ]

  @Test(arguments: messages)
  func `a message has operation, port and reason in one line, and the hint in another`(
    code: PortError.Code, reason: String, hint: String
  ) {
    let error = PortError(code, port: "/dev/\u{7}x", operation: "open")
    #expect(error.description == "cannot open /dev/\\u{7}x: \(reason)")
    #expect(error.hint == hint)
  }

  @Test func `a long list and a long command line are cut`() {
    let many = PortError(.ambiguous((0..<20).map { "/dev/ttyUSB\($0)" }), port: "auto", operation: "choose")
    #expect(many.description.hasSuffix("/dev/ttyUSB7 and 12 more"))
    let holder = PortHolder(pid: 1, command: String(repeating: "x", count: 5000))
    #expect(holder.description.count == "1 ()".count + 120)
  }
}
