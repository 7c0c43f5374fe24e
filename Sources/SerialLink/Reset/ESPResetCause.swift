/// Why the ROM of an ESP32 chip says that it starts: the word of `rst:0x1 (POWERON)`.
package struct ESPResetCause: Hashable, Sendable {
  /// What went wrong on the chip, as far as the cause tells.
  package enum Trouble: Hashable, Sendable {
    case watchdog
    case brownout
    case panic
    case lockup
  }

  static let nameLimitBytes = 40
  private static let label = Array("rst:0x".utf8)

  /// The ROM's name for it, such as `POWERON`, at most `nameLimitBytes`; as it came, sanitise before printing.
  package let name: String

  /// The first cause in a line; noise may stand before it. `nil` when none is named.
  package init?(in line: some Collection<UInt8>) {
    let word = ESPBootWord.word(after: Self.label, in: Array(line), limitBytes: Self.nameLimitBytes)
    guard let name = word else { return nil }
    self.name = name
  }

  /// `nil` for a start that was meant. An ESP32 calls a brownout `RTCWDT_BROWN_OUT_RESET`.
  package var trouble: Trouble? {
    if name.contains("BROWN") { return .brownout }
    if name.contains("WDT") { return .watchdog }
    if name.contains("PANIC") { return .panic }
    return name.contains("LOCKUP") ? .lockup : nil
  }
}

/// The words that an ESP32 chip's ROM puts in parentheses behind a number.
enum ESPBootWord {
  /// What stands in parentheses behind a number behind the first `label`; `nil` for none, an empty and a longer one.
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
