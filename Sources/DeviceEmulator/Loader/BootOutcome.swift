import FirmwareImages
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

// The texts of ROM and boot loader. Source: ESP-IDF, `bootloader_utility.c`.
extension BootOutcome {
  /// The outcome for a chip and its flash.
  init(chip: ChipModel, flash: NORFlash) {
    func tried(_ skipped: [FlashContent.Skipped]) -> String {
      skipped.map { Self.text(of: $0, in: flash, chip: chip) }.joined()
    }
    do throws(ImageError) {
      switch try FlashContent.boot(flash.bytes, chip: chip.image) {
      case .runs(let content):
        let text = Self.loadText(of: content.first) + tried(content.skipped)
        if content.table != nil, let needed = content.first.flashBytes, needed > flash.sizeBytes {
          self = .failure(text: text + Self.probeText(needed, flash.sizeBytes), .panic)
          return
        }
        self = .application(
          BootedApplication(
            offset: Int(content.partition?.offset ?? content.firstOffset),
            descriptor: content.running.descriptor, loadText: text, hasBootLoader: content.table != nil))
      case .noTable(let defect, let first):
        self = .failure(text: Self.loadText(of: first) + Self.text(of: defect, in: flash), .software)
      case .noApp(let skipped, let first):
        self = .failure(
          text: Self.loadText(of: first) + tried(skipped)
            + "E (63) boot: No bootable app partitions in the partition table\r\n", .software)
      }
    } catch {
      let offset = Int(chip.image.bootloaderOffset)
      self = .failure(text: Self.romText(for: error, at: offset, in: flash), .otherWatchdog)
    }
  }

  /// The application; nil if none runs.
  var application: BootedApplication? {
    switch self {
    case .application(let booted): booted
    case .failure: nil
    }
  }

  /// What the ROM prints while it loads an image.
  private static func loadText(of image: ESPImage) -> String {
    let segments = image.segments.map { "load:0x\(hexText($0.address)),len:0x\(hexText($0.lengthBytes))\r\n" }
    return "SPIWP:0xee\r\nmode:DIO, clock div:1\r\n" + segments.joined()
      + "entry 0x\(hexText(image.entry))\r\n"
  }

  /// The number of times that the ROM reads the header before its watchdog resets the chip.
  private static let romAttempts = 8

  private static func romText(for error: ImageError, at offset: Int, in flash: NORFlash) -> String {
    switch error {
    case .erased, .isOther, .badMagic, .badSegmentCount, .misplaced, .badTable, .noApp:
      String(
        repeating: "invalid header: 0x\(hexText(flash.word(at: offset), digits: 8))\r\n", count: romAttempts)
    case .badChecksum(let stored, let computed): "csum err:0x\(hexText(computed))!=0x\(hexText(stored))\r\n"
    case .wrongChip, .unknownChip: "invalid chip id: \(flash.chipID(at: offset))\r\n"
    case .badSegmentLength(let index, _), .truncated(_, _, let index): "invalid segment \(index)\r\n"
    case .badHash: "hash check failed\r\n"
    }
  }

  private static func text(of defect: PartitionTable.Defect, in flash: NORFlash) -> String {
    let cause =
      switch defect {
      case .missing:
        badRowText(0, UInt16(truncatingIfNeeded: flash.word(at: Int(PartitionTable.usualOffset))))
      case .badRow(let index, let magic): badRowText(index, magic)
      case .tooLarge(let index, let entry, let bytes):
        "E (45) flash_parts: partition \(index) invalid - offset 0x\(hexText(entry.offset)) size "
          + "0x\(hexText(entry.lengthBytes)) exceeds flash chip size 0x\(hexText(bytes))\r\n"
      case .badMD5, .outside, .overlapping, .unaligned, .noApp:
        "E (45) flash_parts: Incorrect MD5 checksum\r\n"
      }
    return cause + "E (46) boot: Failed to verify partition table\r\n"
      + "E (46) boot: load partition table error!\r\n"
  }

  /// What an application of ESP-IDF prints if its bootloader is built for a larger flash. Source:
  /// ESP-IDF, `esp_flash_spi_init.c`.
  private static func probeText(_ needed: Int, _ present: Int) -> String {
    "E (120) spi_flash: Detected size(\(present >> 10)k) smaller than the size in the binary image "
      + "header(\(needed >> 10)k). Probe failed.\r\n\r\n"
      + "assert failed: do_core_init startup.c:328 (flash_ret == ESP_OK)\r\n\r\nRebooting...\r\n"
  }

  private static func badRowText(_ index: Int, _ magic: UInt16) -> String {
    "E (45) flash_parts: partition \(index) invalid magic number 0x\(hexText(magic))\r\n"
  }

  private static func text(of skipped: FlashContent.Skipped, in flash: NORFlash, chip: ChipModel) -> String {
    let offset = Int(skipped.partition.offset)
    let slot =
      switch skipped.partition.kind {
      case .ota(let slot): "OTA app partition slot \(slot)"
      case .factory, .otaData, .other: "Factory app partition"
      }
    let cause =
      switch skipped.error {
      case .erased, .isOther, .badMagic, .badSegmentCount, .misplaced, .badTable, .noApp:
        "esp_image: image at 0x\(hexText(offset)) has invalid magic byte (nothing flashed here?)"
      case .wrongChip, .unknownChip:
        "boot_comm: mismatch chip ID, expected \(chip.image.id), found \(flash.chipID(at: offset))"
      case .badSegmentLength(let index, _), .truncated(_, _, let index):
        "esp_image: Segment \(index) is not in its partition"
      case .badChecksum(let stored, let computed):
        "esp_image: Checksum failed. Calculated 0x\(hexText(computed)) read 0x\(hexText(stored))"
      case .badHash: "esp_image: Image hash failed - image is corrupt"
      }
    return "E (60) \(cause)\r\nE (62) boot: \(slot) is not bootable\r\n"
  }
}

extension NORFlash {
  /// The first word of an image or a table; all ones beyond the end.
  fileprivate func word(at offset: Int) -> UInt32 { read(at: offset, count: 4)?.word(at: 0) ?? .max }

  /// The chip id in the header of an image.
  fileprivate func chipID(at offset: Int) -> UInt32 { word(at: offset + 12) & 0xFFFF }
}

private func hexText(_ value: some BinaryInteger, digits: Int = 1) -> String {
  let text = String(value, radix: 16)
  return String(repeating: "0", count: max(0, digits - text.count)) + text
}
