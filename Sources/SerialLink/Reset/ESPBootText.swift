/// What the ROM of an ESP32 chip prints when it starts, such as `rst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)`.
package struct ESPBootText: Hashable, Sendable {
  /// The ROM's name for the cause of the reset, such as `POWERON`, at most `wordLimitBytes`; as it came, sanitise before printing.
  package let cause: String
  /// Whether it waits for an image, instead of starting the app.
  package let isInLoader: Bool

  static let wordLimitBytes = 40

  /// Whether the chip restarted because something went wrong on it.
  package var isCrash: Bool { ["WDT", "BROWN", "PANIC", "LOCKUP"].contains { cause.contains($0) } }

  /// The last start in `bytes` whose line is whole; `nil` when there is none.
  package init?(lastIn bytes: some BidirectionalCollection<UInt8>) {
    let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    let isWhole = bytes.last.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? false
    var found: (cause: String, boot: String)?
    var isWaiting = false
    for line in isWhole ? lines[...] : lines.dropLast() {
      let text = String(decoding: line.prefix(256), as: UTF8.self)
      if let start = Self.start(text) {
        found = start
        isWaiting = false
      } else if text.hasPrefix("waiting for download") {
        isWaiting = true
      }
    }
    guard let found else { return nil }
    cause = found.cause
    isInLoader = isWaiting || found.boot.hasPrefix("DOWNLOAD")
  }

  /// `rst:0x1 (POWERON),boot:0xc (SPI_FAST_FLASH_BOOT)`, anywhere in a line: noise may stand before it.
  private static func start(_ line: String) -> (cause: String, boot: String)? {
    guard let reset = word(after: "rst:0x", in: line), let boot = word(after: "boot:0x", in: line) else {
      return nil
    }
    return (reset, boot)
  }

  /// What stands in parentheses behind a number behind `label`.
  private static func word(after label: String, in line: String) -> String? {
    let parts = Array(line.utf8)
    let wanted = Array(label.utf8)
    guard parts.count > wanted.count,
      let place = (0...(parts.count - wanted.count)).first(where: { parts[$0...].starts(with: wanted) })
    else { return nil }
    let rest = parts[(place + wanted.count)...].drop { $0 != UInt8(ascii: "(") && $0 != UInt8(ascii: ",") }
    guard rest.first == UInt8(ascii: "(") else { return nil }
    let word = rest.dropFirst().prefix { $0 != UInt8(ascii: ")") && $0 != UInt8(ascii: "(") }
    guard (1...wordLimitBytes).contains(word.count) else { return nil }
    return String(decoding: word, as: UTF8.self)
  }
}

/// The loader in the ROM of an ESP32 chip, as far as it takes to know that it is there.
package enum ESPLoader {
  /// SYNC. Source: esptool's documentation, Serial Protocol.
  package static let sync: [UInt8] =
    [0xC0, 0x00, 0x08, 0x24, 0x00, 0, 0, 0, 0, 0x07, 0x07, 0x12, 0x20] + Array(repeating: 0x55, count: 32) + [
      0xC0
    ]

  /// Whether an answer to SYNC is in `bytes`.
  package static func hasAnswered(in bytes: some Collection<UInt8>) -> Bool {
    let answer: [UInt8] = [0xC0, 0x01, 0x08]
    var window: [UInt8] = []
    for byte in bytes {
      window.append(byte)
      if window.count > answer.count { window.removeFirst() }
      if window == answer { return true }
    }
    return false
  }
}
