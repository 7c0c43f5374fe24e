import ArgumentParser
import Foundation

/// An option for one value that is given twice: the parser keeps the last one silently.
enum RepeatedOption {
  private struct Help: Decodable {
    struct Command: Decodable { var arguments: [Argument]? }

    struct Argument: Decodable {
      struct Name: Decodable {
        var kind: String
        var name: String
      }

      var kind: String
      var isRepeating: Bool
      var names: [Name]?

      var spellings: Set<String> { Set((names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }) }
    }

    var command: Command
  }

  /// Its name as it was given the second time.
  static func first(in words: some Sequence<String>, of command: any ParsableCommand.Type) -> String? {
    let given = words.prefix { $0 != "--" }.filter { $0.count > 1 && $0.hasPrefix("-") }
      .map { String($0.prefix { $0 != "=" }) }
    // Reading the help takes time: only if two names could be of one option.
    let initials = given.map { $0.drop { $0 == "-" }.first }
    guard Set(initials).count < given.count,
      let help = try? JSONDecoder().decode(Help.self, from: Data(command._dumpHelp().utf8))
    else { return nil }
    let single = (help.command.arguments ?? []).filter { $0.kind == "option" && !$0.isRepeating }
    return single.lazy.map { option in given.filter { option.spellings.contains($0) } }
      .first { $0.count > 1 }?.last
  }
}
