import Conformance

/// `--list`.
enum TestListing {
  private struct Document: Encodable {
    struct Entry: Encodable {
      var id: String
      var title: String
      var chapter: String
      var rules: [String]
      var needs: [String]
    }

    let schema = "notibot.conformance.cases"
    let version = 1
    var cases: [Entry]
  }

  /// Prints cases, one per line or as one JSON document; the document goes to a file if `json`
  /// names one.
  static func print(_ cases: [Case], json: String?) throws {
    guard let json else { return cases.forEach { Output.data(line(for: $0)) } }
    let document = Document(
      cases: cases.map { testCase in
        Document.Entry(
          id: testCase.id, title: testCase.title, chapter: testCase.chapter.rawValue, rules: testCase.rules,
          needs: testCase.needs.sorted().map(\.rawValue))
      })
    if json == "-" { return try Output.json(document, pretty: true) }
    let text = try Output.document(document, pretty: true) + "\n"
    try ReportFile(path: json).write(text)
  }

  /// One case in one line: chapter, id, title, needs.
  static func line(for testCase: Case) -> String {
    let needs = testCase.needs.sorted().map(\.rawValue).joined(separator: ", ")
    let also = testCase.rules.dropFirst().joined(separator: ", ")
    return "\(testCase.chapter.rawValue)\t\(testCase.id)\t\(testCase.title)\t\(also)\t\(needs)"
  }
}
