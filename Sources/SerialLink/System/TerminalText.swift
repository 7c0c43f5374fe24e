import Foundation

extension String {
  /// This text with all terminal controls and line breaks made visible:
  /// C0 and C1 controls, DEL, bidirectional controls and line separators become `\u{…}`.
  ///
  /// For external names: device paths, USB strings, command lines of other processes.
  package var printable: String {
    var result = ""
    for scalar in unicodeScalars {
      if scalar.isHidden {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// This JSON text with the characters escaped that `printable` shows by their numbers: a parser
  /// reads the same values, and a terminal or an editor shows nothing else than there is.
  package var printableJSON: String {
    if utf8.allSatisfy({ $0 < 0x7F }) { return self }
    var result = ""
    for scalar in unicodeScalars {
      // The others are line breaks between values.
      if scalar.isHidden, scalar.value >= 0x7F {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension Unicode.Scalar {
  /// Whether it controls a terminal or the direction of text, or breaks a line. Below U+10000.
  package var isHidden: Bool {
    switch value {
    case 0...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }
}

extension String {
  /// Each line of this text as `printable`: for text of several lines.
  package var printableLines: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }
      .joined(separator: "\n")
  }
}

extension Encodable {
  /// One JSON document with sorted keys. Its text is exact; what a terminal could execute is
  /// escaped. Every document of a program is written by this or by `JSONRecord`
  /// (docs/INTERFACE.md).
  package func printableJSON(isPretty: Bool = false) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if isPretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return String(decoding: try encoder.encode(self), as: UTF8.self).printableJSON
  }
}
