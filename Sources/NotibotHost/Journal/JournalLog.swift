/// SQLite's write-ahead log, read without SQLite, since SQLite takes the first wrong checksum for
/// the end of the log.
///
/// Each commit of ours is synced before the next one is written, so that a crash can leave only the
/// last transaction torn. Any other defect is corruption:
/// - a header that is neither valid nor all zeros, since it is synced before the first frame;
/// - a frame that cannot be read, when a transaction behind it was begun;
/// - a frame that a single flipped bit makes valid, if that completes its transaction. In the last
///   one it can also be a torn write, if the missing sector differs in that bit only.
/// Source: sqlite.org/fileformat2.html, section 4; wal.c, "sqlite3WalFrames".
struct JournalLog {
  static let headerBytes = 32
  static let frameHeaderBytes = 24

  /// The fields of the log's header.
  struct Header: Equatable {
    var pageBytes: Int
    /// Both salts, as one number.
    var salts: UInt64
    var checksum: LogChecksum
    /// Whether checksums use big-endian words.
    var isBigEndian: Bool
  }

  /// One page as written by a transaction.
  struct Frame: Equatable {
    /// Where it begins in the log.
    var offset: Int
    var page: Int
    /// Size of the database in pages after the commit that ends with this frame; 0: the commit goes
    /// on.
    var databasePages: Int
    var salts: UInt64
    var checksum: LogChecksum

    var contentOffset: Int { offset + JournalLog.frameHeaderBytes }
  }

  /// A candidate for the wrong bit.
  struct WrongBit: Equatable {
    var offset: Int
    var mask: UInt8
  }

  /// A defect of a log.
  enum Damage: Equatable {
    case header([WrongBit])
    /// The frame of this number, counted from 0, of the last transaction or an earlier one.
    case frame(Int, [WrongBit], isLast: Bool)

    /// The bits of which any single one, flipped, makes it valid. In the upper quarter of a word
    /// there can be many, because the checksum hardly distinguishes the words there.
    var wrongBits: [WrongBit] {
      switch self {
      case .header(let bits), .frame(_, let bits, _): bits
      }
    }

    /// The only bit that explains a defect which a torn write can explain as well. To flip it is
    /// right for both: a commit in progress may be there or not.
    var ambiguousBit: WrongBit? {
      guard case .frame(_, let bits, isLast: true) = self, bits.count == 1 else { return nil }
      return bits[0]
    }

    var text: String {
      switch self {
      case .header: "the header of its log has a wrong checksum"
      case .frame(let index, _, _): "frame \(index + 1) of its log has a wrong checksum"
      }
    }
  }

