/// What a chip boots from a flash, by the rules of ROM and bootloader. Source: ESP-IDF,
/// `bootloader_utility.c`.
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
      case .apps(let skipped, _): throw skipped.first?.error ?? .noApp
      }
    }
    // A bootloader does not care about partitions that overlap.
    if table != nil { _ = try PartitionTable(parsing: Self.rows(of: flash)) }
  }

  /// Follows the boot of a chip from the whole content of a flash, at most 16 MB.
  package init(booting flash: [UInt8], chip: ESPChip) throws(Failure) {
    firstOffset = chip.bootloaderOffset
    do {
      first = try ESPImage(parsing: flash.dropFirst(Int(firstOffset)), for: chip)
    } catch {
      throw .first(error)
    }
    let table: PartitionTable
    do {
      table = try PartitionTable(booting: Self.rows(of: flash))
    } catch {
      // An image that is no bootloader, without a partition table: a program for the bare chip.
      switch error {
      case .missing, .badRow(0, _): if !first.isBootloader { return }
      case .badRow, .badMD5, .outside, .overlapping: break
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
    let end = Int(entry.offset) + Int(entry.lengthBytes)
    guard end <= flash.count else { throw .truncated(needed: end, present: flash.count) }
    return try ESPImage(parsing: bytes(of: entry, in: flash), for: chip)
  }

  private static func bytes(of entry: PartitionTable.Entry, in flash: [UInt8]) -> ArraySlice<UInt8> {
    flash.dropFirst(Int(entry.offset)).prefix(Int(entry.lengthBytes))
  }

  private static func rows(of flash: [UInt8]) -> ArraySlice<UInt8> {
    flash.dropFirst(Int(PartitionTable.usualOffset)).prefix(PartitionTable.limitBytes)
  }
}
