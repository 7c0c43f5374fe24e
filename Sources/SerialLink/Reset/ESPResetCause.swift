/// The reset cause printed by the ROM of an ESP32 chip: the number and the word of `rst:0x1
/// (POWERON)`.
package struct ESPResetCause: Hashable, Sendable {
  /// A fault of the program or of the power supply.
  package enum Trouble: Hashable, Sendable {
    case watchdog
    /// The supply voltage was too low, or had a glitch.
    case brownout
    /// The processor stopped in its own panic handler.
    case lockup
  }

  /// Who wanted the reset.
  package enum Meaning: Hashable, Sendable {
    /// Power-on, the reset button, a debugger, USB, or a wake from deep sleep.
    case intended
    /// The program restarted the chip: on purpose, or at the end of a panic.
    case software
    case trouble(Trouble)
    case unknown
  }

  /// The chip's number for it; the same numbers have the same meaning on nearly all chips.
  package let number: UInt8
  /// The ROM's name for it, such as `POWERON`: letters, digits, `_` and `/`.
  package let name: String

  /// Source: the reset causes in the ROMs of all chips from ESP32 to ESP32-P4; the names differ
  /// from chip to chip (`BROWNOUT_RST`, `LP_BOD_SYS`).
  package var meaning: Meaning {
    switch number {
    case 0x01, 0x02, 0x05, 0x06, 0x15, 0x16, 0x18: .intended
    case 0x03, 0x0C: .software
    case 0x04, 0x07, 0x08, 0x09, 0x0B, 0x0D, 0x10, 0x11, 0x12: .trouble(.watchdog)
    // ESP32-P4: a reset by USB.
    case 0x17 where name.contains("USB"): .intended
    case 0x0F, 0x13, 0x17, 0x19, 0x1B: .trouble(.brownout)
    case 0x1A: .trouble(.lockup)
    case _: .unknown
    }
  }

  /// `nil` for a start that is not a fault, as far as the cause shows.
  package var trouble: Trouble? {
    if case .trouble(let trouble) = meaning { trouble } else { nil }
  }
}

/// The line in which a ROM reports a start: `rst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)`.
package struct ESPBootLine: Hashable, Sendable {
  package let cause: ESPResetCause
  /// The boot mode, such as `SPI_FAST_FLASH_BOOT` or `DOWNLOAD(USB/UART0)`.
  package let mode: String

  static let wordLimitBytes = 60
  private static let label = Array("rst:0x".utf8)
  private static let modeLabel = Array("),boot:0x".utf8)

  /// The first report in a line, behind noise, but not in a message; `nil` if there is none.
  package init?(in line: [UInt8]) {
    guard line.count > Self.label.count + Self.modeLabel.count else { return nil }
    for offset in 0..<(line.count - Self.label.count)
    where line[offset] == Self.label[0] && line[offset...].starts(with: Self.label) {
      if offset > 0, Self.isWord(line[offset - 1]) || Self.isMessage(line[..<offset]) { continue }
      guard let found = Self.parse(line[(offset + Self.label.count)...]) else { continue }
      (cause, mode) = found
      return
    }
    return nil
  }

  /// Whether text is in front of a report: a board prints its last reset, or the console of
  /// another chip. Noise has other bytes, too; the end of a colour is no text.
  private static func isMessage(_ bytes: ArraySlice<UInt8>) -> Bool {
    let isText = bytes.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 || $0 == 0x1B }
    let colour = bytes.firstIndex(of: 0x1B).map { bytes[$0...] } ?? []
    let visible = bytes.count { $0 > 0x20 && $0 < 0x7F } - colour.count { $0 > 0x20 && $0 < 0x7F }
    return isText && (visible > 0 || colour.count > 5)
  }

  private static func parse(_ text: ArraySlice<UInt8>) -> (ESPResetCause, String)? {
    var text = text
    guard let number = number(&text), number <= UInt8.max, let name = word(&text, isWord),
      text.starts(with: modeLabel)
    else { return nil }
    text = text.dropFirst(modeLabel.count)
    // "DOWNLOAD(USB/UART0)"
    guard Self.number(&text) != nil,
      let mode = word(&text, { isWord($0) || $0 == UInt8(ascii: "(") || $0 == UInt8(ascii: ")") })
    else { return nil }
    return (ESPResetCause(number: UInt8(number), name: name), mode)
  }

  private static func number(_ text: inout ArraySlice<UInt8>) -> UInt32? {
    let digits = text.prefix { Character(Unicode.Scalar($0)).isHexDigit }
    text = text.dropFirst(digits.count)
    return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  /// ` (WORD`
  private static func word(_ text: inout ArraySlice<UInt8>, _ isPart: (UInt8) -> Bool) -> String? {
    guard text.starts(with: " (".utf8) else { return nil }
    text = text.dropFirst(2)
    let word = text.prefix(while: isPart)
    guard (1...wordLimitBytes).contains(word.count) else { return nil }
    text = text.dropFirst(word.count)
    return String(decoding: word, as: UTF8.self)
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    let scalar = Unicode.Scalar(byte)
    return scalar.isASCII && (scalar.properties.isAlphabetic || "0"..."9" ~= scalar)
      || scalar == "_" || scalar == "/"
  }
}
