/// Splits bytes into SLIP frames: `C0` before and after each, `DB DC` for C0, `DB DD` for DB.
///
/// States: *outside* a frame, until the first C0 → *inside* (with the bytes so far) → *inside* the
/// next one, because the end of noise can be the start of a frame; *skipping* the rest of a frame
/// that is too long or has an invalid escape. Empty frames, as between two in a row, are no frames.
/// Source: RFC 1055, and Espressif's serial protocol.
struct SLIPDecoder: Equatable, Sendable {
  private enum State: Equatable, Sendable {
    case outside
    case inside
    case escaped
    case skipping
  }

  static let end: UInt8 = 0xC0
  static let escape: UInt8 = 0xDB
  static let escapedEnd: UInt8 = 0xDC
  static let escapedEscape: UInt8 = 0xDD

  /// The longest frame, in bytes without escapes; a longer one is dropped and counted.
  let frameLimitBytes: Int
  private(set) var droppedFrames: UInt64 = 0
  private var state = State.outside
  private var frame: [UInt8] = []

  init(frameLimitBytes: Int) {
    self.frameLimitBytes = frameLimitBytes
  }

  /// Takes bytes up to the end of the first frame in them. Returns that frame, or nil if it has not
  /// ended, and removes the bytes that it took.
  mutating func nextFrame(from bytes: inout ArraySlice<UInt8>) -> [UInt8]? {
    while !bytes.isEmpty {
      switch state {
      case .outside, .skipping:
        guard let start = bytes.firstIndex(of: Self.end) else {
          bytes = []
          return nil
        }
        bytes = bytes[(start + 1)...]
        state = .inside
        frame = []
      case .inside:
        let mark = bytes.firstIndex { $0 == Self.end || $0 == Self.escape } ?? bytes.endIndex
        append(bytes[..<mark])
        guard mark < bytes.endIndex else {
          bytes = []
          return nil
        }
        let isEnd = bytes[mark] == Self.end
        bytes = bytes[(mark + 1)...]
        switch state {
        case .skipping where isEnd:
          state = .inside
          frame = []
        case .inside where isEnd && !frame.isEmpty: return finish()
        case .inside where !isEnd: state = .escaped
        case .inside, .skipping, .outside, .escaped: break
        }
      case .escaped:
        let code = bytes.removeFirst()
        state = .inside
        switch code {
        case Self.escapedEnd: append([Self.end])
        case Self.escapedEscape: append([Self.escape])
        default: drop()
        }
      }
    }
    return nil
  }

  /// Forgets a frame that has begun.
  mutating func reset() {
    state = .outside
    frame = []
  }

  private mutating func finish() -> [UInt8] {
    let finished = frame
    frame = []
    return finished
  }

  private mutating func append(_ part: ArraySlice<UInt8>) {
    guard frame.count + part.count <= frameLimitBytes else { return drop() }
    frame += part
  }

  private mutating func drop() {
    droppedFrames += 1
    frame = []
    state = .skipping
  }

  /// The frame of a content.
  static func encoded(_ content: [UInt8]) -> [UInt8] {
    var wire = [end]
    wire.reserveCapacity(content.count + 2)
    for byte in content {
      switch byte {
      case end: wire += [escape, escapedEnd]
      case escape: wire += [escape, escapedEscape]
      default: wire.append(byte)
      }
    }
    wire.append(end)
    return wire
  }
}
