/// The reset cause printed by the ROM of an ESP32 chip: the word of `rst:0x1 (POWERON)`.
package struct ESPResetCause: Hashable, Sendable {
  /// The fault of the chip, if the cause shows one.
  package enum Trouble: Hashable, Sendable {
    case watchdog
    case brownout
    case panic
    case lockup
  }

  static let nameLimitBytes = 40
  private static let label = Array("rst:0x".utf8)

  /// The ROM's name for it, such as `POWERON`, at most `nameLimitBytes`; unchanged, sanitise before
  /// printing.
  package let name: String

  /// The first cause in a line; noise can precede it. `nil` if there is none.
  package init?(in line: some Collection<UInt8>) {
    let word = ESPBootWord.word(after: Self.label, in: Array(line), limitBytes: Self.nameLimitBytes)
    guard let name = word else { return nil }
    self.name = name
  }

  /// `nil` for an intended start. An ESP32 calls a brownout `RTCWDT_BROWN_OUT_RESET`.
  package var trouble: Trouble? {
    if name.contains("BROWN") { return .brownout }
    if name.contains("WDT") { return .watchdog }
    if name.contains("PANIC") { return .panic }
    return name.contains("LOCKUP") ? .lockup : nil
  }
}

/// The words that an ESP32 chip's ROM prints in parentheses after a number.
enum ESPBootWord {
  /// The text in parentheses after a number after the first `label`; `nil` if it is missing, empty
  /// or too long.
  static func word(after label: [UInt8], in line: [UInt8], limitBytes: Int) -> String? {
    guard line.count > label.count,
      let place = (0...(line.count - label.count)).first(where: { line[$0...].starts(with: label) })
    else { return nil }
    let rest = line[(place + label.count)...].drop { $0 != UInt8(ascii: "(") && $0 != UInt8(ascii: ",") }
    guard rest.first == UInt8(ascii: "(") else { return nil }
    let word = rest.dropFirst().prefix { $0 != UInt8(ascii: ")") && $0 != UInt8(ascii: "(") }
    guard (1...limitBytes).contains(word.count) else { return nil }
    return String(decoding: word, as: UTF8.self)
  }
}
