import FirmwareImages

/// The partitions in a flash. Source: ESP-IDF, `esp_flash_partitions.h`.
struct PartitionTable: Equatable, Sendable {
  enum Defect: Error, Equatable, Sendable {
    /// The first half word of an entry.
    case badMagic(index: Int, UInt16)
    case badDigest
  }

  struct Entry: Equatable, Sendable {
    var type: UInt8
    var subtype: UInt8
    var range: Range<Int>
  }

  static let offset = 0x8000
  private static let entryBytes = 32
  private static let entriesLimit = 95

  let entries: [Entry]

  init(in flash: NORFlash) throws(Defect) {
    var entries: [Entry] = []
    for index in 0..<Self.entriesLimit {
      let start = Self.offset + index * Self.entryBytes
      guard let row = flash.read(at: start, count: Self.entryBytes) else { break }
      let magic = UInt16(row[0]) | UInt16(row[1]) << 8
      if magic == 0xEBEB {
        guard Array(row[16...]) == MD5.digest(of: flash.bytes, in: Self.offset..<start) else {
          throw .badDigest
        }
        break
      }
      if magic == 0xFFFF, index > 0 { break }
      guard magic == 0x50AA, let offset = row.word(at: 4), let size = row.word(at: 8) else {
        throw .badMagic(index: index, magic)
      }
      let range = Int(offset)..<Int(offset) + Int(size)
      entries.append(Entry(type: row[2], subtype: row[3], range: range))
    }
    self.entries = entries
  }

  /// The factory application.
  var factory: Entry? { entries.first { $0.type == 0 && $0.subtype == 0 } }

  /// The slots for updates, in their order.
  var slots: [Entry] { entries.filter { $0.type == 0 && (0x10...0x1F).contains($0.subtype) } }

  /// The applications in the order in which a boot loader tries them: the slot that the data of the
  /// updates selects, those before it down to the factory's, then those behind it.
  func applications(in flash: NORFlash) -> [Entry] {
    let slots = slots
    let earlier = factory.map { [$0] } ?? []
    guard let selected = selectedSlot(in: flash) else { return earlier + slots }
    return slots[...selected].reversed() + earlier + slots[(selected + 1)...]
  }

  /// The slot with the highest valid sequence number; nil if none is selected.
  private func selectedSlot(in flash: NORFlash) -> Int? {
    guard !slots.isEmpty, let data = entries.first(where: { $0.type == 1 && $0.subtype == 0 }) else {
      return nil
    }
    let sequences = (0..<2).compactMap { copy -> UInt32? in
      let start = data.range.lowerBound + copy * NORFlash.sectorBytes
      guard let record = flash.read(at: start, count: 32), let sequence = record.word(at: 0),
        let state = record.word(at: 24), let checksum = record.word(at: 28), sequence > 0, sequence < .max,
        checksum == Self.checksum(of: Array(record[..<4]))
      else { return nil }
      // Invalid or aborted.
      return state == 3 || state == 4 ? nil : sequence
    }
    return sequences.max().map { Int(($0 - 1) % UInt32(slots.count)) }
  }

  /// The CRC-32 of a sequence number, which begins with zeros, not with ones.
  private static func checksum(of bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32(0)) { crc, byte in
      (0..<8).reduce(crc ^ UInt32(byte)) { value, _ in value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1
      }
    }
  }
}
