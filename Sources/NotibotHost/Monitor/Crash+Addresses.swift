// The program addresses in the text of a crash, as ESP-IDF prints it.
extension Crash {
  /// An address, and the one to look up: a return address is that of the instruction after a call.
  package struct CodeAddress: Equatable, Sendable {
    package var printed: UInt32
    package var lookedUp: UInt32
  }

  /// Addresses, at most.
  package static let addressesLimit = 32

  /// Where the program was, innermost first: MEPC and RA of RISC-V; the `Backtrace:` of Xtensa, or
  /// its PC without one. No address twice in a row, at most `addressesLimit`.
  package var codeAddresses: [CodeAddress] {
    var registers: [CodeAddress] = []
    var backtrace: [CodeAddress] = []
    for line in lines {
      let words = String(decoding: line, as: UTF8.self).split { $0 == " " || $0 == "\r" || $0 == "\n" }
      if let start = words.firstIndex(of: "Backtrace:") {
        backtrace += words[(start + 1)...].compactMap { Self.address($0.prefix { $0 != ":" }) }
      }
      // "MEPC    : 0x4200a2b4"
      for start in words.indices.dropLast(2) where words[start + 1] == ":" {
        guard let found = Self.address(words[start + 2]) else { continue }
        switch words[start] {
        case "MEPC", "PC": registers.append(found)
        case "RA" where found.printed > 0:
          registers.append(CodeAddress(printed: found.printed, lookedUp: found.printed - 1))
        case _: break
        }
      }
    }
    var result: [CodeAddress] = []
    for address in backtrace.isEmpty ? registers : backtrace where result.last != address {
      result.append(address)
    }
    return Array(result.prefix(Self.addressesLimit))
  }

  /// The beginning of the ELF file's SHA-256 in hexadecimal digits, if the device printed it.
  package var elfHash: String? {
    for line in lines {
      let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      guard let start = words.firstIndex(of: "SHA256:"), start + 1 < words.count else { continue }
      let digits = words[start + 1].lowercased().prefix { $0.isHexDigit }
      if digits.count >= 8 { return String(digits) }
    }
    return nil
  }

  private static func address(_ text: Substring) -> CodeAddress? {
    guard text.hasPrefix("0x"), let value = UInt32(text.dropFirst(2), radix: 16) else { return nil }
    return CodeAddress(printed: value, lookedUp: value)
  }
}
