/// What may lie where, so that a chip boots from it.
extension FlashPlan {
  /// Where ESP-IDF puts an application without another table.
  static let usualAppOffset: UInt32 = 0x1_0000

  /// Throws if the ROM or the bootloader would not find a part at its place.
  func checkBoot(_ table: PartitionTable?) throws(FlashPlanError) {
    if let table {
      let name = parts.first { $0.content.table != nil }?.name ?? ""
      do throws(ImageError) {
        try table.check(within: declaredFlashBytes)
        try table.checkApps()
      } catch {
        throw .image(name, error)
      }
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
    case .whole(let content):
      return part.offset == content.fileOffset ? nil : ("a merged file", content.fileOffset)
    case .table:
      // Another place than the usual one can be configured, behind the bootloader.
      guard part.offset < PartitionTable.usualOffset else { return nil }
      return ("a partition table", PartitionTable.usualOffset)
    case .image(let image) where image.descriptor == nil:
      guard let own = image.chip, part.offset != own.bootloaderOffset else { return nil }
      let isBootloader = image.isBootloader || ESPChip.all.contains { $0.bootloaderOffset == part.offset }
      guard isBootloader || isAtTable else { return nil }
      return ("a bootloader of \(own.name)", own.bootloaderOffset)
    case .image(let image):
      if let table {
        guard !table.entries.contains(where: { $0.offset == part.offset }) else { return nil }
        return ("an application", table.apps(otaData: nil).first?.offset)
      }
      // A program for the bare chip can have a description, but the ROM maps no flash for it.
      let isAtRoot = roots.contains(part.offset) && !image.isMapped
      guard !isAtRoot, part.offset < 0x9000 else { return nil }
      return ("an application", Self.usualAppOffset)
    case .data:
      let isApp = table?.apps(otaData: nil).contains { $0.offset == part.offset } ?? false
      let isErased = part.bytes.allSatisfy { $0 == 0xFF }
      guard roots.contains(part.offset) || isAtTable || isApp && !isErased else { return nil }
      let kind = FileKind(of: part.bytes)
      if kind == .directBoot { return part.offset == 0 ? nil : ("a direct-boot program", 0) }
      return (kind?.description ?? "neither an image nor a partition table", nil)
    }
  }
}
