/// What may lie where, so that a chip boots from it.
extension FlashPlan {
  /// Where ESP-IDF puts an application without another table.
  static let usualAppOffset: UInt32 = 0x1_0000

  /// Throws if the ROM or the bootloader would not find a part at its place.
  func checkBoot(_ table: PartitionTable?) throws(FlashPlanError) {
    do throws(PartitionTable.Defect) {
      try table?.check(within: declaredFlashBytes)
    } catch {
      let part = parts.first { $0.content.table != nil }
      throw .image(part?.name ?? "", .badTable(error.description))
    }
    for part in parts {
      if let (what, right) = fault(of: part, table) {
        throw .misplaced(part.name, what: what, at: part.offset, right: right)
      }
    }
  }

  /// What a part is, if a board does not boot with it at its place, and the place that is right.
  private func fault(of part: Part, _ table: PartitionTable?) -> (what: String, right: UInt32?)? {
    let roots = chip.map { [$0.bootloaderOffset] } ?? ESPChip.all.map(\.bootloaderOffset)
    let isAtTable = part.offset == PartitionTable.usualOffset
    switch part.content {
    case .whole: return nil
    case .table:
      // Another place than the usual one can be configured, behind the bootloader.
      guard part.offset < PartitionTable.usualOffset else { return nil }
      return ("a partition table", PartitionTable.usualOffset)
    case .image(let image) where image.descriptor == nil:
      guard let own = image.chip, part.offset != own.bootloaderOffset else { return nil }
      let isBootloader = image.isBootloader || ESPChip.all.contains { $0.bootloaderOffset == part.offset }
      guard isBootloader || isAtTable else { return nil }
      return ("a bootloader of \(own.name)", own.bootloaderOffset)
    case .image:
      if let table {
        guard !table.entries.contains(where: { $0.offset == part.offset }) else { return nil }
        return ("an application", table.apps(otaData: nil).first?.offset)
      }
      // A program for the bare chip can have a description.
      guard !roots.contains(part.offset), part.offset < 0x9000 else { return nil }
      return ("an application", Self.usualAppOffset)
    case .data:
      guard roots.contains(part.offset) || isAtTable else { return nil }
      return (FileKind(of: part.bytes)?.description ?? "neither an image nor a partition table", nil)
    }
  }
}

/// Files that are given in place of an image, by their first bytes.
package enum FileKind: Equatable, Sendable, CustomStringConvertible {
  case gzip, zip, uf2, html, lfsPointer, partitionCSV, intelHex

  private static let beginnings: [(kind: FileKind, bytes: [UInt8])] = [
    (.gzip, [0x1F, 0x8B]), (.zip, Array("PK\u{3}\u{4}".utf8)), (.uf2, Array("UF2\n".utf8)),
    (.html, Array("<!doctype html".utf8)), (.html, Array("<html".utf8)),
    (.lfsPointer, Array("version https://git-lfs".utf8)), (.intelHex, Array(":020000".utf8)),
    (.partitionCSV, Array("# esp-idf partition".utf8)), (.partitionCSV, Array("# name".utf8)),
    (.partitionCSV, Array("nvs,".utf8)),
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
    case .gzip: "a gzip file"
    case .zip: "a zip file"
    case .uf2: "a UF2 file"
    case .html: "an HTML page"
    case .lfsPointer: "a pointer of Git LFS"
    case .partitionCSV: "the CSV text of a partition table"
    case .intelHex: "an Intel HEX file"
    }
  }

  /// How to get an image from it.
  package var remedy: String {
    switch self {
    case .gzip, .zip: "unpack it"
    case .uf2: "use the .bin file of the same build"
    case .html: "it is the page of a failed download: download the file again"
    case .lfsPointer: "get the file with: git lfs pull"
    case .partitionCSV: "convert it with ESP-IDF's gen_esp32part.py"
    case .intelHex: "convert it with: objcopy -I ihex -O binary"
    }
  }
}
