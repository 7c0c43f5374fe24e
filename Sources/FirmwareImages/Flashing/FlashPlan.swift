/// What has to be in a flash, and where: checked files, before anything is written. Source:
/// docs/CLI.md, "Flashing a board".
package struct FlashPlan: Equatable, Sendable {
  /// A file to write.
  package struct File: Equatable, Sendable {
    /// For messages and reports. Sanitise before printing.
    package var name: String
    package var bytes: [UInt8]
    /// Bytes from the start of the flash; `nil`: its content decides.
    package var offset: UInt32?

    package init(name: String, bytes: [UInt8], offset: UInt32? = nil) {
      (self.name, self.bytes, self.offset) = (name, bytes, offset)
    }
  }

  /// A file with its place.
  package struct Part: Equatable, Sendable {
    package var name: String
    package var bytes: [UInt8]
    package var offset: UInt32
    package var content: Content

    /// The end of its last sector, which a write erases.
    package var end: UInt64 { FlashPlan.roundedUp(UInt64(offset) + UInt64(bytes.count)) }
  }

  /// What a file is.
  package enum Content: Equatable, Sendable {
    case image(ESPImage)
    case table(PartitionTable)
    /// Bootloader, partition table and application in one file.
    case whole(FlashContent)
    case data
  }

  /// What a flash erases at once.
  package static let sectorBytes = 0x1000
  package static let partsLimit = 64
  /// The largest flash that is known here.
  package static let flashLimitBytes = 128 << 20

  /// By offset.
  package private(set) var parts: [Part]
  /// The chip that the images are for; `nil` if there is no image.
  package private(set) var chip: ESPChip?
  /// Whether the header of the bootloader gets the size that the flash has.
  package let adaptsToFlash: Bool

  /// Checks files, and finds the offsets that are not given.
  ///
  /// - Parameters:
  ///   - chip: the required chip; `nil`: that of the images.
  ///   - flashBytes: the size of the flash, if it is known from elsewhere than the images.
  ///   - adaptsToFlash: whether the header of the bootloader gets the size that the flash has.
  ///   - isForced: whether files are accepted at places from which a board does not boot.
  package init(
    files: [File], chip: ESPChip? = nil, flashBytes: Int? = nil, adaptsToFlash: Bool = false,
    isForced: Bool = false
  ) throws(FlashPlanError) {
    guard (1...Self.partsLimit).contains(files.count) else { throw .count(files.count) }
    var contents: [Content] = []
    for file in files { contents.append(try Self.content(of: file)) }
    self.chip = chip
    self.adaptsToFlash = adaptsToFlash
    for (file, content) in zip(files, contents) {
      guard let own = content.first?.chip else { continue }
      guard own == self.chip ?? own else {
        throw .image(file.name, .wrongChip(image: own.name, expected: self.chip?.name ?? ""))
      }
      self.chip = own
    }
    let table = contents.lazy.compactMap(\.table).first
    parts = []
    for (file, content) in zip(files, contents) {
      let offset: UInt32
      if let given = file.offset {
        offset = given
      } else {
        offset = try Self.offset(of: content, in: table, name: file.name)
      }
      parts.append(Part(name: file.name, bytes: file.bytes, offset: offset, content: content))
    }
    parts.sort { $0.offset < $1.offset }
    try checkPlaces(flashBytes: flashBytes)
    if !isForced { try checkBoot(table) }
    if let table { try checkPartitions(table) }
  }

  /// The application that names itself, if there is exactly one.
  package var app: AppDescriptor? {
    let apps = parts.compactMap(\.content.app)
    return apps.count == 1 ? apps[0] : nil
  }

  /// Whether an application that names itself is all there is to write.
  package var isAppOnly: Bool {
    guard parts.count == 1, case .image = parts[0].content else { return false }
    return app != nil
  }

  package var lengthBytes: Int { parts.reduce(0) { $0 + $1.bytes.count } }

  static func roundedUp(_ bytes: UInt64) -> UInt64 {
    let sector = UInt64(sectorBytes)
    return (bytes + sector - 1) / sector * sector
  }

  // MARK: Content

  private static func content(of file: File) throws(FlashPlanError) -> Content {
    let bytes = file.bytes
    do throws(ImageError) {
      // No partition holds these.
      for kind in [FileKind.elf, .uf2, .intelHex, .lfsPointer] where FileKind(of: bytes) == kind {
        throw ImageError.isOther(kind)
      }
      if bytes.starts(with: [0xAA, 0x50]) { return .table(try PartitionTable(parsing: bytes)) }
      if let content = try FlashContent.merged(bytes) { return .whole(content) }
      if bytes.first == ESPImage.magic {
        let image = try ESPImage(parsing: bytes[...])
        guard image.chip != nil else { throw ImageError.unknownChip(image.chipID) }
        return .image(image)
      }
    } catch {
      throw .image(file.name, error)
    }
    // Bytes of any kind have a place only if the user gives it.
    guard file.offset != nil else {
      throw .image(file.name, FileKind(of: bytes).map(ImageError.isOther) ?? .badMagic(bytes.first ?? 0xFF))
    }
    return .data
  }

  private static func offset(
    of content: Content, in table: PartitionTable?, name: String
  ) throws(FlashPlanError) -> UInt32 {
    switch content {
    case .whole(let content): return content.fileOffset
    case .table: return PartitionTable.usualOffset
    case .image(let image):
      // A bootloader, or a program for the bare chip.
      if image.descriptor == nil, let chip = image.chip { return chip.bootloaderOffset }
      if let app = table?.apps(otaData: nil).first { return app.offset }
      throw .noOffset(name)
    case .data: throw .noOffset(name)
    }
  }

  // MARK: Places

  private func checkPlaces(flashBytes: Int?) throws(FlashPlanError) {
    let limit = flashBytes ?? declaredFlashBytes ?? Self.flashLimitBytes
    for part in parts {
      guard Int(part.offset) % Self.sectorBytes == 0 else { throw .unaligned(part.name, part.offset) }
      guard UInt64(part.offset) + UInt64(part.bytes.count) <= UInt64(limit) else {
        throw .outside(part.name, end: UInt64(part.offset) + UInt64(part.bytes.count), flashBytes: limit)
      }
    }
    for (first, second) in zip(parts, parts.dropFirst()) where first.end > UInt64(second.offset) {
      throw .overlapping(first.name, second.name, at: second.offset)
    }
  }

  /// The size of the flash from which a board boots with these files, in bytes: what the bootloader
  /// declares, else the end of the last partition; `nil`: any.
  package var neededFlashBytes: Int? {
    let table = parts.lazy.compactMap(\.content.table).first
    return declaredFlashBytes ?? table?.entries.map { Int($0.offset) + Int($0.lengthBytes) }.max()
  }

  /// The size that the first image declares, by which its bootloader judges all partitions.
  var declaredFlashBytes: Int? {
    if adaptsToFlash { return nil }
    for part in parts {
      guard let first = part.content.first else { continue }
      if case .image = part.content, part.offset != first.chip?.bootloaderOffset { continue }
      if let bytes = first.flashBytes { return bytes }
    }
    return nil
  }

  private func checkPartitions(_ table: PartitionTable) throws(FlashPlanError) {
    for part in parts {
      guard let entry = table.entries.first(where: { $0.offset == part.offset }),
        part.bytes.count > Int(entry.lengthBytes)
      else { continue }
      throw .partition(part.name, entry.name, limitBytes: Int(entry.lengthBytes), bytes: part.bytes.count)
    }
  }
}