  private(set) var bytes: [UInt8]
  /// nil if it is missing or not valid.
  private(set) var header: Header?
  /// Frames of whole commits, from the first one on without a gap.
  private(set) var committed: [Frame] = []
  /// nil if the log is as a crash can leave it.
  private(set) var damage: Damage?

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    read()
  }

  private mutating func read() {
    header = nil
    committed = []
    damage = nil
    // Fewer bytes than a header: a crash before the first frame.
    guard bytes.count >= Self.headerBytes else { return }
    guard let header = Self.header(in: bytes) else {
      // The length of a new file can reach the disk before its bytes.
      if bytes.contains(where: { $0 != 0 }) { damage = .header(Self.wrongHeaderBits(in: bytes)) }
      return
    }
    self.header = header
    var frames: [Frame] = []
    var committedCount = 0
    var checksum = header.checksum
    while let frame = frame(frames.count), isValid(frame, after: checksum) {
      frames.append(frame)
      checksum = frame.checksum
      if frame.databasePages > 0 { committedCount = frames.count }
    }
    committed = Array(frames.prefix(committedCount))
    if let frame = frame(frames.count) { damage = damage(at: frame, number: frames.count, after: checksum) }
  }

  // MARK: Frames

  /// How many frames there is room for.
  var framesCount: Int {
    guard let header else { return 0 }
    return max(0, bytes.count - Self.headerBytes) / (Self.frameHeaderBytes + header.pageBytes)
  }

  /// The frame of this number, valid or not; nil beyond the end.
  func frame(_ index: Int) -> Frame? {
    guard let header, index < framesCount else { return nil }
    let offset = Self.headerBytes + index * (Self.frameHeaderBytes + header.pageBytes)
    guard let page = bytes.bigEndian(at: offset, as: UInt32.self),
      let databasePages = bytes.bigEndian(at: offset + 4, as: UInt32.self),
      let salts = bytes.bigEndian(at: offset + 8, as: UInt64.self),
      let checksum = LogChecksum(in: bytes, at: offset + 16)
    else { return nil }
    return Frame(
      offset: offset, page: Int(page), databasePages: Int(databasePages), salts: salts, checksum: checksum)
  }

  /// Whether it belongs to this log, and its checksum continues that of its predecessor.
  func isValid(_ frame: Frame, after checksum: LogChecksum) -> Bool {
    frame.salts == header?.salts && frame.page > 0 && sum(of: frame, after: checksum) == frame.checksum
  }

  private func sum(of frame: Frame, after checksum: LogChecksum) -> LogChecksum {
    guard let header else { return checksum }
    var sum = checksum
    sum.add(bytes, frame.offset..<frame.offset + 8, isBigEndian: header.isBigEndian)
    let content = frame.contentOffset..<frame.contentOffset + header.pageBytes
    sum.add(bytes, content, isBigEndian: header.isBigEndian)
    return sum
  }

  // MARK: Damage

  /// The defect that the first invalid frame stands for: nil for the end of the log, and for a torn
  /// last transaction.
  private func damage(at frame: Frame, number: Int, after checksum: LogChecksum) -> Damage? {
    let isLast = !isFollowed(from: number)
    let bits = wrongBits(of: frame, after: checksum).filter { !isLast || completes($0, number, checksum) }
    return isLast && bits.isEmpty ? nil : .frame(number, bits, isLast: isLast)
  }

  /// Whether another transaction was begun behind that of a frame. Then it was synced. Frames of a
  /// failed commit can also stand behind the last one; none of them follows a commit.
  private func isFollowed(from number: Int) -> Bool {
    var last: Frame?
    for index in number..<framesCount {
      guard let next = self.frame(index) else { break }
      if let last, last.databasePages > 0, isValid(next, after: last.checksum) { return true }
      last = next.salts == header?.salts ? next : nil
    }
    return false
  }

  /// Whether the transaction of a frame is complete with this bit flipped.
  private func completes(_ bit: WrongBit, _ number: Int, _ checksum: LogChecksum) -> Bool {
    var (copy, checksum) = (self, checksum)
    copy.bytes[bit.offset] ^= bit.mask
    for index in number..<framesCount {
      guard let frame = copy.frame(index), copy.isValid(frame, after: checksum) else { return false }
      if frame.databasePages > 0 { return true }
      checksum = frame.checksum
    }
    return false
  }

  /// The bits of a frame of which any single one, flipped, makes it valid; empty if no single bit
  /// does.
  private func wrongBits(of frame: Frame, after checksum: LogChecksum) -> [WrongBit] {
    guard let header else { return [] }
    let sum = sum(of: frame, after: checksum)
    let salts = frame.salts ^ header.salts
    if salts != 0 {
      guard salts.nonzeroBitCount == 1, frame.page > 0, sum == frame.checksum else { return [] }
      return [Self.bit(salts, at: frame.offset + 8)]
    }
    let difference = sum.bits ^ frame.checksum.bits
    let stored = difference.nonzeroBitCount == 1 ? [Self.bit(difference, at: frame.offset + 16)] : []
    return stored + wrongSummedBits(of: frame, from: sum, header)
  }

  /// The same for the bytes under the checksum.
  ///
  /// Adding 1 to the n-th word from the end, counted from 0, increases the sums by the Fibonacci
  /// numbers n and n + 1.
  private func wrongSummedBits(of frame: Frame, from sum: LogChecksum, _ header: Header) -> [WrongBit] {
    // Wrap-around is the algorithm.
    let (first, second) = (frame.checksum.first &- sum.first, frame.checksum.second &- sum.second)
    var (factor, next): (UInt32, UInt32) = (0, 1)
    var bits: [WrongBit] = []
    for word in (0..<2 + header.pageBytes / 4).reversed() {
      // The first two words stand before the salts and the checksum.
      let offset = word < 2 ? frame.offset + 4 * word : frame.contentOffset + 4 * (word - 2)
      for shift in 0..<32 {
        let mask: UInt32 = 1 << shift
        let isMore = factor &* mask == first && next &* mask == second
        let isLess = factor &* mask == 0 &- first && next &* mask == 0 &- second
        guard isMore || isLess, let stored = bytes.bigEndian(at: offset, as: UInt32.self) else { continue }
        let value = header.isBigEndian ? stored : stored.byteSwapped
        // Flipping a 0 bit increases the sums.
        guard value & mask == 0 ? isMore : isLess else { continue }
        let byte = header.isBigEndian ? 3 - shift / 8 : shift / 8
        bits.append(WrongBit(offset: offset + byte, mask: 1 << UInt8(shift % 8)))
      }
      (factor, next) = (next, factor &+ next)
    }
    return bits
  }

  /// The place of the only bit in `difference`, whose most significant byte is at `offset`.
  private static func bit(_ difference: UInt64, at offset: Int) -> WrongBit {
    let shift = difference.trailingZeroBitCount
    return WrongBit(offset: offset + 7 - shift / 8, mask: 1 << UInt8(shift % 8))
  }

  /// Flips a bit and reads everything again.
  mutating func flip(_ bit: WrongBit) {
    guard bytes.indices.contains(bit.offset) else { return }
    bytes[bit.offset] ^= bit.mask
    read()
  }
}

