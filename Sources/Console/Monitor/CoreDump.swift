/// Takes the core dump that ESP-IDF prints in Base64 from the lines of a console.
///
/// States: *outside* → the line of its start → *inside* → the line of its end → *outside*, and the
/// dump is returned; *inside* → a line that is no Base64, or the limit → *outside*.
package struct CoreDump: Equatable, Sendable {
  /// What a line has ended.
  package enum Ending: Equatable, Sendable {
    /// The content of the core dump partition, as esp-coredump reads it with `--core-format raw`.
    case complete([UInt8])
    /// It was not understood to its end; the reason, for a message.
    case broken(String)
  }

  /// Source: ESP-IDF, components/espcoredump.
  static let start = "================= CORE DUMP START ================="
  static let end = "================= CORE DUMP END ================="
  /// Four times the usual partition.
  static let limitBytes = 262_144

  private var bytes: [UInt8]?

  package init() {}

  /// - Parameters:
  ///   - line: without colours and line end.
  ///   - decode: the bytes of a Base64 text; `nil` if it is none.
  package mutating func receive(_ line: String, decode: (String) -> [UInt8]?) -> Ending? {
    guard let bytes else {
      if line.hasSuffix(Self.start) { bytes = [] }
      return nil
    }
    if line.hasSuffix(Self.end) {
      self.bytes = nil
      return bytes.isEmpty ? .broken("it is empty") : .complete(bytes)
    }
    // Messages of the dump's writer can come between its lines.
    if LogLine(Array(line.utf8)) != nil || line.isEmpty { return nil }
    // Each line is encoded on its own.
    guard let more = decode(line) else { return fail("a line is not Base64") }
    guard bytes.count + more.count <= Self.limitBytes else {
      return fail("it is longer than \(Self.limitBytes) bytes")
    }
    self.bytes = bytes + more
    return nil
  }

  private mutating func fail(_ reason: String) -> Ending {
    bytes = nil
    return .broken(reason)
  }
}
