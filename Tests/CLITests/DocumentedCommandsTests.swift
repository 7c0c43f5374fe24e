import Foundation
import Testing

/// Commands and options in the documents exist.
@Suite(.inTurn) struct DocumentedCommandsTests {
  private struct Dump: Decodable {
    struct Command: Decodable {
      struct Argument: Decodable {
        struct Name: Decodable {
          var kind: String
          var name: String
        }

        var names: [Name]?
      }

      var commandName: String
      var arguments: [Argument]?
      var subcommands: [Command]?

      /// The long options of the command and of its own subcommands.
      var options: Set<String> {
        let own = (arguments ?? []).flatMap { $0.names ?? [] }.filter { $0.kind == "long" }.map(\.name)
        return (subcommands ?? []).reduce(into: Set(own)) { $0.formUnion($1.options) }
      }
    }

    var command: Command
  }

  private static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

  private static func text(of page: String) throws -> String {
    try String(contentsOf: root.appending(path: page), encoding: .utf8)
  }

  @Test func `every option that a page shows is one of its command`() async throws {
    let dump = try JSONDecoder().decode(
      Dump.self, from: Data(try await run("--experimental-dump-help").output.utf8))
    let commands = Dictionary(
      uniqueKeysWithValues: (dump.command.subcommands ?? []).map { ($0.commandName, $0.options) })
    // `notibot COMMAND …` anywhere, and the first column of a table of commands.
    let use = /(?:\bnotibot |^\| `|^\|.*?, `)([a-z0-9-]+)((?:\\\||[^`|;&#\n])*)/.anchorsMatchLineEndings()
    let docs = try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: "docs").path)
    let pages = docs.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
    var count = 0
    for page in ["README.md", "CONTRIBUTING.md"] + pages {
      for match in try Self.text(of: page).matches(of: use) {
        guard let options = commands[String(match.1)], match.1 != "gateway" else { continue }
        for option in match.2.matches(of: /[\s\[(\/|]--([a-z][\w-]*)/).map({ String($0.1) }) {
          count += 1
          #expect(
            options.contains(option) || option == "help", "\(page): notibot \(match.1) has no --\(option)")
        }
      }
    }
    #expect(count > 50)
  }
}
