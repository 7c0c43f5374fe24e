import Foundation
import Glibc
import Testing

@testable import SerialLink

@Suite struct PrivateDirectoryTests {
  let parent: TemporaryDirectory

  init() throws {
    parent = try TemporaryDirectory()
  }

  @Test func `no other user can enter it, and it is removed with its content`() throws {
    let directory = try PrivateDirectory.make(for: "rig", in: parent.path)
    let status = try #require(FileSystem.status(of: directory.path))
    #expect(status.isDirectory && status.st_mode & 0o777 == 0o700)
    try Data("x".utf8).write(to: URL(fileURLWithPath: "\(directory.path)/log"))
    guard symlink("/dev/null", "\(directory.path)/port") == 0 else { throw POSIXError(.EIO) }
    directory.remove()
    #expect(FileSystem.names(in: parent.path) == [])
    #expect(FileSystem.status(of: "/dev/null") != nil)
  }

  @Test func `leftovers of a killed process are removed by the next one, and nothing else is`() throws {
    let dead = Process()
    dead.executableURL = URL(fileURLWithPath: "/bin/true")
    try dead.run()
    dead.waitUntilExit()
    let gone = dead.processIdentifier
    try parent.write("log", to: "notibot-qemu-\(gone)-1/log")
    try parent.write("log", to: "notibot-rig-\(gone)-1/log")
    try parent.write("log", to: "notibot-qemu-\(getppid())-1/log")
    try parent.write("log", to: "notibot-qemu-x/log")
    try parent.link("notibot-qemu-\(gone)-2", to: parent.file("notibot-qemu-x"))

    let made = try PrivateDirectory.make(for: "qemu", in: parent.path)
    let own = try #require(made.path.split(separator: "/").last.map(String.init))
    let expected = [
      "notibot-qemu-\(getppid())-1", "notibot-qemu-\(gone)-2", "notibot-qemu-x", "notibot-rig-\(gone)-1", own,
    ]
    #expect(FileSystem.names(in: parent.path) == expected.sorted())
    #expect(FileSystem.names(in: parent.file("notibot-qemu-x")) == ["log"])
  }
}
