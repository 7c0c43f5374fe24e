import Glibc
import NIOCore
import Testing

@testable import SerialLink

@Suite struct PortReservationTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  @Test func `the lock stays while this process opens and closes the port, and no flock is held`() throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let lockPath = UUCPLock.lockPath(devicePath: path, directory: directory.path)
    do {
      let reservation = try PortReservation(path, options: directory.options)
      #expect(reservation.isEffective)
      for _ in 0..<2 {
        let port = try SerialPort.open(path, options: directory.options)
        _ = consume port
        #expect(UUCPLock.owner(of: lockPath) == .process(getpid()))
      }
      // Another program can lock it.
      let descriptor = Glibc.open(path, O_RDWR | O_NOCTTY)
      #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
      close(descriptor)
      withExtendedLifetime(reservation) {}
    }
    #expect(UUCPLock.owner(of: lockPath) == nil)
    // A lock file of a later opening ends with it, as before.
    let port = try SerialPort.open(path, options: directory.options)
    #expect(UUCPLock.owner(of: lockPath) == .process(getpid()))
    _ = consume port
    #expect(UUCPLock.owner(of: lockPath) == nil)
  }

  @Test func `a port that another program has locked, or only open, is not reserved`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let program = try await TiedProcess.start(
      "/bin/sh", arguments: ["-c", "exec <\(path); echo open >&2; exec 2>&1; exec sleep 600"])
    _ = try await program.ended.get()
    let error = portError { () throws(PortError) in
      _ = try PortReservation(path, options: directory.options)
    }
    guard case .busy(let holder?) = error?.code else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(holder.pid == program.pid)
    await program.stop()
    _ = try PortReservation(path, options: directory.options)
  }
}
