/// A line from a device, safe to print: without terminal controls except, if requested, colours.
///
/// Colour sequences (SGR) consist of digits and semicolons only, at most `sequenceLimitBytes` long;
/// all other controls are made visible as in `TerminalText`.
package struct VisibleText: Equatable, Sendable {
  /// Bytes of a colour sequence, from ESC to `m`.
  package static let sequenceLimitBytes = 24

  /// Without colours. Regular expressions match this form.
  package let plain: String
  /// With its colours, which are reset at the end; `plain` if it has none.
  package let colored: String
  /// Without colours, else unchanged: for JSON, as in `TerminalText`.
  package var exact: String { TerminalText.exact(uncolored) }
  private let uncolored: [UInt8]

  package init(_ bytes: [UInt8]) {
    guard bytes.contains(0x1B) else {
      uncolored = bytes
      plain = VisibleText.oneLine(TerminalText.sanitised(bytes))
      colored = plain
      return
    }
    var plain: [UInt8] = []
    var colored = ""
    var start = 0
    var hasColor = false
    var index = 0
    while index < bytes.count {
      guard let end = VisibleText.sequenceEnd(in: bytes, at: index) else {
        index += 1
        continue
      }
      plain += bytes[start..<index]
      colored += VisibleText.oneLine(TerminalText.sanitised(bytes[start..<index]))
      colored += String(decoding: bytes[index..<end], as: UTF8.self)
      hasColor = true
      (start, index) = (end, end)
    }
    plain += bytes[start...]
    colored += VisibleText.oneLine(TerminalText.sanitised(bytes[start...]))
    uncolored = plain
    self.plain = VisibleText.oneLine(TerminalText.sanitised(plain))
    self.colored = hasColor ? colored + "\u{1B}[0m" : colored
  }

  /// The length of `bytes` without a character or a colour sequence at its end whose rest is
  /// missing.
  package static func wholeLengthBytes(_ bytes: [UInt8]) -> Int {
    let tail = bytes.suffix(sequenceLimitBytes - 1)
    if let escape = tail.lastIndex(of: 0x1B),
      sequenceEnd(in: bytes + [UInt8(ascii: "m")], at: escape) != nil
        || escape == bytes.count - 1, !bytes[escape...].contains(UInt8(ascii: "m"))
    {
      return escape
    }
    // A first byte of UTF-8 with fewer bytes behind it than it announces.
    guard let first = bytes.suffix(3).lastIndex(where: { $0 >= 0xC2 }) else { return bytes.count }
    let length = bytes[first] >= 0xF0 ? 4 : bytes[first] >= 0xE0 ? 3 : 2
    let isWhole = first + length <= bytes.count || bytes[(first + 1)...].contains { $0 & 0xC0 != 0x80 }
    return isWhole ? bytes.count : first
  }

  /// The end of the colour sequence that begins at `index`; nil if there is none.
  package static func sequenceEnd(in bytes: [UInt8], at index: Int) -> Int? {
    guard bytes[index] == 0x1B, index + 1 < bytes.count, bytes[index + 1] == UInt8(ascii: "[") else {
      return nil
    }
    for end in (index + 2)..<max(index + 2, min(bytes.count, index + sequenceLimitBytes)) {
      switch bytes[end] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ";"): continue
      case UInt8(ascii: "m"): return end + 1
      case _: return nil
      }
    }
    return nil
  }

  private static func oneLine(_ text: String) -> String {
    text.utf8.contains(UInt8(ascii: "\n"))
      ? text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: #"\n"#) : text
  }
}
