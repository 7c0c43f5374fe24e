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
    #expect(throws: RegularFile.Problem.notRegular) { try RegularFile.read(fifo, limitBytes: 9) }
    #expect(throws: RegularFile.Problem.notRegular) { try RegularFile.read("/dev/zero", limitBytes: 9) }
    #expect(throws: RegularFile.Problem.directory) { try RegularFile.read(folder, limitBytes: 9) }
    #expect(throws: RegularFile.Problem.system(errno: ENOENT)) {
      try RegularFile.read(folder + "/none", limitBytes: 9)
    }
    #expect(try RegularFile.read(file, limitBytes: 3) == Array("abc".utf8))
    #expect(throws: RegularFile.Problem.tooLong(limitBytes: 2)) { try RegularFile.read(file, limitBytes: 2) }
  }
}
