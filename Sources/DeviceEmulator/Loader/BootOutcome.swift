import NotibotProtocol

/// What a chip does after a reset with what lies in its flash.
enum BootOutcome: Equatable, Sendable {
  /// An application runs.
  case application(BootedApplication)
  /// The chip prints this text and resets again, with this cause.
  case failure(text: String, ResetReason)
}

/// An application that a chip has started. Its identity is what the emulator shows; the code itself
/// is not executed.
struct BootedApplication: Equatable, Sendable {
  /// Where its image starts.
  var offset: Int
  /// What it says about itself; nil if it says nothing.
  var descriptor: AppDescriptor?
  /// What the ROM prints while it loads the boot loader.
  var loadText: String
  /// Whether a boot loader has started it, and not the ROM.
  var hasBootLoader: Bool
}

extension BootOutcome {
  /// The outcome for a chip and its flash. Source: ESP-IDF, `bootloader_utility.c`.
  init(chip: ChipModel, flash: NORFlash) {
    let loader: BootImage
    do throws(BootImage.Defect) {
      loader = try BootImage(at: chip.bootOffset, limit: flash.sizeBytes, in: flash, chip: chip)
    } catch {
      self = .failure(text: Self.romText(for: error), .otherWatchdog)
      return
    }
    var loadText = "SPIWP:0xee\r\nmode:DIO, clock div:1\r\n"
    loadText += loader.segments.map { "load:0x\(hexText($0.address)),len:0x\(hexText($0.data.count))\r\n" }
      .joined()
    loadText += "entry 0x\(hexText(loader.entry))\r\n"
    do throws(PartitionTable.Defect) {
      let table = try PartitionTable(in: flash)
      self = .booting(table, chip: chip, flash: flash, loadText: loadText)
    } catch {
      // An image that is no boot loader, without a partition table: a program for the bare chip.
      if case .badMagic(index: 0, _) = error, !loader.isBootLoader {
        self = .application(
          BootedApplication(
            offset: chip.bootOffset, descriptor: loader.descriptor, loadText: loadText, hasBootLoader: false))
        return
      }
      let cause =
        switch error {
        case .badMagic(let index, let magic):
          "E (45) flash_parts: partition \(index) invalid magic number 0x\(hexText(magic))\r\n"
        case .badDigest: "E (45) flash_parts: Incorrect MD5 checksum\r\n"
        }
      self = .failure(
        text: loadText + cause + "E (46) boot: Failed to verify partition table\r\n"
          + "E (46) boot: load partition table error!\r\n", .software)
    }
  }

  private static func booting(
    _ table: PartitionTable, chip: ChipModel, flash: NORFlash, loadText: String
  ) -> BootOutcome {
    var text = loadText
    for entry in table.applications(in: flash) {
      do throws(BootImage.Defect) {
        let image = try BootImage(
          at: entry.range.lowerBound, limit: entry.range.upperBound, in: flash, chip: chip)
        return .application(
          BootedApplication(
            offset: entry.range.lowerBound, descriptor: image.descriptor, loadText: text, hasBootLoader: true)
        )
      } catch {
        let slot =
          entry.subtype == 0 ? "Factory app partition" : "OTA app partition slot \(entry.subtype & 0xF)"
        text += loaderText(for: error, at: entry.range.lowerBound, chip: chip)
        text += "E (62) boot: \(slot) is not bootable\r\n"
      }
    }
    return .failure(
      text: text + "E (63) boot: No bootable app partitions in the partition table\r\n", .software)
  }

  /// The application; nil if none runs.
  var application: BootedApplication? {
    switch self {
    case .application(let booted): booted
    case .failure: nil
    }
  }

  /// The number of times that the ROM reads the header before its watchdog resets the chip.
  private static let romAttempts = 8

  private static func romText(for defect: BootImage.Defect) -> String {
    switch defect {
    case .badMagic(let word):
      String(repeating: "invalid header: 0x\(hexText(word, digits: 8))\r\n", count: romAttempts)
    case .badChecksum(let calculated, let read): "csum err:0x\(hexText(calculated))!=0x\(hexText(read))\r\n"
    case .wrongChip(let id): "invalid chip id: \(id)\r\n"
    case .badSegment(let index): "invalid segment \(index)\r\n"
    case .badHash: "hash check failed\r\n"
    }
  }

  private static func loaderText(for defect: BootImage.Defect, at offset: Int, chip: ChipModel) -> String {
    switch defect {
    case .badMagic:
      "E (60) esp_image: image at 0x\(hexText(offset)) has invalid magic byte (nothing flashed here?)\r\n"
    case .wrongChip(let id):
      "E (60) boot_comm: mismatch chip ID, expected \(chip.imageID), found \(id)\r\n"
    case .badSegment(let index): "E (60) esp_image: Segment \(index) is not in its partition\r\n"
    case .badChecksum(let calculated, let read):
      "E (60) esp_image: Checksum failed. Calculated 0x\(hexText(calculated)) read 0x\(hexText(read))\r\n"
    case .badHash: "E (60) esp_image: Image hash failed - image is corrupt\r\n"
    }
  }
}

private func hexText(_ value: some BinaryInteger, digits: Int = 1) -> String {
  let text = String(value, radix: 16)
  return String(repeating: "0", count: max(0, digits - text.count)) + text
}
