package import Foundation
package import SerialLink

/// A JSON report of any command, read back.
package enum ReportDocument: Sendable {
  /// Of `test`: a document for each board, or for each bearer of one board with their comparison.
  case suite([SuiteDocument], BearersDocument? = nil)
  case soak(SoakDocument)
  case bench(BenchDocument)
  /// Of `notibot-dev journal`, `scripts/dev measure` and others: figures by their names.
  case figures(title: String, JSONValue)

  /// The longest document. A report of many boards has some megabytes.
  package static let limitBytes = 64 << 20

  private struct Head: Decodable {
    var schema: String
    var version: Int
  }

  private struct Boards: Decodable {
    var boards: [SuiteDocument]
    var comparison: BearersDocument?
  }

  /// The schemas that can be read, each with its highest version.
  package static let schemas = [
    "notibot.conformance": 1, "notibot.conformance.boards": 1, "notibot.soak": 1, "notibot.bench": 1,
    "notibot.bench.journal": 1, "notibot.measure": 1,
  ]

  package init(parsing data: Data) throws(Failure) {
    guard data.count <= Self.limitBytes else {
      throw Failure(.usage, "it is longer than \(Self.limitBytes >> 20) MiB")
    }
    do {
      let head = try JSONDecoder().decode(Head.self, from: data)
      guard let version = Self.schemas[head.schema] else {
        throw Failure(.usage, "its schema is '\(head.schema.prefix(60).description.printable)'")
      }
      guard head.version <= version else {
        throw Failure(
          .usage, "it has version \(head.version) of \(head.schema), and this program knows \(version)")
      }
      switch head.schema {
      case "notibot.conformance": self = .suite([try JSONDecoder().decode(SuiteDocument.self, from: data)])
      case "notibot.conformance.boards":
        let document = try JSONDecoder().decode(Boards.self, from: data)
        self = .suite(document.boards, document.comparison)
      case "notibot.soak": self = .soak(try JSONDecoder().decode(SoakDocument.self, from: data))
      case "notibot.bench": self = .bench(try JSONDecoder().decode(BenchDocument.self, from: data))
      case _:
        self = .figures(title: head.schema, try JSONDecoder().decode(JSONValue.self, from: data))
      }
    } catch let fault as Failure {
      throw fault
    } catch {
      throw Failure(.usage, "it is not a JSON report of this program")
    }
  }

  /// The report as one HTML file.
  package var html: String {
    switch self {
    case .suite(let boards, let comparison): SuitePage(boards: boards, comparison: comparison).document
    case .soak(let soak): SoakPage(soak: soak).document
    case .bench(let bench): BenchPage(bench: bench).document
    case .figures(let title, let value): FiguresPage(title: title, value: value).document
    }
  }
}
