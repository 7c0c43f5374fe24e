import Foundation
import SerialLink
import Testing

@testable import DeviceEmulator

/// The file of an emulated flash.
struct FlashFileTests {
  private let path = FileManager.default.temporaryDirectory.appendingPathComponent(
    "flash-\(UInt64.random(in: .min ... .max))"
  ).path

  private func remove() { unlink(path) }

  private func reason(_ body: () throws -> Void) -> String? {
    do {
      try body()
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test func `a new file is erased, and gets the size of the flash`() throws {
    defer { remove() }
    let flash = try FlashFile(at: path).load(sizeBytes: nil)
    #expect(flash.sizeBytes == 4 << 20)
    #expect(flash.bytes.allSatisfy { $0 == 0xFF })
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)).count == 4 << 20)
  }

  @Test func `what is stored is loaded again`() throws {
    defer { remove() }
    do {
      let file = try FlashFile(at: path)
      var flash = try file.load(sizeBytes: 1 << 20)
      flash.program([1, 2, 3], at: 4095)
      for range in flash.drainChanges() { try file.store(range, of: flash) }
    }
    let flash = try FlashFile(at: path).load(sizeBytes: nil)
    #expect(flash.read(at: 4094, count: 5) == [0xFF, 1, 2, 3, 0xFF])
  }

  /// A file that is as long as a disk must not be read into the memory.
  @Test(arguments: [17 << 20, 100 << 30])
  func `a file that no flash can hold is refused`(length: Int) throws {
    defer { remove() }
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    #expect(truncate(path, length) == 0)
    let reason = reason { _ = try FlashFile(at: path).load(sizeBytes: nil) }
    #expect(reason?.contains("it has \(length) bytes, and the flash \(16 << 20)") == true)
  }

  @Test func `a file that another emulator uses is refused`() throws {
    defer { remove() }
    let first = try FlashFile(at: path)
    #expect(reason { _ = try FlashFile(at: path) }?.contains("another emulator uses it") == true)
    withExtendedLifetime(first) {}
  }

  @Test func `a folder and a FIFO are refused`() throws {
    defer { remove() }
    #expect(reason { _ = try FlashFile(at: "/tmp") } != nil)
    #expect(mkfifo(path, 0o600) == 0)
    #expect(reason { _ = try FlashFile(at: path) }?.contains("it is not a file") == true)
  }
}
