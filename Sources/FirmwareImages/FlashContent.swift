/// What a chip boots from a flash, by the rules of ROM and bootloader. Source: ESP-IDF,
/// `bootloader_utility.c`.
package struct FlashContent: Equatable, Sendable {
  /// The image that the ROM loads.
  package var first: ESPImage
  /// Where it is, in bytes from the start of the flash.
  package var firstOffset: UInt32
  /// The partition table; `nil` if the first image is the application itself.
  package var table: PartitionTable?
  /// Where it is, or should be, in bytes from the start of the flash.
  package var tableOffset = Int(PartitionTable.usualOffset)
  /// The application behind a bootloader, and its partition.
  package var app: ESPImage?
  package var partition: PartitionTable.Entry?
  /// Where a file with this content begins, in bytes from the start of the flash.
  package private(set) var fileOffset: UInt32 = 0
  /// Partitions that the bootloader tried before.
  package var skipped: [Skipped] = []

  /// A partition without an application that can run.
  package struct Skipped: Equatable, Sendable {
    package var partition: PartitionTable.Entry
    package var error: ImageError
  }

  /// What a chip does if the ROM finds an image.
  package enum Boot: Equatable, Sendable {
    case runs(FlashContent)
    /// The bootloader finds no partition table.
    case noTable(PartitionTable.Defect, first: ESPImage)
    /// The bootloader finds no application.
    case noApp([Skipped], first: ESPImage)
  }

  /// The application: what runs in the end.
  package var running: ESPImage { app ?? first }
}

extension FlashContent {
  /// Reads a file with the whole content of a flash. Throws `ImageError`, for the first partition
  /// that the bootloader tries if there is no application.
  package init(parsing flash: [UInt8], chip: ESPChip) throws(ImageError) {
    switch try Self.boot(flash, chip: chip) {
    case .runs(let content): self = content
    case .noTable(let defect, _): throw .badTable(defect)
    // A partition that is erased, or that the file does not reach.
    case .noApp(let skipped, _): throw skipped.first { $0.error != .erased }?.error ?? .noApp
    }
    // A bootloader does not care about partitions that overlap.
    if table != nil { _ = try PartitionTable(parsing: flash.dropFirst(tableOffset)) }
  }

  /// The content of a merged file, or `nil` for anything else. It begins with the bootloader, or at
  /// offset 0 with erased bytes before the bootloader. What the file does not have is erased.
  /// Source: esptool, `merge-bin --target-offset`.
  package static func merged(_ bytes: [UInt8]) throws(ImageError) -> FlashContent? {
    let roots = Set(ESPChip.all.map { Int($0.bootloaderOffset) }).sorted()
    let start = roots.first { root in
      bytes.count > root && bytes[root] == ESPImage.magic && bytes.prefix(root).allSatisfy { $0 == 0xFF }
    }
    guard let start else { return nil }
    let image = try ESPImage(parsing: bytes.dropFirst(start))
    guard let chip = image.chip else { return nil }
    let root = Int(chip.bootloaderOffset)
    guard start == root || image.descriptor == nil else { return nil }
    guard start == 0 || start == root else { throw .misplaced(chip, at: UInt32(start)) }
    let flash = [UInt8](repeating: 0xFF, count: root - start) + bytes
    let table = PartitionTable.offset(in: flash, behind: root + image.lengthBytes)
    guard flash.dropFirst(table).starts(with: [0xAA, 0x50]) else { return nil }
    var content = try FlashContent(parsing: flash, chip: chip)
    content.fileOffset = UInt32(root - start)
    return content
  }

  /// Follows the boot of a chip from the whole content of a flash. Throws `ImageError` if the ROM
  /// finds no image.
  package static func boot(_ flash: [UInt8], chip: ESPChip) throws(ImageError) -> Boot {
    let offset = Int(chip.bootloaderOffset)
    let first = try ESPImage(parsing: flash.dropFirst(offset), for: chip)
    var content = FlashContent(first: first, firstOffset: chip.bootloaderOffset)
    content.tableOffset = PartitionTable.offset(in: flash, behind: offset + first.lengthBytes)
    let table: PartitionTable
    do throws(ImageError) {
      table = try PartitionTable(booting: flash.dropFirst(content.tableOffset))
      try table.check(within: first.flashBytes)
    } catch .badTable(let defect) {
      // An image that is no bootloader, without a partition table: a program for the bare chip.
      switch defect {
      case .missing, .badRow(0, _): if !first.isBootloader { return .runs(content) }
      case .badRow, .badMD5, .outside, .overlapping, .unaligned, .tooLarge, .noApp: break
      }
      return .noTable(defect, first: first)
    }
    content.table = table
    let otaData = table.entries.first { $0.kind == .otaData }.map {
      OTAData(parsing: bytes(of: $0, in: flash))
    }
    for entry in table.apps(otaData: otaData) {
      do throws(ImageError) {
        content.app = try ESPImage(parsing: bytes(of: entry, in: flash), for: chip)
        content.partition = entry
        return .runs(content)
      } catch {
        content.skipped.append(Skipped(partition: entry, error: error))
      }
    }
    return .noApp(content.skipped, first: first)
  }

  private static func bytes(of entry: PartitionTable.Entry, in flash: [UInt8]) -> ArraySlice<UInt8> {
    flash.dropFirst(Int(entry.offset)).prefix(Int(entry.lengthBytes))
  }
}