extension FlashPlan.Content {
  /// The image that a ROM or a bootloader loads from it.
  var first: ESPImage? {
    switch self {
    case .image(let image): image
    case .whole(let content): content.first
    case .table, .data: nil
    }
  }

  /// The application in it that names itself.
  var app: AppDescriptor? {
    switch self {
    case .image(let image): image.descriptor
    case .whole(let content): content.running.descriptor
    case .table, .data: nil
    }
  }

  var table: PartitionTable? {
    switch self {
    case .table(let table): table
    case .whole(let content): content.table
    case .image, .data: nil
    }
  }
}

extension FlashPlan.Part {
  /// The sectors, as offsets in the flash, in which this part differs from what was written there
  /// before. Bytes that one of them does not have are erased ones. Source: esptool, `--diff-with`.
  package func changedSectors(from old: [UInt8]) -> [UInt32] {
    stride(from: 0, to: bytes.count, by: FlashPlan.sectorBytes).compactMap { start in
      let isSame = (start..<start + FlashPlan.sectorBytes).allSatisfy { index in
        (index < bytes.count ? bytes[index] : 0xFF) == (index < old.count ? old[index] : 0xFF)
      }
      return isSame ? nil : offset + UInt32(start)
    }
  }
}

/// Why files cannot be flashed. Names are not sanitised.
package enum FlashPlanError: Error, Equatable, Sendable {
  case count(Int)
  case image(String, ImageError)
  /// An application without a partition table, and without an offset.
  case noOffset(String)
  case unaligned(String, UInt32)
  case outside(String, end: UInt64, flashBytes: Int)
  case overlapping(String, String, at: UInt32)
  case partition(String, String, limitBytes: Int, bytes: Int)
  /// What it is, and where that belongs; a board does not boot with it here.
  case misplaced(String, what: String, at: UInt32, right: UInt32?)
}