// MARK: The header

extension JournalLog {
  /// The least significant bit is the byte order of the checksums.
  private static let magic: UInt32 = 0x377F_0682
  private static let version: UInt32 = 3_007_000

  /// The header of a log; nil if it is not valid.
  static func header(in bytes: [UInt8]) -> Header? {
    guard let magic = bytes.bigEndian(at: 0, as: UInt32.self), magic & ~1 == Self.magic,
      bytes.bigEndian(at: 4, as: UInt32.self) == version,
      let pageBytes = bytes.bigEndian(at: 8, as: UInt32.self), pageBytes.nonzeroBitCount == 1,
      (512...65_536).contains(pageBytes),
      let salts = bytes.bigEndian(at: 16, as: UInt64.self),
      let stored = LogChecksum(in: bytes, at: 24)
    else { return nil }
    var sum = LogChecksum()
    sum.add(bytes, 0..<24, isBigEndian: magic & 1 == 1)
    guard sum == stored else { return nil }
    return Header(pageBytes: Int(pageBytes), salts: salts, checksum: sum, isBigEndian: magic & 1 == 1)
  }

  /// The bits of which any single one, flipped, makes the header valid.
  private static func wrongHeaderBits(in bytes: [UInt8]) -> [WrongBit] {
    var header = Array(bytes.prefix(headerBytes))
    var bits: [WrongBit] = []
    for offset in header.indices {
      for shift in 0..<8 as Range<UInt8> {
        header[offset] ^= 1 << shift
        if self.header(in: header) != nil { bits.append(WrongBit(offset: offset, mask: 1 << shift)) }
        header[offset] ^= 1 << shift
      }
    }
    return bits
  }
}

/// The checksum of a write-ahead log, which continues from frame to frame.
/// Source: sqlite.org/fileformat2.html, section 4.2.
struct LogChecksum: Hashable {
  var first: UInt32 = 0
  var second: UInt32 = 0

  init() {}

  /// Reads the stored checksum at `offset`; nil if that runs past the end.
  init?(in bytes: [UInt8], at offset: Int) {
    guard let bits = bytes.bigEndian(at: offset, as: UInt64.self) else { return nil }
    first = UInt32(truncatingIfNeeded: bits >> 32)
    second = UInt32(truncatingIfNeeded: bits)
  }

  /// The stored form.
  var bits: UInt64 { UInt64(first) << 32 | UInt64(second) }

  /// Adds bytes; their count must be a multiple of 8 and within bounds.
  mutating func add(_ bytes: [UInt8], _ range: Range<Int>, isBigEndian: Bool) {
    bytes.withUnsafeBytes { buffer in
      var offset = range.lowerBound
      while offset < range.upperBound {
        let even = buffer.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
        let odd = buffer.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
        // Wrap-around is the algorithm.
        first &+= (isBigEndian ? UInt32(bigEndian: even) : UInt32(littleEndian: even)) &+ second
        second &+= (isBigEndian ? UInt32(bigEndian: odd) : UInt32(littleEndian: odd)) &+ first
        offset += 8
      }
    }
  }
}
