/// Encoded words of header fields, such as `=?utf-8?B?4pyFIERvbmU=?=`. Source: RFC 2047.
enum EncodedWords {
  /// `text` with its words decoded; white space between two of them is dropped. A word that cannot
  /// be decoded, or of another charset than UTF-8, ISO-8859-1 and US-ASCII, stays as it is.
  static func decode(_ text: String) -> String {
    guard text.contains("=?") else { return text }
    var result: [UInt8] = []
    var rest = Array(text.utf8)[...]
    // Where the last word ended, if only white space follows it.
    var wordEnd: Int?
    while let first = rest.first {
      if let (bytes, end) = word(rest) {
        if let wordEnd { result.removeLast(result.count - wordEnd) }
        result += bytes
        (rest, wordEnd) = (rest[end...], result.count)
        continue
      }
      if !isSpace(first) { wordEnd = nil }
      result.append(first)
      rest = rest.dropFirst()
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// The word at the beginning of `text` as UTF-8, and the index after it.
  private static func word(_ text: ArraySlice<UInt8>) -> (bytes: [UInt8], end: Int)? {
    guard text.starts(with: "=?".utf8) else { return nil }
    let parts = text.dropFirst(2).split(
      separator: UInt8(ascii: "?"), maxSplits: 3, omittingEmptySubsequences: false)
    guard parts.count == 4, parts[3].first == UInt8(ascii: "="), !parts[2].contains(where: isSpace) else {
      return nil
    }
    let bytes: [UInt8]?
    switch parts[1] {
    case [UInt8(ascii: "B")], [UInt8(ascii: "b")]: bytes = base64(parts[2])
    case [UInt8(ascii: "Q")], [UInt8(ascii: "q")]: bytes = quoted(parts[2])
    case _: bytes = nil
    }
    guard let bytes else { return nil }
    let end = parts[3].startIndex + 1
    // RFC 2231 adds a language to the charset.
    let charset = String(decoding: parts[0].prefix { $0 != UInt8(ascii: "*") }, as: UTF8.self).lowercased()
    switch charset {
    case "utf-8", "us-ascii": return (bytes, end)
    case "iso-8859-1":
      return (Array(String(String.UnicodeScalarView(bytes.map { Unicode.Scalar($0) })).utf8), end)
    case _: return nil
    }
  }

  private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    let unpadded = text.reversed().drop { $0 == UInt8(ascii: "=") }.reversed()
    let other = [UInt8(ascii: "+"): UInt8(ascii: "-"), UInt8(ascii: "/"): UInt8(ascii: "_")]
    return Base64URL.decode(String(decoding: unpadded.map { other[$0] ?? $0 }, as: UTF8.self))
  }

  private static func quoted(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    PercentCoding.decode(text, mark: UInt8(ascii: "="), space: UInt8(ascii: "_"))
  }

  private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
}

/// Bytes written as a mark and two hexadecimal digits: `%20` of addresses, `=20` of encoded words.
enum PercentCoding {
  /// The bytes; nil if a mark is not followed by two digits. `space` stands for a space.
  static func decode(_ text: some Sequence<UInt8>, mark: UInt8 = UInt8(ascii: "%"), space: UInt8? = nil)
    -> [UInt8]?
  {
    var bytes: [UInt8] = []
    var iterator = text.makeIterator()
    while let byte = iterator.next() {
      switch byte {
      case mark:
        guard let high = iterator.next().flatMap(hexDigit), let low = iterator.next().flatMap(hexDigit) else {
          return nil
        }
        bytes.append(high << 4 | low)
      case space: bytes.append(UInt8(ascii: " "))
      case _: bytes.append(byte)
      }
    }
    return bytes
  }

  static func text(_ text: some StringProtocol) -> String? {
    decode(text.utf8).map { String(decoding: $0, as: UTF8.self) }
  }

  /// A mark that is not followed by two digits stands for itself: `90% full`.
  static func lenientText(_ text: some StringProtocol, space: UInt8) -> String {
    let mark = UInt8(ascii: "%")
    let parts = text.utf8.split(separator: mark, omittingEmptySubsequences: false)
    let bytes = parts.enumerated().flatMap { index, part in
      let escape = index > 0 ? decode([mark] + part.prefix(2)) : nil
      let rest = part.dropFirst(escape == nil ? 0 : 2).map { $0 == space ? UInt8(ascii: " ") : $0 }
      return (escape ?? (index > 0 ? [mark] : [])) + rest
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
