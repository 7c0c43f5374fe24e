/// Finds SYNC in the bytes for an application: how a host reaches the loader over a port without
/// modem lines, where it cannot reset the chip.
struct SyncWatch: Equatable, Sendable {
  /// The length of SYNC, in bytes without escapes.
  private static let frameLimitBytes = LoaderRequest.headerBytes + 36

  private var decoder = SLIPDecoder(frameLimitBytes: frameLimitBytes)

  /// Receives bytes. Returns those from the first SYNC on, with SYNC; nil if there is none.
  mutating func receive(_ bytes: [UInt8]) -> [UInt8]? {
    var rest = bytes[...]
    while let frame = decoder.nextFrame(from: &rest) {
      guard LoaderRequest(frame)?.isSync == true else { continue }
      reset()
      return SLIPDecoder.encoded(frame) + rest
    }
    return nil
  }

  mutating func reset() { decoder.reset() }
}

/// How a host gets to a chip's loader.
package enum LoaderEntry: Equatable, Sendable {
  /// By a reset with IO0 low.
  case modemLines
  /// The port has no modem lines: SYNC alone starts the loader, and closing the port ends it.
  case sync
}
