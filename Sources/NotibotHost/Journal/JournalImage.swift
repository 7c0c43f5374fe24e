import GRDB
import GRDBSQLite
import Glibc

/// A database as its last commit left it: the pages of the file, overlaid with those of the log.
/// Its header is that of one without a log.
struct JournalImage: Equatable {
  private(set) var bytes: [UInt8]
  let pageBytes: Int

  /// Source: sqlite.org/fileformat2.html, sections 1.3 and 4.4.
  init(database: [UInt8], pageBytes: Int, log: [UInt8], frames: [JournalLog.Frame]) {
    self.pageBytes = pageBytes
    bytes = database
    if let pages = frames.last(where: { $0.databasePages > 0 })?.databasePages {
      // At most what was written: a number in a frame can be wrong.
      let highest = max(database.count / pageBytes, frames.map(\.page).max() ?? 0)
      resize(toBytes: min(pages, highest) * pageBytes)
    }
    for frame in frames {
      let start = (frame.page - 1) * pageBytes
      guard start >= 0, start <= bytes.count - pageBytes, frame.contentOffset <= log.count - pageBytes else {
        continue
      }
      bytes.replaceSubrange(
        start..<start + pageBytes, with: log[frame.contentOffset..<frame.contentOffset + pageBytes])
    }
    // A database in memory has no log: its header must not ask for one.
    for offset in 18...19 where bytes.indices.contains(offset) { bytes[offset] = 1 }
  }

  private mutating func resize(toBytes count: Int) {
    if bytes.count > count {
      bytes.removeLast(bytes.count - count)
    } else {
      bytes.reserveCapacity(count)
      bytes.append(contentsOf: repeatElement(0, count: count - bytes.count))
    }
  }

  /// A database in memory that has this content and cannot be changed.
  func database() throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try queue.inDatabase { database in
      guard let copy = sqlite3_malloc64(UInt64(max(1, bytes.count))) else {
        throw DatabaseError(resultCode: .SQLITE_NOMEM)
      }
      bytes.withUnsafeBytes { if let start = $0.baseAddress { memcpy(copy, start, $0.count) } }
      // SQLite frees the copy, also if this fails.
      let result = sqlite3_deserialize(
        database.sqliteConnection, "main", copy.assumingMemoryBound(to: UInt8.self),
        sqlite3_int64(bytes.count), sqlite3_int64(bytes.count),
        UInt32(SQLITE_DESERIALIZE_READONLY | SQLITE_DESERIALIZE_FREEONCLOSE))
      guard result == SQLITE_OK else { throw DatabaseError(resultCode: ResultCode(rawValue: result)) }
    }
    return queue
  }
}

/// The first 100 bytes of a file. Source: sqlite.org/fileformat2.html, section 1.3.
struct JournalFileHeader {
  static let lengthBytes = 100
  /// A mark that differs in at most this many bits is a corrupt one; unrelated marks differ in far
  /// more.
  private static let similarBits = 4

  /// How certain it is that the file is an outbox.
  enum Likeness {
    /// Both marks are right.
    case outbox
    /// An SQLite database without an owner: one that was just made, or another program's.
    case unowned
    /// One mark is right, the other has a few wrong bits.
    case damagedOutbox
    case foreign
  }

  let likeness: Likeness
  /// nil if the page size, or a field that is constant in our files, is wrong.
  let pageBytes: Int?

  /// - Parameter database: at least 100 bytes.
  init(_ database: [UInt8]) {
    let wrongBits = zip(JournalPath.databaseMagic, database).reduce(0) { $0 + ($1.0 ^ $1.1).nonzeroBitCount }
    let application = database.bigEndian(at: 68, as: UInt32.self) ?? 0
    let isOurs = application == UInt32(JournalSchema.applicationID)
    let isLikeOurs = Self.isLikeApplicationID(application)
    likeness =
      switch wrongBits {
      case 0 where isOurs: .outbox
      case 0 where application == 0: .unowned
      case 0 where isLikeOurs: .damagedOutbox
      case 1...Self.similarBits where isLikeOurs || application == 0: .damagedOutbox
      case _ where isOurs: .damagedOutbox
      case _: .foreign
      }
    pageBytes = Self.pageBytes(in: database)
  }

  /// Whether a number is that of an outbox, or differs from it in a few bits.
  static func isLikeApplicationID(_ number: UInt32) -> Bool {
    (number ^ UInt32(JournalSchema.applicationID)).nonzeroBitCount <= similarBits
  }

  /// nil also if SQLite would read the file in a different way than this program writes it: without
  /// its log, for example.
  private static func pageBytes(in database: [UInt8]) -> Int? {
    guard let stored = database.bigEndian(at: 16, as: UInt16.self) else { return nil }
    let pageBytes = stored == 1 ? 65_536 : Int(stored)
    guard pageBytes >= 512, pageBytes.nonzeroBitCount == 1 else { return nil }
    let versions = database[18..<20]
    guard versions.elementsEqual([2, 2]) || versions.elementsEqual([1, 1]) else { return nil }
    // No reserved bytes; three constants.
    return database[20..<24].elementsEqual([0, 64, 32, 32]) ? pageBytes : nil
  }
}
