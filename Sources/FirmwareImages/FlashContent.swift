/// What a chip boots from a flash, by the rules of ROM and bootloader.
package struct FlashContent: Equatable, Sendable {
  /// The image that the ROM loads.
  package var first: ESPImage
  /// Where it is, in bytes from the start of the flash.
  package var firstOffset: UInt32
  /// The partition table; `nil` if the first image is the application itself.
  package var table: PartitionTable?
  /// The application behind a bootloader, and its partition.
  package var app: ESPImage?
  package var partition: PartitionTable.Entry?

  /// The application: what runs in the end.
  package var running: ESPImage { app ?? first }

  /// Follows the boot of a chip from the whole content of a flash, at most 16 MB. Throws
  /// `ImageError`: what the ROM or the bootloader would complain about.
  package init(parsing flash: [UInt8], chip: ESPChip) throws(ImageError) {
    let offset = Int(chip.bootloaderOffset)
    firstOffset = chip.bootloaderOffset
    first = try ESPImage(parsing: flash.dropFirst(offset))
    try first.check(for: chip)
    // An application that the ROM loads by itself has a descriptor, or there is no table behind it.
    let rows = flash.dropFirst(Int(PartitionTable.usualOffset)).prefix(PartitionTable.limitBytes)
    guard first.descriptor == nil, !rows.isEmpty, !rows.allSatisfy({ $0 == 0xFF }),
      offset + first.lengthBytes <= Int(PartitionTable.usualOffset)
    else { return }
    let table = try PartitionTable(parsing: rows)
    self.table = table
    let otaData = table.entries.first { $0.kind == .otaData }.map {
      OTAData(parsing: flash.dropFirst(Int(min($0.offset, .max / 2))).prefix(Int($0.lengthBytes)))
    }
    var problem = ImageError.noApp
    for entry in table.apps(otaData: otaData) {
      do throws(ImageError) {
        let image = try ESPImage(parsing: flash.dropFirst(Int(entry.offset)).prefix(Int(entry.lengthBytes)))
        try image.check(for: chip)
        (app, partition) = (image, entry)
        return
      } catch {
        if problem == .noApp { problem = error }
      }
    }
    throw problem
  }
}
