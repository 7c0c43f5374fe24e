/// The options in a name such as `rfc2217://host:port?ign_set_control`.
package struct RFC2217Options: Hashable, Sendable {
  /// Default time that a server has to confirm a command.
  package static let usualTimeout = Duration.seconds(2)
  /// The shortest and the longest time that can be set.
  static let timeouts = Duration.milliseconds(100)...Duration.seconds(60)

  /// Whether a command to modem lines or break waits for its confirmation; some servers send none.
  package var confirmsControl: Bool
  /// How long the server has to confirm a command.
  package var timeout: Duration

  package init(confirmsControl: Bool = true, timeout: Duration = usualTimeout) {
    self.confirmsControl = confirmsControl
    self.timeout = timeout
  }

  /// Parses the text after the question mark, such as `ign_set_control&timeout=5`.
  init(parsing query: Substring) throws(Failure) {
    self.init()
    for part in query.split(separator: "&", omittingEmptySubsequences: false) {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      switch (pair.first, pair.count) {
      case ("ign_set_control", 1): confirmsControl = false
      case ("timeout", 2):
        guard let timeout = Self.timeout(pair[1]) else {
          throw Failure(.usage, "timeout= takes 0.1 to 60 seconds, as in ?timeout=5")
        }
        self.timeout = timeout
      case _:
        throw Failure(
          .usage,
          "'\(part.prefix(40))' is not known after the question mark: ign_set_control or timeout=SECONDS")
      }
    }
  }

  private static func timeout(_ text: Substring) -> Duration? {
    guard text.utf8.count <= 10, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2E }),
      let seconds = Double(text), seconds.isFinite
    else { return nil }
    let timeout = Duration.milliseconds(Int64((seconds * 1000).rounded()))
    return timeouts.contains(timeout) ? timeout : nil
  }

  /// The query that `init(parsing:)` reads back, with its question mark; empty for the usual
  /// options.
  var query: String {
    var parts: [String] = []
    if !confirmsControl { parts.append("ign_set_control") }
    if timeout != Self.usualTimeout {
      let milliseconds =
        timeout.components.seconds * 1000 + timeout.components.attoseconds / 1_000_000_000_000_000
      var digits = milliseconds % 1000 == 0 ? "" : "." + String(1000 + milliseconds % 1000).dropFirst()
      while digits.last == "0" { digits.removeLast() }
      parts.append("timeout=\(milliseconds / 1000)\(digits)")
    }
    return parts.isEmpty ? "" : "?" + parts.joined(separator: "&")
  }
}
