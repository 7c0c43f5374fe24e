import NIOCore

/// Cuts what an inotify descriptor gives into events.
///
/// One `struct inotify_event` is watch, mask, cookie and the length of a name that follows, host byte order.
/// Source: inotify(7).
struct InotifyEvents {
  private static let headerSizeBytes = 16

  private var unread = ByteBuffer()

  mutating func receive(_ bytes: ByteBuffer) {
    var bytes = bytes
    unread.discardReadBytes()
    unread.writeBuffer(&bytes)
  }

  /// The mask of the next event, or `nil`.
  mutating func nextMask() -> UInt32? {
    guard let mask: UInt32 = unread.getInteger(at: unread.readerIndex + 4, endianness: .host),
      let nameSizeBytes: UInt32 = unread.getInteger(at: unread.readerIndex + 12, endianness: .host),
      unread.readableBytes >= Self.headerSizeBytes + Int(nameSizeBytes)
    else { return nil }
    unread.moveReaderIndex(forwardBy: Self.headerSizeBytes + Int(nameSizeBytes))
    return mask
  }
}
