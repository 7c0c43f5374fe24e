/// Files that are given in place of an image, by their first bytes.
package enum FileKind: Equatable, Sendable, CustomStringConvertible {
  case elf, gzip, zip, uf2, html, lfsPointer, partitionCSV, intelHex, directBoot

  private static let beginnings: [(kind: FileKind, bytes: [UInt8])] = [
    (.elf, [0x7F, 0x45, 0x4C, 0x46]), (.gzip, [0x1F, 0x8B]), (.zip, Array("PK\u{3}\u{4}".utf8)),
    (.uf2, Array("UF2\n".utf8)),
    (.html, Array("<!doctype html".utf8)), (.html, Array("<html".utf8)),
    (.lfsPointer, Array("version https://git-lfs".utf8)), (.intelHex, Array(":020000".utf8)),
    (.partitionCSV, Array("# esp-idf partition".utf8)), (.partitionCSV, Array("# name".utf8)),
    (.partitionCSV, Array("nvs,".utf8)),
    // The magic of ROMs from ESP32-C3 on, twice. Source: Espressif, esp32c3-direct-boot-example.
    (.directBoot, [0x1D, 0x04, 0xDB, 0xAE, 0x1D, 0x04, 0xDB, 0xAE]),
  ]

  /// `nil` for bytes of another kind.
  package init?(of bytes: [UInt8]) {
    let start = bytes.prefix(32).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
    func matches(_ beginning: [UInt8]) -> Bool {
      bytes.starts(with: beginning) || start.starts(with: beginning)
    }
    guard let kind = Self.beginnings.first(where: { matches($0.bytes) })?.kind else { return nil }
    self = kind
  }

  package var description: String {
    switch self {
    case .elf: "an ELF file"
    case .gzip: "a gzip file"
    case .zip: "a zip file"
    case .uf2: "a UF2 file"
    case .html: "an HTML page"
    case .lfsPointer: "a pointer of Git LFS"
    case .partitionCSV: "the CSV text of a partition table"
    case .intelHex: "an Intel HEX file"
    case .directBoot: "a direct-boot program, which the ROM runs in place"
    }
  }

  /// How to get an image from it.
  package var remedy: String {
    switch self {
    case .elf: "make an image of it with: esptool elf2image"
    case .gzip, .zip: "unpack it"
    case .uf2: "use the .bin file of the same build"
    case .html: "it is the page of a failed download: download the file again"
    case .lfsPointer: "get the file with: git lfs pull"
    case .partitionCSV: "convert it with ESP-IDF's gen_esp32part.py"
    case .directBoot: "it has no checksum that could be checked; flash it at 0x0"
    case .intelHex: "convert it with: objcopy -I ihex -O binary"
    }
  }
}
