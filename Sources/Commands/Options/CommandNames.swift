import ArgumentParser
import Glibc
import SerialLink

/// Checks of a command line that the parser does not make.
enum CommandNames {
  /// The error for an unknown command, also after `help`; `nil` when the command exists.
  static func problem(with arguments: [String]) -> Failure? {
    let words = arguments.first == "help" ? arguments.dropFirst() : arguments[...]
    guard let word = words.first, !word.hasPrefix("-"), word != "help" else { return nil }
    let names = Notibot.configuration.subcommands.map { $0._commandName }
    guard !names.contains(word) else { return nil }
    let remedy =
      nearest(to: word, among: names).map { "did you mean '\($0)'?" }
      ?? "list the commands with: notibot --help"
    return Failure(
      .usage, "unknown command '\(word.prefix(80).description.printable)'", remedy: remedy)
  }

  /// Swift reads the arguments from /proc. Without it the list is empty, and every command would
  /// print the help.
  static func missingProc() -> Failure? {
    guard access("/proc/self/cmdline", R_OK) != 0 else { return nil }
    return Failure(
      .unfitEnvironment, "cannot read the command line: /proc/self/cmdline is missing",
      remedy: "mount it with: sudo mount -t proc proc /proc")
  }

  /// The nearest name within two edits of `word`; within one edit if it has at most four letters.
  static func nearest(to word: String, among names: [String]) -> String? {
    let limit = word.count <= 4 ? 1 : 2
    let distances = names.map { (name: $0, distance: distance(Array(word), Array($0))) }
    return distances.filter { $0.distance <= limit }.min { $0.distance < $1.distance }?.name
  }

  /// The number of letters to insert, remove, replace or swap with their neighbour.
  private static func distance(_ left: [Character], _ right: [Character]) -> Int {
    var rows = [Array(0...right.count)]
    for row in 0..<left.count {
      var next = [row + 1]
      for column in 0..<right.count {
        let isSame = left[row] == right[column]
        var best = min(rows[row][column + 1] + 1, next[column] + 1, rows[row][column] + (isSame ? 0 : 1))
        if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
          best = min(best, rows[row - 1][column - 1] + 1)
        }
        next.append(best)
      }
      rows.append(next)
    }
    return rows[left.count][right.count]
  }
}
