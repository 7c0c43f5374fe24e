import Foundation
import Reports

/// The HTML of a report, made from its JSON, so that both have the same content.
enum HTMLReport {
  static func document(of json: String) -> String {
    do {
      return try ReportDocument(parsing: Data(json.utf8)).html
    } catch {
      // The program cannot read its own JSON; the JSON is what there is.
      return HTML.document(
        title: "Notibot report", style: "",
        body: [.element(.h1, [], "No report: \(error)"), .element(.p, [], json)])
    }
  }

  /// - Parameter report: has only finite numbers.
  static func document(of report: some Encodable) -> String { document(of: Output.record(report)) }
}
