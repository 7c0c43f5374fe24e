package import Foundation
package import SerialLink

/// A JSON report of any command, read back.
package enum ReportDocument: Sendable {
  /// Of `test`: a document for each board, or for each bearer of one board with their comparison.
  case suite([SuiteDocument], BearersDocument? = nil)
  case soak(SoakDocument)
  /// Of `soak --all`.
  case soaks([SoakedBoard])
  case bench(BenchDocument)
  /// Of `notibot-dev journal`, `scripts/dev measure` and others: figures by their names.
  case figures(title: String, JSONValue)

  /// The longest document. A report of many boards has some megabytes.
  package static let limitBytes = 64 << 20

  private struct Head: Decodable {
    var schema: String
    var version: Int
  }

  private struct Suites: Decodable {
    var boards: [SuiteDocument]
    var comparison: BearersDocument?
  }

  private struct Boards<Board: Decodable>: Decodable {
    var boards: [Board]
  }

  private struct BoardHead: Decodable {
    var report: Head?
  }

  /// The schemas that can be read, each with its highest version.
  package static let schemas = [
    "notibot.conformance": 1, "notibot.conformance.boards": 1, "notibot.soak": 1, "notibot.boards": 1,
    "notibot.bench": 1, "notibot.bench.journal": 1, "notibot.measure": 1,
  ]

  package init(parsing data: Data) throws(Failure) {
    guard data.count <= Self.limitBytes else {
      throw Failure(
        .usage, "it is longer than \(Self.limitBytes >> 20) MiB",
        remedy: "make a report of fewer boards or cases")
    }
    do {
      let head = try JSONDecoder().decode(Head.self, from: data)
      guard let version = Self.schemas[head.schema] else {
        throw Self.otherSchema(head.schema, "its schema is")
      }
      guard head.version <= version else {
        throw Failure(
          .usage, "it has version \(head.version) of \(head.schema), and this program knows \(version)",
          remedy: "update this program")
      }
      switch head.schema {
      case "notibot.conformance": self = .suite([try JSONDecoder().decode(SuiteDocument.self, from: data)])
      case "notibot.conformance.boards":
        let document = try JSONDecoder().decode(Suites.self, from: data)
        self = .suite(document.boards, document.comparison)
      case "notibot.boards":
        // `flash --all` has this schema as well.
        let heads = try JSONDecoder().decode(Boards<BoardHead>.self, from: data).boards
        if let other = heads.compactMap(\.report?.schema).first(where: { $0 != "notibot.soak" }) {
          throw Self.otherSchema(other, "the schema of its boards is")
        }
        self = .soaks(try JSONDecoder().decode(Boards<SoakedBoard>.self, from: data).boards)
      case "notibot.soak": self = .soak(try JSONDecoder().decode(SoakDocument.self, from: data))
      case "notibot.bench": self = .bench(try JSONDecoder().decode(BenchDocument.self, from: data))
      case _:
        self = .figures(title: head.schema, try JSONDecoder().decode(JSONValue.self, from: data))
      }
    } catch let fault as Failure {
      throw fault
    } catch {
      throw Self.notAReport
    }
  }

  static let notAReport = Failure(
    .usage, "it is not a JSON report of this program", remedy: "use a report that was written with --json")

  private static func otherSchema(_ schema: String, _ words: String) -> Failure {
    Failure(
      .usage, "\(words) '\(schema.prefix(60).description.printable)'",
      remedy: "use a JSON report of test, soak or bench, or one of scripts/dev measure")
  }

  /// The report as one HTML file.
  package var html: String {
    switch self {
    case .suite(let boards, let comparison): SuitePage(boards: boards, comparison: comparison).document
    case .soak(let soak): SoakPage(soak: soak).document
    case .soaks(let boards): SoaksPage(boards: boards).document
    case .bench(let bench): BenchPage(bench: bench).document
    case .figures(let title, let value): FiguresPage(title: title, value: value).document
    }
  }
}
