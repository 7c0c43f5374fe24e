import Conformance
import SerialLink

/// The command that repeats one case of a run of `notibot test`, on the same device.
struct AgainLine: Sendable {
  /// Options of the run that select cases and reports, with a value.
  private static let dropped: Set = [
    "--filter", "--exclude", "--rerun-failed", "--repeat", "--seed", "--junit", "--json", "--html", "--jobs",
    "-j", "--trace",
  ]
  private static let droppedFlags: Set = [
    "--all", "--quiet", "-q", "--fail-fast", "--list", "--quick", "--verbose", "-v",
  ]

  private let words: [String]
  private let seed: UInt64

  /// - Parameters:
  ///   - arguments: the command line, from `test` on.
  ///   - board: the port, if the run has several.
  init(_ arguments: some Sequence<String>, board: String? = nil, seed: UInt64) {
    let dropped = board == nil ? Self.dropped : Self.dropped.union(["--port", "-p", "--also", "--att"])
    var words: [String] = []
    var isValue = false
    for word in arguments {
      if !isValue, !Self.droppedFlags.contains(word) {
        let name = word.hasPrefix("-") ? String(word.prefix { $0 != "=" }) : word
        if dropped.contains(name) {
          isValue = name == word
          continue
        }
        words.append(word)
      }
      isValue = false
    }
    self.words = ["notibot"] + words + (board.map { ["-p", $0] } ?? [])
    self.seed = seed
  }

  /// For a case that did not pass.
  func text(for result: CaseResult) -> String {
    let id = result.testCase.id.map { "\\^$.|?*+()[]{}".contains($0) ? "\\\($0)" : "\($0)" }.joined()
    let rounds = result.runs > 1 ? ["--repeat", "\(result.runs)"] : []
    let all = words + ["--filter", "^\(id)$", "--seed", "\(seed)"] + rounds
    return "again: " + all.map(Self.quoted).joined(separator: " ").printable
  }

  /// A word as a shell reads it.
  private static func quoted(_ word: String) -> String {
    let isPlain =
      !word.isEmpty
      && word.unicodeScalars.allSatisfy {
        $0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_./:,=@%+".unicodeScalars.contains($0)
      }
    return isPlain
      ? word
      : "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
  }
}
