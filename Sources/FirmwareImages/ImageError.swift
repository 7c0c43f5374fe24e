/// Why bytes are not an image, a partition table or a flash that boots.
package enum ImageError: Error, Equatable, Sendable, CustomStringConvertible {
  /// Nothing but 0xFF, or nothing at all.
  case erased
  /// The first byte is not 0xE9.
  case badMagic(UInt8)
  /// A file of a kind that is known and no image.
  case isOther(FileKind)
  /// `segment`: the one that does not fit; that behind the last one is checksum and hash.
  case truncated(needed: Int, present: Int, segment: Int = 0)
  case badSegmentCount(Int)
  case badSegmentLength(index: Int, bytes: UInt32)
  case badChecksum(stored: UInt8, computed: UInt8)
  case badHash
  case unknownChip(UInt16)
  case wrongChip(image: String, expected: String)
  /// A file that begins at offset 0 of the flash, with its bootloader at another chip's place.
  case misplaced(ESPChip, at: UInt32)
  case badTable(PartitionTable.Defect)
  case noApp

  package var description: String {
    switch self {
    case .erased: "there is no image: the flash is erased"
    case .badMagic(let byte): "it does not begin with 0xE9 but with 0x\(hex(UInt32(byte), digits: 2))"
    case .isOther(let kind): "it is \(kind), not an image"
    case .truncated(let needed, let present, _): "it is cut off: \(present) of \(needed) bytes"
    case .badSegmentCount(let count): "it has \(count) segments instead of 1 to \(ESPImage.segmentsLimit)"
    case .badSegmentLength(let index, let bytes): "segment \(index) has an impossible length, \(bytes) bytes"
    case .badChecksum(let stored, let computed):
      "its checksum is 0x\(hex(UInt32(stored), digits: 2)), computed 0x\(hex(UInt32(computed), digits: 2))"
    case .badHash: "its SHA-256 is wrong"
    case .unknownChip(let id): "it is for a chip with the unknown number \(id)"
    case .wrongChip(let image, let expected): "it is for \(image), not for \(expected)"
    case .misplaced(let chip, let offset):
      "its bootloader for \(chip.name) is at 0x\(hex(offset, digits: 0)) instead of "
        + "0x\(hex(chip.bootloaderOffset, digits: 0))"
    case .badTable(let defect): "the partition table is invalid: \(defect)"
    case .noApp: "no partition holds an application"
    }
  }
}

/// A number in hexadecimal, at least so many digits.
package func hex(_ number: UInt32, digits: Int) -> String {
  let text = String(number, radix: 16, uppercase: true)
  return String(repeating: "0", count: max(0, digits - text.count)) + text
}
