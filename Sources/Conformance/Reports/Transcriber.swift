import SuiteWire

/// Cuts the bytes of one direction of a line into frames and text, or the records of a connection.
struct LinePieces {
  /// The longest unfinished candidate that is kept. Source: PROTOCOL.md FRM-13.
  private static let candidateLimitBytes = 544

  /// Whether the bytes are records of a connection, without zeros around.
  let hasRecords: Bool
  /// What is not complete.
  private(set) var rest: [UInt8] = []

  init(hasRecords: Bool) { self.hasRecords = hasRecords }

  /// What is complete after these bytes: without the zeros, or without the length.
  mutating func receive(_ bytes: [UInt8]) -> [[UInt8]] {
    var pieces: [[UInt8]] = []
    for byte in bytes {
      if byte != 0 || hasRecords { rest.append(byte) }
      let isWhole =
        hasRecords
        ? rest.count >= 2 && rest.count == 2 + Int(Wire.word(rest, at: 0))
        : byte == 0 || rest.count == Self.candidateLimitBytes
      guard isWhole, !rest.isEmpty else { continue }
      pieces.append(hasRecords ? Array(rest.dropFirst(2)) : rest)
      rest = []
    }
    // A console line has no zero behind it.
    if !hasRecords, rest.last == UInt8(ascii: "\n"), Transcriber.text(rest) != nil {
      pieces.append(rest)
      rest = []
    }
    return pieces
  }
}

/// One direction of a line in words: frames decoded, console text as text, and only what is neither
/// of them in hexadecimal digits.
struct Transcriber {
  /// Bytes shown of what cannot be decoded, and characters shown of a text.
  static let hexLimitBytes = 32
  static let textLimit = 160

  private var pieces: LinePieces

  /// - Parameter hasRecords: whether the bytes are records of a connection, without zeros around.
  init(hasRecords: Bool) { pieces = LinePieces(hasRecords: hasRecords) }

  /// What is complete after these bytes.
  mutating func receive(_ bytes: [UInt8]) -> [String] {
    pieces.receive(bytes).flatMap { pieces.hasRecords ? [PayloadText.attribute($0)] : Self.words($0) }
  }

  /// What has remained.
  func finish() -> [String] {
    let rest = pieces.rest
    if rest.isEmpty { return [] }
    return Self.console(rest)
      ?? ["unfinished, \(Self.count(rest)): \(Wire.hex(rest, limit: Self.hexLimitBytes))"]
  }

  private static func words(_ piece: [UInt8]) -> [String] {
    if let frame = WireFrame(candidate: piece) { return [FrameText.line(of: frame)] }
    return console(piece) ?? ["not a frame, \(count(piece)): \(Wire.hex(piece, limit: hexLimitBytes))"]
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
