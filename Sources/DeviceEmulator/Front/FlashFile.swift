import Glibc
package import SerialLink

/// The file that holds the content of an emulated flash. One process at a time uses it. A class,
/// because it closes the file with its last reference.
package final class FlashFile: Sendable {
  package let path: String
  private let descriptor: CInt

  /// Opens the file, or creates it empty.
  /// - Throws: `PortError` if that fails, or another emulator uses it.
  package init(at path: String) throws(PortError) {
    self.path = path
    // Without O_NONBLOCK, opening a terminal can wait for its carrier.
    let raw = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o644)
    guard raw >= 0 else { throw PortError(placing: path, errno: errno, operation: "open the flash file") }
    descriptor = raw
    var status = stat()
    guard fstat(raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw PortError(.badPlace("it is not a file"), port: path, operation: "open the flash file")
    }
    guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
      throw PortError(.badPlace("another emulator uses it"), port: path, operation: "open the flash file")
    }
  }

  deinit { close(descriptor) }

  /// The flash of a size with the content of the file, and erased behind it. The file gets that
  /// size.
  /// - Parameter sizeBytes: one of `NORFlash.sizes`; nil for the file's size, or 4 MiB if that is
  ///   not
  ///   larger.
  /// - Throws: `PortError` if the file is longer than the flash, or cannot be read.
  package func load(sizeBytes: Int?) throws(PortError) -> NORFlash {
    let length = Int(lseek(descriptor, 0, SEEK_END))
    let largest = NORFlash.sizes.last ?? 0
    let size = sizeBytes ?? NORFlash.sizes.dropFirst(2).first { $0 >= length } ?? largest
    guard length == 0 || length >= NORFlash.sectorBytes else {
      throw PortError(
        .badPlace("it has \(length) bytes: it is not the content of a flash"), port: path,
        operation: "load the flash file")
    }
    guard length <= size, length >= 0 else {
      throw PortError(
        .badPlace("it has \(length) bytes, and the flash \(size)"), port: path,
        operation: "load the flash file")
    }
    var content = [UInt8](repeating: 0xFF, count: length)
    var count = 0
    while count < length {
      let read = content.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress! + count, length - count, off_t(count))
      }
      if read < 0, errno == EINTR { continue }
      guard read > 0 else { throw PortError(placing: path, errno: errno, operation: "read the flash file") }
      count += read
    }
    guard let flash = NORFlash(sizeBytes: size, content: content) else {
      throw PortError(
        .badPlace("a flash has 1, 2, 4, 8 or 16 MiB"), port: path, operation: "load the flash file")
    }
    if length < size { try store(length..<size, of: flash) }
    return flash
  }

  /// Writes a range of the flash to the file.
  package func store(_ range: Range<Int>, of flash: NORFlash) throws(PortError) {
    var position = range.lowerBound
    while position < range.upperBound {
      let written = flash.bytes.withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress! + position, range.upperBound - position, off_t(position))
      }
      if written < 0, errno == EINTR { continue }
      guard written > 0 else {
        throw PortError(placing: path, errno: errno, operation: "write the flash file")
      }
      position += written
    }
  }
}

/// The chip and the flash of an emulator.
package struct FlashOptions: Equatable, Sendable {
  package var chip: ChipModel.Name
  package var file: String
  /// One of `NORFlash.sizes`; nil for the file's.
  package var sizeBytes: Int?
  package var faults: LoaderFaults

  package init(chip: ChipModel.Name, file: String, sizeBytes: Int? = nil, faults: LoaderFaults = .off) {
    self.chip = chip
    self.file = file
    self.sizeBytes = sizeBytes
    self.faults = faults
  }
}
