import Glibc
import Testing

@testable import SerialLink

@Suite struct UUCPLockTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// The error of opening a fresh port with `text` in its lock file, and what the file holds
  /// afterwards.
  private func opening(
    withLockFile text: String, agedSeconds: Int = 0
  ) throws -> (error: PortError?, owner: UUCPLock.Owner?) {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let lockPath = UUCPLock.lockPath(devicePath: path, directory: directory.path)
    try directory.write(text, to: String(lockPath.dropFirst(directory.path.count + 1)))
    var times = [timeval](repeating: timeval(tv_sec: time(nil) - agedSeconds, tv_usec: 0), count: 2)
    #expect(utimes(lockPath, &times) == 0)
    var owner: UUCPLock.Owner?
    let error = portError { () throws(PortError) in
      let port = try SerialPort.open(path, options: directory.options)
      owner = UUCPLock.owner(of: lockPath)
      _ = consume port
    }
    return (error, owner ?? UUCPLock.owner(of: lockPath))
  }

  @Test(arguments: [
    ("/dev/ttyUSB0", "LCK..ttyUSB0"), ("/dev/pts/3", "LCK..pts_3"), ("/srv/tty", "LCK.._srv_tty"),
  ])
  func `the lock file is named as ser2net names it`(devicePath: String, name: String) {
    #expect(UUCPLock.lockPath(devicePath: devicePath, directory: "/locks") == "/locks/\(name)")
  }

  @Test func `the lock file contains the pid in ten characters and is removed with the port`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let lockPath = UUCPLock.lockPath(devicePath: path, directory: directory.path)
    let port = try SerialPort.open(path, options: directory.options)
    let text = FileSystem.contents(of: lockPath).map { String(decoding: $0, as: UTF8.self) }
    let pid = String(getpid())
    #expect(text == String(repeating: " ", count: 10 - pid.count) + pid + "\n")
    _ = consume port
    #expect(FileSystem.names(in: directory.path) == [])
  }

  @Test func `the file of a dead process is replaced`() throws {
    let (error, owner) = try opening(withLockFile: "\(deadPID())\n")
    #expect(error == nil)
    #expect(owner == .process(getpid()))
  }

  @Test func `the file of a process that has ended, and waits for its parent, is replaced`() throws {
    var (pid, info) = (pid_t(0), siginfo_t())
    #expect(posix_spawn(&pid, "/bin/true", nil, nil, [nil], nil) == 0)
    #expect(waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) == 0)
    let (error, owner) = try opening(withLockFile: "\(pid)\n")
    #expect(error == nil && owner == .process(getpid()))
    #expect(waitpid(pid, nil, 0) == pid)
  }

  @Test func `a file with our own pid is a former process's and is replaced`() throws {
    let (error, owner) = try opening(withLockFile: "\(getpid())\n")
    #expect(error == nil)
    #expect(owner == .process(getpid()))
  }

  @Test func `a file that is older than the process with its number is replaced`() throws {
    let other = try FlockHolder(path: directory.file("something else"))
    let (error, owner) = try opening(withLockFile: "\(other.pid)\n", agedSeconds: 3600)
    #expect(error == nil)
    #expect(owner == .process(getpid()))
  }

  @Test func `the file of a living process that does not have the port open is named with it`() throws {
    let other = try FlockHolder(path: directory.file("something else"))
    let (error, owner) = try opening(withLockFile: "\(other.pid) other\n")
    guard case .locked(let file, let holder) = error?.code else {
      Issue.record("expected a locked port, got \(String(describing: error))")
      return
    }
    #expect(file.contains("LCK..pts_") && holder?.pid == other.pid)
    #expect(holder?.command.contains("flock -n") == true)
    #expect(error?.kind == .portBusy)
    #expect(error?.reason.contains("which does not have it open") == true)
    #expect(error?.hint.contains("rm \(file)") == true)
    #expect(owner == .process(other.pid), "the file is left as it was")
  }

  @Test(arguments: ["garbage\n", ""])
  func `a file without a pid is kept and reported`(text: String) throws {
    let (error, owner) = try opening(withLockFile: text)
    guard case .locked(let file, nil) = error?.code else {
      Issue.record("expected a locked port, got \(String(describing: error))")
      return
    }
    #expect(file.contains("LCK..pts_"))
    #expect(error?.kind == .portBusy && error?.hint.contains("rm \(file)") == true)
    #expect(owner == .unreadable)
  }

  @Test func `four raw bytes are a pid, as very old programs write it`() throws {
    let bytes = withUnsafeBytes(of: Int32(1)) { String(decoding: $0, as: UTF8.self) }
    try directory.write(bytes, to: "LCK..old")
    #expect(UUCPLock.owner(of: directory.file("LCK..old")) == .process(1))
  }

  @Test func `a missing lock directory does not prevent opening`() throws {
    let terminal = try PseudoTerminal.open()
    let options = SerialOptions(bitsPerSecond: 9600, lockDirectory: directory.file("none"))
    let port = try SerialPort.open(terminal.slavePath, options: options)
    #expect(port.devicePath == terminal.slavePath)
  }

  @Test func `a lock file that another program put in our place is kept`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let lockPath = UUCPLock.lockPath(devicePath: path, directory: directory.path)
    let port = try SerialPort.open(path, options: directory.options)
    try directory.write("1\n", to: "other")
    #expect(rename(directory.file("other"), lockPath) == 0)
    _ = consume port
    #expect(UUCPLock.owner(of: lockPath) == .process(1))
  }
}
