/// A key in PEM as it stands in a file or in an environment: with quotes or a name around it, line
/// ends as `\n`, as spaces or none at all.
package enum PEMText {
  /// The first key of `text` in lines of 64; nil: there is none.
  package static func normalized(_ text: String) -> String? {
    let blocks = text.split(separator: "-----BEGIN ", omittingEmptySubsequences: false).dropFirst()
    guard let block = blocks.first(where: { $0.firstRange(of: "KEY-----") != nil }),
      let label = block.firstRange(of: "-----"),
      let end = block[label.upperBound...].firstRange(of: "-----END ")
    else { return nil }
    let name = block[..<label.lowerBound]
    var digits: [UInt8] = []
    var isEscaped = false
    for byte in block[label.upperBound..<end.lowerBound].utf8 {
      switch byte {
      case UInt8(ascii: "\\"): isEscaped = true
      case _ where isEscaped && [UInt8(ascii: "n"), UInt8(ascii: "r")].contains(byte): isEscaped = false
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"), UInt8(ascii: "\r"): isEscaped = false
      case _:
        isEscaped = false
        digits.append(byte)
      }
    }
    let lines = stride(from: 0, to: digits.count, by: 64).map { start in
      String(decoding: digits[start..<min(start + 64, digits.count)], as: UTF8.self)
    }
    return (["-----BEGIN \(name)-----"] + lines + ["-----END \(name)-----", ""]).joined(separator: "\n")
  }
}
