import Glibc
import Testing

@testable import SerialLink

@Suite struct StableLinkTests {
  let directory: TemporaryDirectory
  let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("board")
  }

  @Test func `a port can be opened through the link`() throws {
    let first = try PseudoTerminal.open()
    let link = try StableLink(at: path, target: first.slavePath)
    let one = try SerialPort.open(path, options: directory.options)
    #expect(one.devicePath == first.slavePath)
    #expect(link.target == first.slavePath)
  }

  @Test func `the link is removed with its owner and leaves nothing behind`() throws {
    let link = try StableLink(at: path, target: "/dev/null")
    #expect(FileSystem.target(ofLink: path) == "/dev/null")
    _ = consume link
    #expect(FileSystem.names(in: directory.path) == [])
  }

  @Test func `a dangling link is replaced`() throws {
    try directory.link("board", to: directory.file("gone"))
    let link = try StableLink(at: path, target: "/dev/null")
    #expect(FileSystem.target(ofLink: link.path) == "/dev/null")
  }

  @Test func `a link that is in use is refused and stays`() throws {
    try directory.link("board", to: "/dev/zero")
    let error = portError { () throws(PortError) in _ = try StableLink(at: path, target: "/dev/null") }
    #expect(error?.code == .linkOccupied("it is a link to /dev/zero, which is in use"))
    #expect(FileSystem.target(ofLink: path) == "/dev/zero")
  }

  @Test func `a file is never replaced`() throws {
    try directory.write("precious", to: "board")
    let error = portError { () throws(PortError) in _ = try StableLink(at: path, target: "/dev/null") }
    #expect(error?.code == .linkOccupied("it exists and is not a link"))
    #expect(FileSystem.line(at: path) == "precious")
  }

  @Test func `a file that another program put in its place is not removed`() throws {
    let link = try StableLink(at: path, target: "/dev/null")
    #expect(unlink(path) == 0)
    try directory.link("board", to: "/dev/zero")
    _ = consume link
    #expect(FileSystem.target(ofLink: path) == "/dev/zero")
  }

  @Test func `links are kept in the runtime directory, or in one of this user's own`() throws {
    let runtime = try StableLink.defaultDirectory(
      named: "rig", environment: ["XDG_RUNTIME_DIR": directory.path])
    #expect(runtime == directory.file("rig"))
    let own = try StableLink.defaultDirectory(
      named: "rig", environment: [:], temporaryDirectory: directory.path)
    #expect(own == directory.file("rig-\(geteuid())"))
    #expect(FileSystem.status(of: own).map { $0.st_mode & 0o777 } == 0o700)
  }

  @Test func `a directory that others can write to is refused`() throws {
    #expect(mkdir(directory.file("rig"), 0o777) == 0)
    #expect(chmod(directory.file("rig"), 0o777) == 0)
    let error = portError { () throws(PortError) in
      _ = try StableLink.defaultDirectory(named: "rig", environment: ["XDG_RUNTIME_DIR": directory.path])
    }
    #expect(error?.code == .linkOccupied("it is not a directory that belongs to this user alone"))
  }

  @Test func `a link in place of the directory is refused`() throws {
    try directory.link("rig", to: "/tmp")
    let error = portError { () throws(PortError) in
      _ = try StableLink.defaultDirectory(named: "rig", environment: ["XDG_RUNTIME_DIR": directory.path])
    }
    #expect(error?.code == .linkOccupied("it is not a directory that belongs to this user alone"))
  }
}
