package import Foundation
package import SerialLink

/// The repeated runs of one version: what a comparison compares.
package struct RunSet: Equatable, Sendable {
  /// More than anyone repeats a run.
  package static let documentsLimit = 200

  /// `conformance`, `soak`, `bench`, …: documents of different kinds cannot be compared.
  package var kind: String
  /// The values of each figure, one per run.
  package var figures: [String: [Double]] = [:]
  /// The outcomes of each case, one per run and board.
  package var outcomes: [String: [String]] = [:]
  /// Runs that were incomplete, each with its reason.
  package var troubles: [String] = []
  /// Which parts of the suite were run; empty: all of it.
  package var parts: Set<String> = []
  /// The computers, kernels and paths of the runs.
  package var places: Set<String> = []

  /// - Throws: `Failure` if a document is no report, or not of the kind of the others.
  package init(_ documents: [Data]) throws(Failure) {
    guard let first = documents.first else { throw Failure(.usage, "there is no report") }
    guard documents.count <= Self.documentsLimit else {
      throw Failure(
        .usage, "there are more than \(Self.documentsLimit) reports",
        remedy: "compare at most \(Self.documentsLimit)")
    }
    kind = try Self.kind(of: try Self.value(first))
    for document in documents {
      let value = try Self.value(document)
      let other = try Self.kind(of: value)
      guard other == kind else {
        throw Failure(
          .usage, "reports of \(kind) and of \(other) are mixed",
          remedy: "put those of each command into a folder of its own")
      }
      add(value)
    }
  }

  /// Checks it as a report of its own, and returns it as figures with names.
  private static func value(_ data: Data) throws(Failure) -> JSONValue {
    _ = try ReportDocument(parsing: data)
    do {
      return try JSONDecoder().decode(JSONValue.self, from: data)
    } catch {
      throw ReportDocument.notAReport
    }
  }

  private static func kind(of value: JSONValue) throws(Failure) -> String {
    guard let schema = value["schema"]?.text else { throw ReportDocument.notAReport }
    return ["notibot.conformance.boards": "notibot.conformance", "notibot.boards": "notibot.soak"][schema]
      ?? schema
  }

  private mutating func add(_ value: JSONValue) {
    if kind == "notibot.conformance" {
      if case .array(let boards)? = value["boards"] {
        boards.forEach { addSuite($0) }
      } else {
        addSuite(value)
      }
      return
    }
    if case .array(let boards)? = value["boards"], kind == "notibot.soak" {
      return boards.forEach { addBoard($0) }
    }
    addPlace(of: value)
    if let trouble = value["trouble"]?.text { troubles.append(trouble) }
    if case .array(let runs)? = value["runs"], !runs.isEmpty {
      runs.forEach { addFigures(of: $0) }
    } else {
      addFigures(of: value)
    }
  }

  private mutating func addBoard(_ board: JSONValue) {
    if let report = board["report"] { return add(report) }
    troubles.append("\(board["port"]?.text ?? ""): \(board["error"]?.text ?? "no report")")
  }

  private mutating func addFigures(of value: JSONValue) {
    for figure in value.figures { figures[figure.name, default: []].append(figure.value) }
  }

  private mutating func addSuite(_ value: JSONValue) {
    addPlace(of: value)
    if let trouble = value["rigTrouble"]?.text { troubles.append(trouble) }
    parts.insert(value["part"]?.text ?? "")
    if case .number(let seconds)? = value["seconds"] { figures["seconds", default: []].append(seconds) }
    guard case .array(let cases)? = value["cases"] else { return }
    for entry in cases {
      guard let id = entry["id"]?.text, let outcome = entry["outcome"]?.text else { continue }
      outcomes[id, default: []].append(outcome)
    }
  }

  private mutating func addPlace(of value: JSONValue) {
    let bench = value["bench"]
    let parts = [bench?["host"]?.text, bench?["kernel"]?.text, value["path"]?.text, value["rig"]?.text]
    let place = parts.compactMap(\.self).joined(separator: ", ")
    if !place.isEmpty { places.insert(place) }
  }
}
