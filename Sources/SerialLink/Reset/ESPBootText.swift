/// The output of an ESP32 chip's ROM at start-up, such as `rst:0x1 (POWERON),boot:0xc
/// (SPI_FAST_FLASH_BOOT)`.
package struct ESPBootText: Hashable, Sendable {
  package let cause: ESPResetCause
  /// Whether it waits for an image, instead of starting the app.
  package let isInLoader: Bool

  private static let lineLimitBytes = 256

  /// The last start in `bytes` with a complete line; `nil` if there is none.
  package init?(lastIn bytes: some BidirectionalCollection<UInt8>) {
    let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
    let isWhole = bytes.last.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") } ?? false
    var found: ESPBootLine?
    var isWaiting = false
    for line in isWhole ? lines[...] : lines.dropLast() {
      let line = Array(line.prefix(Self.lineLimitBytes))
      if let start = ESPBootLine(in: line) {
        found = start
        isWaiting = false
      } else if line.starts(with: "waiting for download".utf8) {
        isWaiting = true
      }
    }
    guard let found else { return nil }
    cause = found.cause
    isInLoader = isWaiting || found.mode.hasPrefix("DOWNLOAD")
  }
}

/// The loader in the ROM of an ESP32 chip, as far as needed to detect it.
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
