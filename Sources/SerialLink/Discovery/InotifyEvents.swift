import NIOCore

/// Splits the bytes of an inotify descriptor into events.
///
/// One `struct inotify_event` is watch, mask, cookie and the length of a name that follows, host
/// byte order. Source: inotify(7).
struct InotifyEvents {
  struct Event: Equatable {
    /// The value that `inotify_add_watch` returned.
    var watch: Int32
    var mask: UInt32
    /// The name of an entry in a watched folder; empty for the folder or file itself.
    var name: String
  }

  private static let headerSizeBytes = 16

  private var unread = ByteBuffer()

  mutating func receive(_ bytes: ByteBuffer) {
    var bytes = bytes
    unread.discardReadBytes()
    unread.writeBuffer(&bytes)
  }

  /// The next event, or `nil`.
  mutating func next() -> Event? {
    let start = unread.readerIndex
    guard let watch: Int32 = unread.getInteger(at: start, endianness: .host),
      let mask: UInt32 = unread.getInteger(at: start + 4, endianness: .host),
      let nameSizeBytes: UInt32 = unread.getInteger(at: start + 12, endianness: .host),
      let name = unread.getBytes(at: start + Self.headerSizeBytes, length: Int(nameSizeBytes))
    else { return nil }
    unread.moveReaderIndex(forwardBy: Self.headerSizeBytes + Int(nameSizeBytes))
    return Event(watch: watch, mask: mask, name: String(decoding: name.prefix { $0 != 0 }, as: UTF8.self))
  }
}
