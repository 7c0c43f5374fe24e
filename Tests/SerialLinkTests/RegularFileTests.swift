import Foundation
import SerialLink
import Testing

struct RegularFileTests {
  @Test func `a FIFO, a device and a directory are refused at once, and a file is read up to its limit`()
    throws
  {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (fifo, file) = (folder + "/fifo", folder + "/file")
    try #require(mkfifo(fifo, 0o600) == 0)
    try Data("abc".utf8).write(to: URL(fileURLWithPath: file))
    // Nobody writes to the FIFO: opening it for reading would wait forever.
    let isOther = Failure(.usage, "it is not a regular file")
    #expect(throws: isOther) { try RegularFile.read(fifo, limitBytes: 9) }
    #expect(throws: isOther) { try RegularFile.read("/dev/zero", limitBytes: 9) }
    #expect(throws: Failure(.usage, "it is a directory", remedy: "name a file in it")) {
      try RegularFile.read(folder, limitBytes: 9)
    }
    #expect(throws: Failure(.unfitEnvironment, "No such file or directory")) {
      try RegularFile.read(folder + "/none", limitBytes: 9)
    }
    #expect(try RegularFile.read(file, limitBytes: 3) == Array("abc".utf8))
    #expect(throws: Failure(.usage, "it has more than 2 bytes")) { try RegularFile.read(file, limitBytes: 2) }
  }
}
