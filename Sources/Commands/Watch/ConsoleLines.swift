import NotibotProtocol

/// Splits console text, which arrives in pieces, into lines, which are not sanitised.
struct ConsoleLines {
  /// A longer line is split, so that memory is bounded if a device never ends a line.
  static let lineLimitBytes = 4096

  private var pending: [UInt8] = []

  /// The lines that these bytes complete, without their ends.
  mutating func lines(in bytes: [UInt8]) -> [String] {
    var lines: [String] = []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") {
        lines.append(drainLine())
      } else {
        pending.append(byte)
        if pending.count == Self.lineLimitBytes { lines.append(drainLine()) }
      }
    }
    return lines
  }

  private mutating func drainLine() -> String {
    if pending.last == UInt8(ascii: "\r") { pending.removeLast() }
    defer { pending.removeAll(keepingCapacity: true) }
    return TerminalText.exact(pending)
  }
}
