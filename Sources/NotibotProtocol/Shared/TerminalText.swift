/// Bytes from a device as text: safe for a terminal, or exact for JSON.
///
/// For a terminal, controls except newline and tab, a carriage return without a newline after it,
/// DEL, C1 controls and invalid UTF-8 become `\xNN`; scalars that change the direction of text,
/// break lines or are invisible become U+FFFD. Otherwise a device could overwrite the screen, or
/// write to the clipboard.
package enum TerminalText {
  /// The text of `bytes` for a terminal.
  package static func sanitised(_ bytes: some Sequence<UInt8>) -> String {
    text(of: Array(bytes), isExact: false)
  }

  /// The text of `bytes` for a JSON document, whose encoder escapes what a terminal executes
  /// (docs/INTERFACE.md). Only invalid UTF-8 becomes `\xNN`.
  package static func exact(_ bytes: some Sequence<UInt8>) -> String { text(of: Array(bytes), isExact: true) }

  private static func text(of bytes: [UInt8], isExact: Bool) -> String {
    // Fast path for nearly every console line; at 3 Mbaud the path below would use much of a CPU.
    if bytes.allSatisfy({ 0x20...0x7E ~= $0 }) { return String(decoding: bytes, as: UTF8.self) }
    var result = String.UnicodeScalarView()
    var index = 0
    while index < bytes.count {
      let end = index + (characterLengthBytes(bytes[index]) ?? 1)
      let isNewline =
        !isExact && bytes[index] == UInt8(ascii: "\r") && end < bytes.count
        && bytes[end] == UInt8(ascii: "\n")
      if isNewline {
        index = end  // The newline comes next, and is enough.
      } else if end <= bytes.count,
        let scalar = String(validating: bytes[index..<end], as: UTF8.self)?.unicodeScalars.first
      {
        if isExact { result.append(scalar) } else { append(scalar, to: &result) }
        index = end
      } else {
        appendEscape(of: bytes[index], to: &result)
        index += 1
      }
    }
    return String(result)
  }

  private static func append(_ scalar: Unicode.Scalar, to result: inout String.UnicodeScalarView) {
    switch scalar {
    case "\n", "\t": result.append(scalar)
    case "\0"..."\u{1F}", "\u{7F}"..."\u{9F}": appendEscape(of: UInt8(scalar.value), to: &result)
    case "\u{200E}", "\u{200F}", "\u{061C}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}", "\u{FEFF}":
      result.append("\u{FFFD}")
    default: result.append(scalar)
    }
  }

  private static func appendEscape(of byte: UInt8, to result: inout String.UnicodeScalarView) {
    result.append(contentsOf: (#"\x"# + hex(byte)).unicodeScalars)
  }

  /// The bytes of the UTF-8 character that begins with `byte`, or nil when none does.
  private static func characterLengthBytes(_ byte: UInt8) -> Int? {
    switch byte {
    case 0..<0x80: 1
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: nil
    }
  }
}
