import NotibotProtocol

// The program addresses in the text of a report, in the forms that docs/CLI.md lists.
extension Crash {
  /// An address, and the one to look up: a return address is that of the instruction after a call.
  package struct CodeAddress: Equatable, Sendable {
    package var printed: UInt32
    package var lookedUp: UInt32

    package init(printed: UInt32, lookedUp: UInt32) {
      (self.printed, self.lookedUp) = (printed, lookedUp)
    }
  }

  /// The lines about one core.
  package struct Part: Equatable, Sendable {
    /// `nil` if the device did not name it.
    package var core: Int?
    package var crash: Crash
  }

  /// Addresses of a core, at most.
  package static let addressesLimit = 32

  /// The report, split where the registers or the backtrace of another core begin.
  package var parts: [Part] {
    var parts: [Part] = []
    var part = Part(core: nil, crash: Crash(kind, reason: reason))
    var (hasRegisters, hasBacktrace) = (false, false)
    for line in lines {
      let text = VisibleText(line).plain
      let core = Self.core(in: text)
      let isBacktrace = text.contains("Backtrace:")
      if core != nil && (hasRegisters || hasBacktrace) || isBacktrace && hasBacktrace {
        parts.append(part)
        part = Part(core: nil, crash: Crash(kind, reason: reason))
        (hasRegisters, hasBacktrace) = (false, false)
      }
      if let core { part.core = core }
      part.crash.lines.append(line)
      hasBacktrace = hasBacktrace || isBacktrace
      hasRegisters = hasRegisters || !Self.registers(in: text.split(separator: " ")).isEmpty
    }
    return parts + [part]
  }

  /// Where the program was, innermost first: its backtrace, or without one MEPC and RA of RISC-V,
  /// or PC of Xtensa. No address twice in a row, at most `addressesLimit`.
  ///
  /// - Parameter isRISCV: there a backtrace consists of return addresses, except for its first one;
  ///   Xtensa's are those of calls already.
  package func codeAddresses(isRISCV: Bool) -> [CodeAddress] {
    var (registers, backtrace): ([CodeAddress], [CodeAddress]) = ([], [])
    var isInList = false
    for line in lines {
      let text = VisibleText(line).plain
      if let trace = text.firstRange(of: "Backtrace:") {
        backtrace += Self.pairs(in: text[trace.upperBound...], isRISCV: isRISCV)
        isInList = true
        continue
      }
      let words = text.split(whereSeparator: \.isWhitespace)
      // esp-backtrace prints one address per line.
      if isInList, words.count <= 2, let address = words.last.flatMap(Self.address) {
        backtrace.append(CodeAddress(printed: address, lookedUp: address))
        continue
      }
      isInList = isInList && words.isEmpty
      backtrace += Self.labelled(in: words)
      registers += Self.registers(in: words)
    }
    // The program counter before the return address, in whatever order they are printed.
    registers =
      registers.filter { $0.printed == $0.lookedUp } + registers.filter { $0.printed != $0.lookedUp }
    var result: [CodeAddress] = []
    for address in backtrace.isEmpty ? registers : backtrace where result.last != address {
      result.append(address)
    }
    return Array(result.prefix(Self.addressesLimit))
  }

  /// The beginning of the ELF file's SHA-256 in hexadecimal digits; `nil` if the device did not
  /// print it, or does not know it and prints zeros.
  package var elfHash: String? {
    for line in lines {
      let words = String(decoding: line, as: UTF8.self).split(whereSeparator: \.isWhitespace)
      guard let start = words.firstIndex(of: "SHA256:"), start + 1 < words.count else { continue }
      let digits = words[start + 1].lowercased().prefix { $0.isHexDigit }
      if digits.count >= 8 { return digits.allSatisfy { $0 == "0" } ? nil : String(digits) }
    }
    return nil
  }

  /// What can be program addresses in a line of any kind: `0x4` and seven more digits.
  package static func addresses(in line: [UInt8]) -> [UInt32] {
    let text = VisibleText(line).plain.lowercased()
    return text.ranges(of: "0x4").prefix(addressesLimit).compactMap { start in
      hexadecimal(text[start.lowerBound...].dropFirst(2).prefix { $0.isHexDigit })
    }
  }

  /// `Core  1 register dump:`, `Core  0 panic'ed`, `… on core 1`, `Print CPU 0 (current core)`
  private static func core(in text: String) -> Int? {
    for label in ["Core ", " on core ", "Print CPU "] {
      guard let start = text.firstRange(of: label) else { continue }
      let rest = text[start.upperBound...].drop { $0 == " " }
      guard label != "Core " || rest.contains(" register dump") || rest.contains("panic'ed") else { continue }
      if let core = rest.first?.wholeNumberValue { return core }
    }
    return nil
  }

  /// `0x400d35da:0x3ffbe9d0 …`: pairs of program counter and stack pointer, with or without a blank
  /// between them.
  private static func pairs(in text: Substring, isRISCV: Bool) -> [CodeAddress] {
    var found: [CodeAddress] = []
    var rest = text.drop { $0 == " " }
    while let address = address(rest.prefix(10)) {
      let isReturn = isRISCV && !found.isEmpty && address > 0
      found.append(CodeAddress(printed: address, lookedUp: isReturn ? address - 1 : address))
      rest = rest.dropFirst(10)
      if rest.first == ":" { rest = rest.dropFirst(1 + 10) }
      rest = rest.drop { $0 == " " }
    }
    return found
  }

  /// `BT0: 0x4200a2b4  (backtrace)` and `PC:  0x4200a2b4  (fault location)` of ESPHome.
  private static func labelled(in words: [Substring]) -> [CodeAddress] {
    words.indices.dropLast(2).compactMap { index in
      let isLabel = words[index] == "PC:" || words[index].hasPrefix("BT") && words[index].hasSuffix(":")
      guard isLabel, words[index + 2].hasPrefix("("), let address = address(words[index + 1]) else {
        return nil
      }
      return CodeAddress(printed: address, lookedUp: address)
    }
  }

  /// `MEPC    : 0x4200a2b4`; Zephyr: `mepc: 4200a2b4`
  private static func registers(in words: [Substring]) -> [CodeAddress] {
    var found: [CodeAddress] = []
    for start in words.indices {
      var rest = words[start...]
      var name = rest.removeFirst().uppercased()
      if rest.first == ":" {
        rest.removeFirst()
      } else if name.last == ":" {
        name.removeLast()
      } else {
        continue
      }
      let isPlain = words[start].last == ":"
      guard let word = rest.first, let value = address(word) ?? (isPlain ? hexadecimal(word) : nil) else {
        continue
      }
      switch name {
      case "MEPC", "XEPC", "PC": found.append(CodeAddress(printed: value, lookedUp: value))
      case "RA" where value > 0: found.append(CodeAddress(printed: value, lookedUp: value - 1))
      case _: break
      }
    }
    return found
  }

  /// `0x4200a2b4`, with exactly 8 digits.
  private static func address(_ text: Substring) -> UInt32? {
    text.hasPrefix("0x") ? hexadecimal(text.dropFirst(2)) : nil
  }

  private static func hexadecimal(_ text: Substring) -> UInt32? {
    text.utf8.count == 8 ? UInt32(text, radix: 16) : nil
  }
}
