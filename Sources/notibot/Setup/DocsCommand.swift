import ArgumentParser
import Foundation
import Rigs
import SerialLink

/// `notibot docs`: the pages of this version.
struct DocsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "docs", abstract: "Print a page of the documentation, or the list of them.")

  @Argument(
    help: "The page, such as CLI or GATEWAY.", completion: .shellCommand("notibot docs | cut -d' ' -f1"))
  var page: String?

  /// The name of a page, such as `CLI`, and its text.
  private typealias Page = (name: String, text: String)

  func run() throws {
    let pages = Self.pages()
    guard let page else {
      return Output.data(
        Table.text(pages.map { [$0.name, String($0.text.prefix { $0 != "\n" }.dropFirst(2))] }))
    }
    let name = page.split(separator: "/").last.map { $0.hasSuffix(".md") ? $0.dropLast(3) : $0 } ?? ""
    guard let found = pages.first(where: { $0.name == name.uppercased() }) else {
      throw CommandFailure(
        .usage, "there is no page '\(page.printable)'", remedy: "list them with: notibot docs")
    }
    // The text ends with a newline, and `data` adds one.
    Output.data(String(found.text.dropLast()))
  }

  private static func pages() -> [Page] {
    guard let folder = BuiltFile.docs else { return [] }
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return files.filter { $0.hasSuffix(".md") }.sorted().compactMap { file in
      (try? String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)).map {
        (String(file.dropLast(3)), $0)
      }
    }
  }
}
