import Digests

/// How a flash is divided. Source: ESP-IDF, `partition_table.h`.
package struct PartitionTable: Equatable, Sendable {
  /// One row.
  package struct Entry: Equatable, Sendable {
    package var name: String
    package var type: UInt8
    package var subtype: UInt8
    /// Bytes from the start of the flash.
    package var offset: UInt32
    package var lengthBytes: UInt32
    package var isEncrypted: Bool

    package var kind: Kind { Kind(type: type, subtype: subtype) }
  }

  /// What a partition is for, as far as booting is concerned.
  package enum Kind: Equatable, Sendable {
    case factory
    case ota(Int)
    case otaData
    case other

    init(type: UInt8, subtype: UInt8) {
      switch (type, subtype) {
      case (0, 0): self = .factory
      case (0, 0x10...0x1F): self = .ota(Int(subtype - 0x10))
      case (1, 0): self = .otaData
      case _: self = .other
      }
    }
  }

  /// Where ESP-IDF puts it, in bytes from the start of the flash.
  package static let usualOffset: UInt32 = 0x8000
  package static let limitBytes = 0xC00
  private static let searchLimit = 0x2_0000
  private static let rowBytes = 32

  /// Why rows are no table.
  package enum Defect: Equatable, Sendable, CustomStringConvertible {
    case missing
    /// A row that begins with these two bytes, the first in the low bits.
    case badRow(Int, magic: UInt16)
    case badMD5
    case outside(String)
    case overlapping(String, String)
    case unaligned(String, UInt32)
    case tooLarge(index: Int, Entry, flashBytes: Int)
    case noApp

    package var description: String {
      switch self {
      case .missing: "there is none"
      case .badRow(let index, let magic): "row \(index) begins with 0x\(hex(UInt32(magic & 0xFF), digits: 2))"
      case .badMD5: "its MD5 is wrong"
      case .outside(let name): "\(name) ends behind the address space"
      case .overlapping(let first, let second): "\(first) and \(second) overlap"
      case .unaligned(let name, let offset):
        "\(name) holds an application and begins at 0x\(hex(offset, digits: 0)), no multiple of 0x10000"
      case .tooLarge(_, let entry, let bytes):
        "\(entry.name) ends behind the \(bytes >> 20) MB that the bootloader is built for"
      case .noApp: "it has no partition for an application"
      }
    }
  }

  package var entries: [Entry] = []
  /// Whether it has an MD5. A wrong one is a defect.
  package var hasMD5 = false

  /// Where the table of a flash is: the first sector behind the bootloader that begins with a row,
  /// as far as ESP-IDF allows another place than the usual one; else the usual place. ESP-IDF
  /// compiles the place into the bootloader, which does not say where.
  static func offset(in flash: [UInt8], behind bootloaderEnd: Int) -> Int {
    let candidates = stride(from: 0x1000, to: min(searchLimit, flash.count - 1), by: 0x1000)
    let found = candidates.first { $0 >= bootloaderEnd && flash[$0] == 0xAA && flash[$0 + 1] == 0x50 }
    return found ?? Int(usualOffset)
  }

  /// Reads the table of a file at the start of `bytes`, and checks that its partitions do not
  /// overlap. Throws `ImageError`.
  package init(parsing bytes: some Collection<UInt8>) throws(ImageError) {
    try self.init(booting: bytes)
    try check()
  }

  /// Reads the table as a bootloader does, which checks less.
  package init(booting bytes: some Collection<UInt8>) throws(ImageError) {
    let bytes = Array(bytes.prefix(Self.limitBytes))
    var position = 0
    rows: while position + Self.rowBytes <= bytes.count {
      let row = Array(bytes[position..<position + Self.rowBytes])
      let magic = UInt16(row[0]) | UInt16(row[1]) << 8
      switch magic {
      case 0x50AA: entries.append(Entry(row))
      case 0xEBEB:
        guard MD5.digest(of: bytes, in: 0..<position) == Array(row[16...]) else { throw .badTable(.badMD5) }
        hasMD5 = true
        break rows
      case 0xFFFF where position > 0: break rows
      case 0xFFFF: throw .badTable(.missing)
      case _: throw .badTable(.badRow(entries.count, magic: magic))
      }
      position += Self.rowBytes
    }
    if entries.isEmpty { throw .badTable(.missing) }
  }

  /// Throws if a partition ends behind this size, in bytes: a bootloader then starts nothing.
  /// Source: ESP-IDF, `flash_partitions.c`.
  package func check(within flashBytes: Int?) throws(ImageError) {
    guard let flashBytes else { return }
    for (index, entry) in entries.enumerated()
    where UInt64(entry.offset) + UInt64(entry.lengthBytes) > UInt64(flashBytes) {
      throw .badTable(.tooLarge(index: index, entry, flashBytes: flashBytes))
    }
  }

  /// Throws if no partition is for an application.
  package func checkApps() throws(ImageError) {
    guard entries.contains(where: { $0.type == 0 }) else { throw .badTable(.noApp) }
  }

  private func check() throws(ImageError) {
    for entry in entries where UInt64(entry.offset) + UInt64(entry.lengthBytes) > 1 << 32 {
      throw .badTable(.outside(entry.name))
    }
    // The MMU maps pages of 64 KB.
    for entry in entries where entry.type == 0 && entry.offset % 0x1_0000 != 0 {
      throw .badTable(.unaligned(entry.name, entry.offset))
    }
    let sorted = entries.sorted { $0.offset < $1.offset }
    for (first, second) in zip(sorted, sorted.dropFirst())
    where first.offset + (first.lengthBytes - min(1, first.lengthBytes)) >= second.offset {
      throw .badTable(.overlapping(first.name, second.name))
    }
  }

  /// Partitions that hold an application, in the order in which a bootloader tries them: the OTA
  /// slot that `otaData` names, those before it down to the factory's, then those behind it.
  /// Source: ESP-IDF, `bootloader_utility.c`.
  package func apps(otaData: OTAData?) -> [Entry] {
    let slots = entries.filter { if case .ota = $0.kind { true } else { false } }
    let factory = entries.filter { $0.kind == .factory }.prefix(1)
    guard let slot = otaData?.slot(of: slots.count) else { return factory + slots }
    return slots[...slot].reversed() + factory + slots[(slot + 1)...]
  }
}

extension PartitionTable.Entry {
  /// A row of `PartitionTable.rowBytes` bytes.
  fileprivate init(_ row: [UInt8]) {
    self.init(
      name: row.text(at: 12, limit: 16), type: row[2], subtype: row[3], offset: row.number(at: 4) ?? 0,
      lengthBytes: row.number(at: 8) ?? 0, isEncrypted: row[28] & 1 == 1)
  }
}
