package import ArgumentParser
import Foundation
package import SerialLink

/// What the parser accepts silently: an option for one value that is given twice, of which it keeps
/// the last one, and a file without a name, as of a variable that is not set.
package enum OptionCheck {
  private struct Help: Decodable {
    struct Command: Decodable { var arguments: [Argument]? }

    struct Argument: Decodable {
      struct Name: Decodable {
        var kind: String
        var name: String
      }

      struct Completion: Decodable {
        struct Files: Decodable {}

        var file: Files?
        var directory: Files?
      }

      var kind: String
      var isRepeating: Bool
      var names: [Name]?
      var completionKind: Completion?

      var spellings: Set<String> { Set((names ?? []).map { ($0.kind == "long" ? "--" : "-") + $0.name }) }
      var isFile: Bool { completionKind?.file != nil || completionKind?.directory != nil }
    }

    var command: Command
  }

  /// The usage error of the words behind a program's name, which are those of `command`.
  package static func failure(of words: some Sequence<String>, for command: any ParsableCommand.Type)
    -> Failure?
  {
    let words = words.prefix { $0 != "--" }
    let options = words.filter { $0.count > 1 && $0.hasPrefix("-") }
    let given = options.map { String($0.prefix { $0 != "=" }) }
    let empty =
      options.filter { $0.hasSuffix("=") }.map { String($0.dropLast()) }
      + zip(words, words.dropFirst()).filter { $1.isEmpty }.map(\.0)
    // Reading the help takes time: only if two names could be of one option.
    guard !empty.isEmpty || Set(given.map { $0.drop { $0 == "-" }.first }).count < given.count,
      let help = try? JSONDecoder().decode(Help.self, from: Data(command._dumpHelp().utf8))
    else { return nil }
    for option in help.command.arguments ?? [] where option.kind == "option" {
      let named = given.filter { option.spellings.contains($0) }
      if !option.isRepeating, named.count > 1 {
        return Failure(.usage, "\(named[1]) is given twice", remedy: "give it once")
      }
      if option.isFile, let name = empty.first(where: { option.spellings.contains($0) }) {
        return Failure(.usage, "\(name) is empty", remedy: "name a file, or omit it")
      }
    }
    return nil
  }
}
