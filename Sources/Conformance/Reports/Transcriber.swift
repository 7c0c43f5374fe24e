/// One direction of a line in words: frames decoded, console text as text, and only what is neither
/// of them in hexadecimal digits.
struct Transcriber {
  /// The longest unfinished candidate that is kept. Source: PROTOCOL.md FRM-13.
  private static let candidateLimitBytes = 544
  /// Bytes shown of what cannot be decoded, and characters shown of a text.
  static let hexLimitBytes = 32
  static let textLimit = 160

  private let hasRecords: Bool
  private var unfinished: [UInt8] = []

  /// - Parameter hasRecords: whether the bytes are records of a connection, without zeros around.
  init(hasRecords: Bool) { self.hasRecords = hasRecords }

  /// What is complete after these bytes.
  mutating func take(_ bytes: [UInt8]) -> [String] {
    hasRecords ? takeRecords(bytes) : takeFrames(bytes)
  }

  /// What has remained.
  mutating func finish() -> [String] {
    guard !unfinished.isEmpty else { return [] }
    defer { unfinished = [] }
    if let lines = Self.console(unfinished) { return lines }
    return ["unfinished, \(Self.count(unfinished)): \(Wire.hex(unfinished, limit: Self.hexLimitBytes))"]
  }

  private mutating func takeRecords(_ bytes: [UInt8]) -> [String] {
    var words: [String] = []
    unfinished += bytes
    while unfinished.count >= 2 {
      let end = 2 + Int(Wire.word(unfinished, at: 0))
      guard unfinished.count >= end else { break }
      words.append(PayloadText.attribute(Array(unfinished[2..<end])))
      unfinished.removeFirst(end)
    }
    return words
  }

  private mutating func takeFrames(_ bytes: [UInt8]) -> [String] {
    var words: [String] = []
    for byte in bytes {
      if byte == 0 {
        words += candidate()
      } else {
        unfinished.append(byte)
        if unfinished.count == Self.candidateLimitBytes { words += candidate() }
      }
    }
    // A console line has no zero behind it.
    if unfinished.last == UInt8(ascii: "\n"), let lines = Self.console(unfinished) {
      words += lines
      unfinished = []
    }
    return words
  }

  private mutating func candidate() -> [String] {
    guard !unfinished.isEmpty else { return [] }
    defer { unfinished = [] }
    if let frame = WireFrame(candidate: unfinished) { return [FrameText.line(of: frame)] }
    if let lines = Self.console(unfinished) { return lines }
    return ["not a frame, \(Self.count(unfinished)): \(Wire.hex(unfinished, limit: Self.hexLimitBytes))"]
  }

  /// Text between frames, line by line; nil if the bytes are something else.
  private static func console(_ bytes: [UInt8]) -> [String]? {
    guard let text = readable(bytes) else { return nil }
    let lines = text.split { $0 == "\r\n" || $0 == "\n" || $0 == "\r" }.filter { !$0.isEmpty }
    return lines.map { "console: \(clipped(String($0)))" }
  }

  /// Bytes that a person can read, in quotes; nil if they are something else.
  static func text(_ bytes: [UInt8]) -> String? {
    readable(bytes).map { "\"\(clipped($0))\"" }
  }

  private static func readable(_ bytes: [UInt8]) -> String? {
    guard bytes.count > 1, let text = String(validating: bytes, as: UTF8.self),
      bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 || $0 == 0x1B })
    else { return nil }
    return text
  }

  static func clipped(_ text: String) -> String {
    let shown = text.prefix(textLimit)
    return shown.endIndex == text.endIndex ? text : "\(shown)…"
  }

  private static func count(_ bytes: [UInt8]) -> String {
    bytes.count == 1 ? "1 byte" : "\(bytes.count) bytes"
  }
}
