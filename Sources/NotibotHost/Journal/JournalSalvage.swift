import GRDB
import Glibc

/// The readable part of a damaged journal. Changes nothing, and creates no file.
///
/// A row is accepted if its checksum is right. A single wrong bit in the log is corrected if it can
/// be identified; behind an unreadable frame, frames are accepted whose checksum continues that of
/// their predecessor.
package struct JournalSalvage: Hashable, Sendable {
  /// In the order of their numbers.
  package private(set) var entries: [OutboxEntry] = []
  /// The keys of accepted submissions, in the order of their rows.
  package private(set) var keys: [KeyRecord] = []
  /// The highest taken press of each boot, in the order of the boot ids.
  package private(set) var presses: [TakenPresses] = []
  /// The expected number of entries; nil if the file does not have it.
  package private(set) var expectedCount: Int?
  /// The findings, one line each.
  package private(set) var findings: [String] = []
  /// Whether these are all notifications, with the content of the last commit, as far as the file
  /// shows.
  package private(set) var isComplete = false

  /// Reads the journal at `path`. Throws if it is missing, cannot be read, or is in use by a
  /// process.
  package init(path: String, sharing: Journal.Sharing = .lockFile) throws(JournalError) {
    var file = path
    if sharing == .lockFile {
      let place = try JournalPath(path, operation: "read")
      switch place.kind {
      case .other: throw JournalError(.notAnOutbox, path: path, operation: "read")
      case .absent:
        if !place.hasOrphanedLog { throw JournalError(.missing, path: path, operation: "read") }
      case .file:
        if access(place.resolved, R_OK) != 0 {
          throw JournalError(errno: errno, path: path, operation: "read")
        }
      }
      if JournalLock.isTaken(for: place) {
        throw JournalError(.locked(pid: nil), path: path, operation: "read")
      }
      file = place.resolved
    }
    let finding = read(try JournalBytes(path: file, named: path, operation: "read"))
    if finding == .foreign, entries.isEmpty, keys.isEmpty, presses.isEmpty, expectedCount == nil {
      throw JournalError(.notAnOutbox, path: path, operation: "read")
    }
  }

  /// Returns what an inspection finds.
  private mutating func read(_ files: JournalBytes) -> JournalInspection.Finding {
    let finding = JournalInspection.inspect(files)
    if case .damaged(let text) = finding { findings.append(text) }
    let (log, frames) = readableFrames(of: JournalLog(files.log), files)
    let pageBytes = Self.pageBytes(of: files.database, log)
    let image = JournalImage(
      database: files.database, pageBytes: pageBytes, log: log.bytes, frames: frames)
    let pages = JournalPages(image)
    if pages.freePages == nil {
      findings.append("its list of free pages cannot be read: some notifications may be done with already")
    }
    readRows(of: pages.cells(), version: image.bytes.bigEndian(at: 60, as: UInt32.self) ?? 0)
    return finding
  }

  /// If the header of a file is damaged, the page size is that of its log, or SQLite's default.
  private static func pageBytes(of database: [UInt8], _ log: JournalLog) -> Int {
    if let logged = log.header?.pageBytes { return logged }
    if database.count >= JournalFileHeader.lengthBytes, let stored = JournalFileHeader(database).pageBytes {
      return stored
    }
    return 4096
  }

  // MARK: The log

  /// More wrong bits than this are not independent single-bit errors.
  private static let correctionsLimit = 64

  /// The log with its single-bit errors corrected, and its frames up to the last visible commit.
  private mutating func readableFrames(
    of log: JournalLog, _ files: JournalBytes
  ) -> (JournalLog, [JournalLog.Frame]) {
    var log = log
    for _ in 0..<Self.correctionsLimit {
      guard let damage = log.damage, let corrected = Self.corrected(log, files) else { break }
      log = corrected
      findings.append("\(damage.text): one bit, which is corrected")
    }
    guard let damage = log.damage else { return (log, log.committed) }
    guard case .frame(let first, _, _) = damage, first > 0 || log.header != nil else {
      findings.append("nothing of its log can be read")
      return (log, [])
    }
    var frames = (0..<first).compactMap(log.frame)
    var (lost, lostSinceCommit, committedCount) = (0, 0, log.committed.count)
    var previous = frames.last?.checksum ?? log.header?.checksum
    for index in first..<log.framesCount {
      guard let frame = log.frame(index) else { break }
      if let checksum = previous, log.isValid(frame, after: checksum) {
        frames.append(frame)
        if frame.databasePages > 0 {
          committedCount = frames.count
          lost += lostSinceCommit
          lostSinceCommit = 0
        }
      } else {
        lostSinceCommit += 1
      }
      previous = frame.checksum
    }
    findings.append(
      lost > 1 ? "\(lost) frames of its log cannot be read" : "a frame of its log cannot be read")
    return (log, Array(frames.prefix(committedCount)))
  }

  /// The log without its first wrong bit. If several bits explain the checksum, the one that makes
  /// most of the log readable and all row checksums right; nil if there is none.
  private static func corrected(_ log: JournalLog, _ files: JournalBytes) -> JournalLog? {
    func flipped(_ bit: JournalLog.WrongBit) -> JournalLog {
      var copy = log
      copy.flip(bit)
      return copy
    }
    let bits = log.damage?.wrongBits ?? []
    if bits.count == 1 { return flipped(bits[0]) }
    // One copy at a time: a log can have many megabytes, and hundreds of candidates.
    let ranked = bits.map { (bit: $0, committed: flipped($0).committed.count) }
      .sorted { $0.committed > $1.committed }
    for (bit, _) in ranked {
      let candidate = flipped(bit)
      let files = JournalBytes(database: files.database, log: candidate.bytes)
      if JournalInspection.inspect(files).snapshot != nil { return candidate }
    }
    return nil
  }

  // MARK: Rows

  /// A row, and the commit that wrote it.
  private struct Found<Value> {
    var value: Value
    var commit: Int64
    var checksum: Int64
  }

  /// The rows of one table by their number; of several with one number, the newest.
  private struct FoundRows<Value> {
    private(set) var rows: [Int64: Found<Value>] = [:]

    mutating func add(_ row: Found<Value>, number: Int64) {
      if let other = rows[number], other.commit > row.commit { return }
      rows[number] = row
    }

    var totals: TableTotals {
      // Wrap-around is the rule of this sum.
      TableTotals(rows: Int64(rows.count), digest: rows.values.reduce(0) { $0 &+ $1.checksum })
    }

    /// In the order of their numbers.
    var values: [Value] { rows.sorted { $0.key < $1.key }.map(\.value.value) }
  }

  private mutating func readRows(of cells: [JournalPages.Cell], version: UInt32) {
    var found = FoundRows<OutboxEntry>()
    var foundKeys = FoundRows<KeyRecord>()
    var foundPresses = FoundRows<TakenPresses>()
    var totals: JournalTotals?
    var unreadable: Set<Int64> = []
    for cell in cells {
      if let row = Self.found(in: cell) {
        found.add(row, number: cell.rowID)
      } else if let row = Self.foundKey(in: cell) {
        foundKeys.add(row, number: cell.rowID)
      } else if let row = Self.foundPresses(in: cell) {
        foundPresses.add(row, number: cell.rowID)
      } else if let row = Self.totals(in: cell) {
        if row.commits >= totals?.commits ?? 0 { totals = row }
      } else if cell.isInLeaf {
        unreadable.insert(cell.rowID)
      }
    }
    if found.rows.isEmpty, totals == nil, (1...2).contains(version) {
      return readUncheckedRows(of: cells, version: Int(version))
    }
    entries = found.values
    keys = foundKeys.values
    presses = foundPresses.values
    expectedCount = totals.map { Int($0.notifications.rows) }
    if totals == nil {
      findings.append("the writer's row cannot be read: how many there should be is not known")
    }
    // The row of a key has a number of its own, that of a press the boot's.
    let known = Set(found.rows.keys).union(foundKeys.rows.keys).union(foundPresses.rows.keys)
    for number in unreadable.subtracting(known).sorted() {
      findings.append("notification \(number) cannot be read, if that is its number")
    }
    isComplete = totals?.notifications == found.totals
    if !isComplete, let totals, totals.notifications.rows == Int64(found.rows.count) {
      findings.append("some notifications are as an older commit left them")
    }
    if let totals, totals.keys != foundKeys.totals {
      findings.append(
        "\(foundKeys.rows.count) of \(totals.keys.rows) keys can be read: a repetition is not detected without its key"
      )
    }
  }

  private static func found(in cell: JournalPages.Cell) -> Found<OutboxEntry>? {
    guard let columns = columns(of: cell, count: JournalRows.columnsCount),
      let entry = try? JournalRows.entry(of: columns, version: JournalSchema.version)
    else { return nil }
    return found(entry, columns)
  }

  private static func foundKey(in cell: JournalPages.Cell) -> Found<KeyRecord>? {
    guard let columns = columns(of: cell, count: JournalRows.intakeColumnsCount),
      let record = try? JournalRows.key(of: columns)
    else { return nil }
    return found(record, columns)
  }

  private static func foundPresses(in cell: JournalPages.Cell) -> Found<TakenPresses>? {
    guard let columns = columns(of: cell, count: JournalRows.pressColumnsCount),
      let record = try? JournalRows.presses(of: columns)
    else { return nil }
    return found(record, columns)
  }

  /// The columns of a row of the table with so many, with its number.
  private static func columns(of cell: JournalPages.Cell, count: Int) -> [DatabaseValue]? {
    guard var columns = cell.columns, columns.count == count, columns[0].isNull else { return nil }
    columns[0] = cell.rowID.databaseValue
    return columns
  }

  private static func found<Value>(_ value: Value, _ columns: [DatabaseValue]) -> Found<Value>? {
    guard case .int64(let commit) = columns[columns.count - 2].storage,
      case .int64(let checksum) = columns[columns.count - 1].storage
    else { return nil }
    return Found(value: value, commit: commit, checksum: checksum)
  }

  /// The totals in the writer's row, of version 3, 4 or this one.
  private static func totals(in cell: JournalPages.Cell) -> JournalTotals? {
    guard let columns = cell.columns else { return nil }
    let lack = JournalRows.writerColumnsCount + 1 - columns.count
    guard let version = [0: JournalSchema.version, 1: 4, JournalTotals.names.count - 1: 3][lack] else {
      return nil
    }
    return try? JournalRows.writer(of: Array(columns.dropFirst()), version: version).totals
  }

  /// Versions 1 and 2 have no checksums: each row that can be an entry is accepted as one.
  private mutating func readUncheckedRows(of cells: [JournalPages.Cell], version: Int) {
    findings.append("it is of version \(version), which has no checksums: read what you get")
    var unique: [OutboxNumber: OutboxEntry] = [:]
    for cell in cells {
      guard var columns = cell.columns, (20...21).contains(columns.count) else { continue }
      columns[0] = cell.rowID.databaseValue
      if columns.count == 20 {
        columns.append(Int64(columns[1] == "held".databaseValue ? 1 : 0).databaseValue)
      }
      guard let entry = try? JournalRows.entry(of: columns, version: version) else { continue }
      unique[entry.number] = entry
    }
    entries = unique.values.sorted { $0.number < $1.number }
  }
}
