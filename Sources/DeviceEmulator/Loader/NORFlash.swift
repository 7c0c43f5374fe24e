/// A NOR flash: an erase sets all bits of a sector, programming clears bits, reading has no effect.
///
/// The content is in memory; `drainChanges` returns what a driver must store in a file.
package struct NORFlash: Equatable, Sendable {
  /// The size of a sector, the unit of erasing.
  package static let sectorBytes = 4096
  /// The sizes that a chip can announce in its JEDEC id, in bytes: 1 to 16 MiB.
  package static let sizes = (0...4).map { 0x10_0000 << $0 }

  private(set) package var bytes: [UInt8]
  /// Whether the block protection bits are set: programming and erasing change nothing.
  package var isWriteProtected = false
  private(set) package var erasedSectors: UInt64 = 0
  private(set) package var programmedBytes: UInt64 = 0
  /// Sectors that have changed since `drainChanges`, as first and behind the last of each run.
  private var changed: [Range<Int>] = []

  /// - Parameter content: at most `sizeBytes`; the rest is erased.
  /// - Returns: nil if the size is not one of `sizes`, or the content is longer.
  package init?(sizeBytes: Int, content: [UInt8] = []) {
    guard Self.sizes.contains(sizeBytes), content.count <= sizeBytes else { return nil }
    bytes = content + [UInt8](repeating: 0xFF, count: sizeBytes - content.count)
  }

  package var sizeBytes: Int { bytes.count }

  /// Whether the range lies in the flash.
  func holds(_ start: Int, count: Int) -> Bool {
    start >= 0 && count >= 0 && start <= sizeBytes && count <= sizeBytes - start
  }

  /// The content of a range; nil if it does not lie in the flash.
  package func read(at start: Int, count: Int) -> [UInt8]? {
    holds(start, count: count) ? Array(bytes[start..<start + count]) : nil
  }

  /// Erases the sector that contains an address; no effect beyond the end.
  mutating func eraseSector(containing address: Int) {
    guard let sector = sector(containing: address) else { return }
    erasedSectors += 1
    bytes.replaceSubrange(sector, with: repeatElement(0xFF, count: Self.sectorBytes))
    markChanged(sector)
  }

  /// The supply fails while the sector is erased: some of its bits are set already.
  mutating func interruptErase(ofSectorContaining address: Int) {
    guard let sector = sector(containing: address) else { return }
    for index in sector { bytes[index] |= UInt8(truncatingIfNeeded: (index &* 0x9E37_79B1) >> 13) }
    markChanged(sector)
  }

  /// Clears the bits that are zero in `new`. No effect if that does not fit.
  mutating func program(_ new: [UInt8], at start: Int) {
    guard holds(start, count: new.count), !isWriteProtected, !new.isEmpty else { return }
    programmedBytes += UInt64(new.count)
    for (index, byte) in new.enumerated() { bytes[start + index] &= byte }
    markChanged(start..<start + new.count)
  }

  /// The ranges that have changed since the last call, at sector boundaries.
  package mutating func drainChanges() -> [Range<Int>] {
    defer { changed = [] }
    return changed
  }

  private func sector(containing address: Int) -> Range<Int>? {
    guard address >= 0, address < sizeBytes, !isWriteProtected else { return nil }
    let start = address / Self.sectorBytes * Self.sectorBytes
    return start..<start + Self.sectorBytes
  }

  private mutating func markChanged(_ range: Range<Int>) {
    let start = range.lowerBound / Self.sectorBytes * Self.sectorBytes
    let end = (range.upperBound + Self.sectorBytes - 1) / Self.sectorBytes * Self.sectorBytes
    if let last = changed.last, start <= last.upperBound, end >= last.lowerBound {
      changed[changed.count - 1] = min(start, last.lowerBound)..<max(end, last.upperBound)
    } else {
      changed.append(start..<end)
    }
  }
}
