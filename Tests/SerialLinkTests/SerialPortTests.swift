import Foundation
import Glibc
import Testing

@testable import SerialLink

@Suite struct SerialPortTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `an open port is raw, ignores modem lines and does not hang up on close`() throws {
    let terminal = try PseudoTerminal.open()
    let descriptor = Glibc.open(terminal.slavePath, O_RDWR | O_NOCTTY)
    defer { close(descriptor) }
    var cooked = settings(of: descriptor)
    cooked.c_lflag |= tcflag_t(ICANON | ECHO | ISIG)
    cooked.c_iflag |= tcflag_t(ICRNL | IXON)
    cooked.c_oflag |= tcflag_t(OPOST)
    cooked.c_cflag |= tcflag_t(HUPCL)
    cooked.c_cflag &= ~tcflag_t(CLOCAL)
    #expect(tcsetattr(descriptor, TCSANOW, &cooked) == 0)

    let port = try SerialPort.open(terminal.slavePath, options: directory.options)

    let raw = settings(of: descriptor)
    #expect(raw.c_lflag & tcflag_t(ICANON | ECHO | ISIG | IEXTEN) == 0)
    #expect(raw.c_iflag & tcflag_t(ICRNL | INLCR | IGNCR | IXON | IXOFF | PARMRK | ISTRIP) == 0)
    #expect(raw.c_oflag & tcflag_t(OPOST) == 0)
    #expect(raw.c_cflag & tcflag_t(CSIZE) == tcflag_t(CS8))
    #expect(raw.c_cflag & tcflag_t(HUPCL) == 0)
    #expect(raw.c_cflag & tcflag_t(CLOCAL) != 0)
    #expect(raw.c_cc.6 == 1, "VMIN")
    _ = consume port
  }

  @Test(arguments: [9600, 74_880, 115_200, 921_600, 1_234_567, 3_000_000] as [UInt32])
  func `any rate is set and can be read at the other end`(bitsPerSecond: UInt32) throws {
    let terminal = try PseudoTerminal.open()
    var options = directory.options
    options.bitsPerSecond = bitsPerSecond

    let port = try SerialPort.open(terminal.slavePath, options: options)

    let own = try port.bitsPerSecond()
    let seen = try terminal.hostBitsPerSecond()
    #expect(own == bitsPerSecond)
    #expect(seen == bitsPerSecond)
  }

  @Test func `rate zero is refused before it hangs up the line`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    var options = directory.options
    options.bitsPerSecond = 0
    let error = portError { () throws(PortError) in _ = try SerialPort.open(path, options: options) }
    #expect(error?.code == .unsupportedBaud(requested: 0, offered: nil))
  }

  @Test func `bytes of an earlier session are discarded`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let (master, spare) = terminal.release()
    defer {
      close(master)
      close(spare)
    }
    let stale = [UInt8](repeating: 0x55, count: 11_000)
    #expect(write(master, stale, stale.count) == stale.count)
    // More than the line discipline holds: the rest waits further back in the kernel.
    var ready = pollfd(fd: spare, events: Int16(POLLIN), revents: 0)
    #expect(poll(&ready, 1, 5000) == 1)

    let (descriptor, claim) = try SerialPort.open(path, options: directory.options).release()
    defer { close(descriptor) }

    #expect(write(master, "new", 3) == 3)
    var received = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&received, 1, 5000) == 1)
    var bytes = [UInt8](repeating: 0, count: 64)
    let count = read(descriptor, &bytes, bytes.count)
    #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self) == "new")
    withExtendedLifetime(claim) {}
  }

  @Test func `a port that another program has locked is named with its pid and command`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let holder = try FlockHolder(path: path)

    let error = portError { () throws(PortError) in _ = try SerialPort.open(path, options: directory.options)
    }

    guard case .busy(.some(let found)) = error?.code else {
      Issue.record("expected a busy port, got \(String(describing: error))")
      return
    }
    #expect(found.pid == holder.pid)
    #expect(found.command.contains("flock -n \(path)"))
    #expect(error?.description.contains("\(holder.pid)") == true)
  }

  @Test func `a busy port keeps its settings and its unread bytes`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let (master, spare) = terminal.release()
    defer {
      close(master)
      close(spare)
    }
    var cooked = settings(of: spare)
    cooked.c_lflag |= tcflag_t(ICANON)
    cooked.c_cflag |= tcflag_t(HUPCL)
    #expect(tcsetattr(spare, TCSANOW, &cooked) == 0)
    #expect(write(master, "line\n", 5) == 5)
    var ready = pollfd(fd: spare, events: Int16(POLLIN), revents: 0)
    #expect(poll(&ready, 1, 5000) == 1)
    let holder = try FlockHolder(path: path)

    let error = portError { () throws(PortError) in _ = try SerialPort.open(path, options: directory.options)
    }

    #expect(error != nil)
    let after = settings(of: spare)
    #expect(after.c_lflag == cooked.c_lflag)
    #expect(after.c_cflag == cooked.c_cflag)
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(read(spare, &bytes, bytes.count) == 5)
    withExtendedLifetime(holder) {}
  }

  @Test func `a second open in this program is refused, and allowed again after the first closed`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let options = directory.options
    let first = try SerialPort.open(path, options: options)

    let error = portError { () throws(PortError) in _ = try SerialPort.open(path, options: options) }

    guard case .busy(let holder) = error?.code else {
      Issue.record("expected a busy port, got \(String(describing: error))")
      return
    }
    #expect(holder?.pid == getpid())
    _ = consume first
    let again = try SerialPort.open(path, options: options)
    #expect(again.devicePath == path)
  }

  @Test func `a missing port is an error that lists the present ports`() throws {
    let error = portError { () throws(PortError) in
      _ = try SerialPort.open("/dev/ttyNONE7", options: directory.options)
    }
    #expect(error?.code == .notFound(present: PortList.paths()))
    #expect(error?.description == "cannot open /dev/ttyNONE7: no such port")
  }

  @Test(arguments: ["/dev/null", "/etc/passwd", "/tmp"])
  func `a path other than a terminal is refused`(path: String) throws {
    let error = portError { () throws(PortError) in _ = try SerialPort.open(path, options: directory.options)
    }
    #expect(error?.code == .notATTY)
    #expect(error?.description == "cannot open \(path): not a serial port")
  }

  @Test func `a symbolic link is followed and the port keeps the given name`() throws {
    let terminal = try PseudoTerminal.open()
    try directory.link("board", to: terminal.slavePath)
    let port = try SerialPort.open(directory.file("board"), options: directory.options)
    #expect(port.devicePath == terminal.slavePath)
    #expect(port.name == directory.file("board"))
  }

  @Test func `a failed open leaves no lock file and no lock`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    var options = directory.options
    options.bitsPerSecond = 0
    _ = portError { () throws(PortError) in _ = try SerialPort.open(path, options: options) }
    #expect(FileSystem.names(in: directory.path) == [])
    options.bitsPerSecond = 9600
    let port = try SerialPort.open(path, options: options)
    #expect(port.devicePath == path)
  }
}
