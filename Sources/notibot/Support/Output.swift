import Foundation
import NotibotProtocol

/// The two streams of a command: data on stdout, all else on stderr. A line is written whole and at once, so
/// that a reader at the other end of a pipe sees each result when it happens.
enum Output {
  /// Writes one line of data to stdout.
  static func data(_ line: String) {
    write(line + "\n", to: .standardOutput)
  }

  /// Writes one JSON document, or one line of NDJSON, to stdout. Keys are sorted, so that outputs compare.
  static func json(_ value: some Encodable, pretty: Bool = false) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    data(String(decoding: try encoder.encode(value), as: UTF8.self))
  }

  /// Writes one line for the person to stderr.
  static func note(_ line: String) {
    write(line + "\n", to: .standardError)
  }

  /// Whether stderr is a terminal that can redraw a line.
  static var hasTerminal: Bool {
    isatty(STDERR_FILENO) == 1 && ProcessInfo.processInfo.environment["TERM"] != "dumb"
  }

  /// Whether colour is wanted on a stream: a terminal, and `NO_COLOR` unset or empty (no-color.org).
  static func usesColor(_ descriptor: Int32 = STDOUT_FILENO) -> Bool {
    let environment = ProcessInfo.processInfo.environment
    guard environment["NO_COLOR", default: ""].isEmpty, environment["TERM"] != "dumb" else { return false }
    return isatty(descriptor) == 1
  }

  private static func write(_ text: String, to handle: FileHandle) {
    // A reader that closed the pipe ends the program by SIGPIPE as it ends any other filter; other errors
    // of stdout have nobody left to be told.
    try? handle.write(contentsOf: Data(text.utf8))
  }
}
