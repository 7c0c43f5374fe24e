import Digests
import FirmwareImages
import SerialLink

/// What `image info` prints.
struct ImageDescription {
  private enum Content {
    case image(ESPImage)
    case table(PartitionTable)
    case flash(FlashContent)
  }

  private let content: Content
  /// Of the whole file, as `sha256sum` prints it.
  private let fileHash: String

  /// Throws `ImageError` for anything else than an image, a table or a flash.
  init(of bytes: [UInt8], chip: ESPChip?) throws(ImageError) {
    fileHash = Self.digits(SHA256.digest(of: bytes))
    if bytes.starts(with: [0xAA, 0x50]) {
      let table = try PartitionTable(parsing: bytes)
      try table.checkApps()
      content = .table(table)
      return
    }
    if let flash = try FlashContent.merged(bytes) {
      content = .flash(flash)
      if let chip { try flash.first.check(for: chip) }
    } else {
      let image = try ESPImage(parsing: bytes.drop { $0 == 0xFF })
      content = .image(image)
      if let chip { try image.check(for: chip) }
    }
  }

  var text: String {
    let file = Table.text([["file SHA-256", fileHash]])
    switch content {
    case .image(let image): return Self.rows(of: image) + "\n\n" + file
    case .table(let table): return Self.rows(of: table) + "\n\n" + file
    case .flash(let flash):
      return """
        Bootloader at 0x\(hex(flash.firstOffset, digits: 0))
        \(Self.rows(of: flash.first))

        \(flash.table.map(Self.rows) ?? "no partition table")

        Application in \(flash.partition?.name.printable ?? "no partition")
        \(Self.rows(of: flash.running))

        \(file)
        """
    }
  }

  private static func rows(of image: ESPImage) -> String {
    var rows = [
      ["chip", image.chip?.name ?? "unknown (\(image.chipID))"], ["bytes", "\(image.lengthBytes)"],
      ["entry", "0x" + hex(image.entry, digits: 8)],
      ["flash", "\(image.flashBytes.map { "\($0 >> 20) MB" } ?? "unknown size"), \(image.flashModeName)"],
      ["chip revisions", image.revisionsText],
    ]
    if let descriptor = image.descriptor {
      rows += [
        ["project", descriptor.project], ["version", descriptor.version],
        ["compiled", "\(descriptor.date) \(descriptor.time)"], ["ESP-IDF", descriptor.idfVersion],
      ].map { $0.map(\.printable) }
    }
    for (index, segment) in image.segments.enumerated() {
      rows.append(["segment \(index)", "0x\(hex(segment.address, digits: 8)), \(segment.lengthBytes) bytes"])
    }
    rows.append(["checksum", "valid"])
    rows.append(["appended SHA-256", hash(of: image).map { "\($0), valid" } ?? "none"])
    return Table.text(rows)
  }

  private static func rows(of table: PartitionTable) -> String {
    let head = ["partition", "type", "offset", "bytes"]
    return Table.text(
      [head]
        + table.entries.map {
          [
            $0.name.printable, "\($0.type)/\($0.subtype)", "0x" + hex($0.offset, digits: 0),
            "\($0.lengthBytes)",
          ]
        })
  }

  private static func hash(of image: ESPImage) -> String? {
    guard case .valid(let digest) = image.hash else { return nil }
    return digits(digest)
  }

  private static func digits(_ digest: some Sequence<UInt8>) -> String {
    digest.map { hex(UInt32($0), digits: 2) }.joined().lowercased()
  }

  /// One line of JSON.
  func document(file: String) -> String {
    var record = JSONRecord()
    record.add("schema", "notibot.image")
    record.add("version", 1)
    record.add("file", file)
    record.add("fileSHA256", fileHash)
    switch content {
    case .image(let image): record.add("image", json: Self.json(image))
    case .table(let table): record.add("partitions", json: Self.json(table))
    case .flash(let flash):
      record.add("bootloader", json: Self.json(flash.first))
      if let table = flash.table { record.add("partitions", json: Self.json(table)) }
      record.add("partition", flash.partition?.name)
      record.add("image", json: Self.json(flash.running))
    }
    return record.document()
  }

  private static func json(_ image: ESPImage) -> String {
    var record = JSONRecord()
    record.add("chip", image.chip?.name)
    record.add("bytes", image.lengthBytes)
    record.add("entry", image.entry)
    if let bytes = image.flashBytes { record.add("flashBytes", bytes) }
    record.add("flashMode", image.flashModeName)
    record.add("minimumRevision", image.minimumRevision)
    record.add("maximumRevision", image.maximumRevision)
    record.add("sha256", hash(of: image))
    record.add("project", image.descriptor?.project)
    record.add("projectVersion", image.descriptor?.version)
    record.add("idfVersion", image.descriptor?.idfVersion)
    let segments = image.segments.map { segment in
      var record = JSONRecord()
      record.add("address", segment.address)
      record.add("bytes", segment.lengthBytes)
      return record.document()
    }
    record.add("segments", json: "[" + segments.joined(separator: ",") + "]")
    return record.document()
  }

  private static func json(_ table: PartitionTable) -> String {
    let rows = table.entries.map { entry in
      var record = JSONRecord()
      record.add("name", entry.name)
      record.add("type", entry.type)
      record.add("subtype", entry.subtype)
      record.add("offset", entry.offset)
      record.add("bytes", entry.lengthBytes)
      return record.document()
    }
    return "[" + rows.joined(separator: ",") + "]"
  }
}
