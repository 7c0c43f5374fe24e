/// Cuts input into lines. It never holds more than a line: of one that is too long the bytes are
/// dropped up to its end.
struct LineCutter {
  /// A line, and its number from 1.
  struct Line {
    var number: Int
    /// Empty if it is too long.
    var bytes: [UInt8]
    var isTooLong = false
  }

  /// Far more than any notification.
  static let limitBytes = 65_536

  /// Bytes of the lines handed out so far.
  private(set) var doneBytes = 0
  private var pending: [UInt8] = []
  private var start = 0
  private var number = 1
  /// The beginning of this line was dropped, and it was handed out.
  private var isInLongLine = false

  mutating func receive(_ bytes: some Sequence<UInt8>) {
    pending.removeFirst(start)
    start = 0
    pending += bytes
  }

  /// The next line that is not blank; `nil`: more bytes are needed. The last one can lack its
  /// newline.
  mutating func next(isEnd: Bool = false) -> Line? {
    while start < pending.count {
      let end = pending[start...].firstIndex(of: UInt8(ascii: "\n"))
      let bytes = pending[start..<(end ?? pending.count)]
      guard end != nil || isEnd || isInLongLine || bytes.count > Self.limitBytes else { return nil }
      let wasInLongLine = isInLongLine
      let line = Line(
        number: number, bytes: bytes.count > Self.limitBytes ? [] : Array(bytes),
        isTooLong: bytes.count > Self.limitBytes)
      isInLongLine = end == nil && !isEnd
      start = end.map { $0 + 1 } ?? pending.count
      doneBytes += bytes.count + (end == nil ? 0 : 1)
      if !isInLongLine { number += 1 }
      let isBlank = bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      if !wasInLongLine, !isBlank || line.isTooLong { return line }
    }
    return nil
  }
}
