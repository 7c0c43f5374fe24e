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

  /// Why nothing runs.
  package enum Failure: Error, Equatable, Sendable {
    /// The ROM finds no image.
    case first(ImageError)
    /// The bootloader finds no partition table.
    case table(PartitionTable.Defect, first: ESPImage)
    /// The bootloader finds no application.
    case apps([Skipped], first: ESPImage)
  }

  /// The application: what runs in the end.
  package var running: ESPImage { app ?? first }

  /// Reads a file with the whole content of a flash. Throws `ImageError`, for the first partition
  /// that the bootloader tries if there is no application.
  package init(parsing flash: [UInt8], chip: ESPChip) throws(ImageError) {
    do {
      try self.init(booting: flash, chip: chip)
    } catch {
      switch error {
      case .first(let error): throw error
      case .table(let defect, _): throw .badTable(defect.description)
      // A partition that is erased, or that the file does not reach.
      case .apps(let skipped, _): throw skipped.first { $0.error != .erased }?.error ?? .noApp
      }
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

  /// Follows the boot of a chip from the whole content of a flash.
  package init(booting flash: [UInt8], chip: ESPChip) throws(Failure) {
    firstOffset = chip.bootloaderOffset
    do {
      first = try ESPImage(parsing: flash.dropFirst(Int(firstOffset)), for: chip)
    } catch {
      throw .first(error)
    }
    tableOffset = PartitionTable.offset(in: flash, behind: Int(firstOffset) + first.lengthBytes)
    let table: PartitionTable
    do {
      table = try PartitionTable(booting: flash.dropFirst(tableOffset))
      try table.check(within: first.flashBytes)
    } catch {
      // An image that is no bootloader, without a partition table: a program for the bare chip.
      switch error {
      case .missing, .badRow(0, _): if !first.isBootloader { return }
      case .badRow, .badMD5, .outside, .overlapping, .unaligned, .tooLarge, .noApp: break
      }
      throw .table(error, first: first)
    }
    self.table = table
    let otaData = table.entries.first { $0.kind == .otaData }.map {
      OTAData(parsing: Self.bytes(of: $0, in: flash))
    }
    for entry in table.apps(otaData: otaData) {
      do throws(ImageError) {
        app = try Self.image(in: entry, of: flash, chip: chip)
        partition = entry
        return
      } catch {
        skipped.append(Skipped(partition: entry, error: error))
      }
    }
    throw .apps(skipped, first: first)
  }

  private static func image(
    in entry: PartitionTable.Entry, of flash: [UInt8], chip: ESPChip
  ) throws(ImageError) -> ESPImage {
    try ESPImage(parsing: bytes(of: entry, in: flash), for: chip)
  }

  private static func bytes(of entry: PartitionTable.Entry, in flash: [UInt8]) -> ArraySlice<UInt8> {
    flash.dropFirst(Int(entry.offset)).prefix(Int(entry.lengthBytes))
  }
}
