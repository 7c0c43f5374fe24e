extension String {
  /// This text with all terminal controls and line breaks made visible:
  /// C0 and C1 controls, DEL, bidirectional overrides and line separators become `\u{…}`.
  ///
  /// For external names: device paths, USB strings, command lines of other processes.
  package var printable: String {
    var result = ""
    for scalar in unicodeScalars {
      switch scalar.value {
      case 0...0x1F, 0x7F...0x9F, 0x2028...0x202E, 0x2066...0x2069, 0x200E, 0x200F, 0xFEFF:
        result += "\\u{\(String(scalar.value, radix: 16))}"
      default:
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
