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

  func run() throws {
    let missing = Failure(
      .unfitEnvironment, "the pages are not here", remedy: "install the package again, with its share folder")
    guard let folder = BuiltFile.docs,
      let files = try? FileManager.default.contentsOfDirectory(atPath: folder)
    else { throw missing }
    let names = files.filter { $0.hasSuffix(".md") }.map { String($0.dropLast(3)) }.sorted()
    func text(_ name: String) throws -> String {
      do throws(Failure) {
        let bytes = try RegularFile.read("\(folder)/\(name).md", limitBytes: 1 << 20)
        return String(decoding: bytes, as: UTF8.self)
      } catch {
        throw Failure(
          .unfitEnvironment, "cannot read \(folder.printable)/\(name.printable).md: \(error.message)")
      }
    }
    guard let page else {
      let rows = try names.map { [$0, String(try text($0).prefix { $0 != "\n" }.dropFirst(2))] }
      return Output.data(Table.text(rows))
    }
    let wanted = page.split(separator: "/").last.map { $0.hasSuffix(".md") ? $0.dropLast(3) : $0 } ?? ""
    guard names.contains(wanted.uppercased()) else {
      throw Failure(
        .usage, "there is no page '\(page.printable)'", remedy: "list them with: notibot docs")
    }
    // The text ends with a newline, and `data` adds one.
    Output.data(String(try text(wanted.uppercased()).dropLast()))
  }
}
