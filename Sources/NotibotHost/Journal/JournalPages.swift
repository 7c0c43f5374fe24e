import Foundation
import GRDB

/// The rows in the pages of a database, read without SQLite, since SQLite gives up a table at the
/// first corrupt page.
///
/// Each leaf of a table is read on its own, regardless of the tree above it. Free pages can contain
/// rows of former notifications, and are left out. Source: sqlite.org/fileformat2.html, sections
/// 1.5, 1.6 and 2.1.
struct JournalPages {
  /// A row, or its remains.
  struct Cell {
    /// As stored; it can be wrong if `columns` is nil.
    var rowID: Int64
    /// Without the integer primary key, which is stored as `rowID` only. nil when they cannot be
    /// read.
    var columns: [DatabaseValue]?
    /// Whether its page is marked as a leaf of a table.
    var isInLeaf: Bool
  }

  private static let leaf: UInt8 = 0x0D
  private let bytes: [UInt8]
  private let pageBytes: Int
  private let pagesCount: Int
  /// nil when the list of free pages cannot be read.
  let freePages: Set<Int>?

  init(_ image: JournalImage) {
    bytes = image.bytes
    pageBytes = image.pageBytes
    pagesCount = image.bytes.count / image.pageBytes
    freePages = Self.freePages(in: image.bytes, pageBytes: image.pageBytes)
  }

  /// Everything that looks like a row of a table, except those of the schema.
  func cells() -> [Cell] {
    guard pagesCount > 1 else { return [] }
    return (2...pagesCount).flatMap { freePages?.contains($0) == true ? [] : cells(ofPage: $0) }
  }

  private func cells(ofPage page: Int) -> [Cell] {
    let start = (page - 1) * pageBytes
    let isLeaf = bytes[start] == Self.leaf
    guard let count = bytes.bigEndian(at: start + 3, as: UInt16.self) else { return [] }
    // No cell has less than 6 bytes with its pointer.
    return (0..<min(Int(count), pageBytes / 6)).compactMap { index in
      guard let pointer = bytes.bigEndian(at: start + 8 + 2 * index, as: UInt16.self),
        (8..<pageBytes).contains(Int(pointer))
      else { return nil }
      return cell(at: start + Int(pointer), pageEnd: start + pageBytes, isInLeaf: isLeaf)
    }
  }

  private func cell(at offset: Int, pageEnd: Int, isInLeaf: Bool) -> Cell? {
    guard let (length, afterLength) = varint(at: offset, in: bytes, end: pageEnd),
      let (rowID, content) = varint(at: afterLength, in: bytes, end: pageEnd)
    else { return nil }
    let columns = payload(at: content, pageEnd: pageEnd, length: length).flatMap(columns(of:))
    return Cell(rowID: rowID, columns: columns, isInLeaf: isInLeaf)
  }

  // MARK: Payloads

  /// The bytes of a row: those in its page, then those in overflow pages.
  private func payload(at offset: Int, pageEnd: Int, length: Int64) -> [UInt8]? {
    guard length > 0, length <= bytes.count else { return nil }
    let length = Int(length)
    let local = localBytes(ofPayload: length)
    guard offset + local <= pageEnd else { return nil }
    var payload = Array(bytes[offset..<offset + local])
    guard local < length else { return payload }
    guard offset + local + 4 <= pageEnd, var next = bytes.bigEndian(at: offset + local, as: UInt32.self)
    else {
      return nil
    }
    // Each page adds to the payload, so that a circular chain ends, too.
    while payload.count < length {
      guard (2...max(2, pagesCount)).contains(Int(next)), Int(next) <= pagesCount else { return nil }
      let start = (Int(next) - 1) * pageBytes
      let count = min(pageBytes - 4, length - payload.count)
      payload.append(contentsOf: bytes[start + 4..<start + 4 + count])
      next = bytes.bigEndian(at: start, as: UInt32.self) ?? 0
    }
    return payload
  }

  private func localBytes(ofPayload length: Int) -> Int {
    let most = pageBytes - 35
    guard length > most else { return length }
    let least = (pageBytes - 12) * 32 / 255 - 23
    let local = least + (length - least) % (pageBytes - 4)
    return local <= most ? local : least
  }

  /// The columns of a record; nil if its length does not match its header.
  private func columns(of record: [UInt8]) -> [DatabaseValue]? {
    guard let (headerBytes, first) = varint(at: 0, in: record, end: record.count),
      headerBytes >= first, headerBytes <= record.count
    else { return nil }
    var columns: [DatabaseValue] = []
    var (type, content) = (first, Int(headerBytes))
    while type < Int(headerBytes) {
      guard let (serial, next) = varint(at: type, in: record, end: Int(headerBytes)),
        let length = contentBytes(of: serial), length <= record.count - content
      else { return nil }
      columns.append(value(of: serial, Array(record[content..<content + length])))
      type = next
      content += length
    }
    return columns
  }

  /// nil for an unknown type, or one that is longer than the file.
  private func contentBytes(of serial: Int64) -> Int? {
    switch serial {
    case 0, 8, 9: 0
    case 1...4: Int(serial)
    case 5: 6
    case 6, 7: 8
    case 12... where serial / 2 <= bytes.count: Int(serial - 12) / 2
    case _: nil
    }
  }

  private func value(of serial: Int64, _ content: [UInt8]) -> DatabaseValue {
    switch serial {
    case 1...6:
      let isNegative = content.first.map { $0 & 0x80 != 0 } ?? false
      return content.reduce(Int64(isNegative ? -1 : 0)) { $0 << 8 | Int64($1) }.databaseValue
    case 7: return Double(bitPattern: content.bigEndian(at: 0, as: UInt64.self) ?? 0).databaseValue
    case 8: return Int64(0).databaseValue
    case 9: return Int64(1).databaseValue
    case 12... where serial % 2 == 0: return Data(content).databaseValue
    case 12...: return String(decoding: content, as: UTF8.self).databaseValue
    case _: return .null
    }
  }

  /// A number of up to nine bytes, and where it ends.
  private func varint(at offset: Int, in bytes: [UInt8], end: Int) -> (Int64, Int)? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard offset + index < min(end, bytes.count) else { return nil }
      let byte = bytes[offset + index]
      if index == 8 { return (Int64(bitPattern: value << 8 | UInt64(byte)), offset + 9) }
      value = value << 7 | UInt64(byte & 0x7F)
      if byte & 0x80 == 0 { return (Int64(bitPattern: value), offset + index + 1) }
    }
    return nil
  }

  // MARK: Free pages

  private static func freePages(in bytes: [UInt8], pageBytes: Int) -> Set<Int>? {
    let pagesCount = bytes.count / pageBytes
    guard var trunk = bytes.bigEndian(at: 32, as: UInt32.self),
      let expected = bytes.bigEndian(at: 36, as: UInt32.self)
    else { return nil }
    var pages: Set<Int> = []
    while trunk != 0 {
      let start = (Int(trunk) - 1) * pageBytes
      guard Int(trunk) <= pagesCount, pages.insert(Int(trunk)).inserted,
        let next = bytes.bigEndian(at: start, as: UInt32.self),
        let count = bytes.bigEndian(at: start + 4, as: UInt32.self), Int(count) <= pageBytes / 4 - 2
      else { return nil }
      for index in 0..<Int(count) {
        guard let page = bytes.bigEndian(at: start + 8 + 4 * index, as: UInt32.self),
          (2...max(2, pagesCount)).contains(Int(page)), pages.insert(Int(page)).inserted
        else { return nil }
      }
      trunk = next
    }
    return pages.count == Int(expected) ? pages : nil
  }
}
