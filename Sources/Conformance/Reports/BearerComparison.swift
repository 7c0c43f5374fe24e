import SerialLink

/// The two bearers of one board, case by case: what one answers differently from the other. Only
/// cases that both decided are compared.
package struct BearerComparison: Encodable, Sendable {
  /// A case on one bearer.
  package struct Column: Encodable, Equatable, Sendable {
    package var outcome: String
    /// What was found, if it did not pass.
    package var finding: String?
    /// The answers that the other bearer gave differently.
    package var answers: [String]

    /// In one line.
    package var text: String {
      ([outcome, finding].compactMap(\.self)
        + (answers.isEmpty ? [] : ["answers \(answers.joined(separator: ", "))"]))
        .joined(separator: "; ")
    }
  }

  package struct Difference: Encodable, Sendable {
    package var id: String
    package var title: String
    package var rules: [String]
    /// In the order of `bearers`.
    package var columns: [Column]
  }

  /// A case that one bearer alone decided.
  package struct Single: Encodable, Equatable, Sendable {
    package var id: String
    /// The one that ran it.
    package var bearer: String
    /// Why the other one did not.
    package var reason: String
  }

  /// The ports, in the order of the columns.
  package let bearers: [String]
  package private(set) var compared = 0
  /// Those of them in which both bearers got the same kinds of requests, so that each answer was
  /// compared, too. A bearer can need others: long writes at a small MTU, what a session announces.
  package private(set) var comparedByAnswer = 0
  package private(set) var differences: [Difference] = []
  package private(set) var singles: [Single] = []
  /// Cases that neither bearer decided.
  package private(set) var undecided = 0

  package init(_ first: Report, _ second: Report) {
    bearers = [first.port, second.port]
    let others = Dictionary(second.results.map { ($0.testCase.id, $0) }) { first, _ in first }
    for result in first.results {
      let other = others[result.testCase.id]
      switch (result.undecided, other.map(\.undecided) ?? "not run") {
      case (nil, nil): if let other { compare(result, other) }
      case (nil, .some(let reason)):
        singles.append(Single(id: result.testCase.id, bearer: bearers[0], reason: reason))
      case (.some(let reason), nil):
        singles.append(Single(id: result.testCase.id, bearer: bearers[1], reason: reason))
      case (.some, .some): undecided += 1
      }
    }
    let known = Set(first.results.map(\.testCase.id))
    singles += second.results.filter { !known.contains($0.testCase.id) && $0.undecided == nil }.map {
      Single(id: $0.testCase.id, bearer: bearers[1], reason: "not run")
    }
  }

  private mutating func compare(_ first: CaseResult, _ second: CaseResult) {
    compared += 1
    var answers: [[Answer]] = [[], []]
    if first.answers.map(\.request) == second.answers.map(\.request) {
      comparedByAnswer += 1
      let different = zip(first.answers, second.answers).filter { $0 != $1 }
      answers = [different.map(\.0), different.map(\.1)]
    }
    guard first.outcome.word != second.outcome.word || !answers[0].isEmpty else { return }
    let columns = zip([first, second], answers).map { result, answers in
      Column(
        outcome: result.outcome.word, finding: result.outcome.findings.first,
        answers: answers.map(\.description).reduce(into: []) { if !$0.contains($1) { $0.append($1) } })
    }
    let testCase = first.testCase
    differences.append(
      Difference(id: testCase.id, title: testCase.title, rules: testCase.rules, columns: columns))
  }

  // MARK: Text

  /// Characters of a finding in a column.
  private static let findingLimit = 80

  /// The lines of the text report: differences first.
  package var lines: [String] {
    let head =
      "Differences: \(differences.count) in \(compared) compared cases, \(comparedByAnswer) of them answer by answer"
    let found = differences.flatMap { difference in
      ["  \(difference.id)  \(difference.title)"]
        + zip(bearers, difference.columns).map { bearer, column in
          let text = column.text.printable
          let cut = text.count > Self.findingLimit ? "\(text.prefix(Self.findingLimit))…" : text
          return "      \(padded(bearer.printable))  \(cut)"
        }
    }
    let alone = bearers.map { bearer in
      let reasons = Dictionary(grouping: singles.filter { $0.bearer == bearer }, by: \.reason)
        .sorted { ($1.value.count, $0.key) < ($0.value.count, $1.key) }
        .map { "\($0.value.count) (the other: \($0.key.printable))" }
      return "  only \(padded(bearer.printable))  \(reasons.isEmpty ? "0" : reasons.joined(separator: ", "))"
    }
    return [head] + found + alone + (undecided > 0 ? ["  neither: \(undecided)"] : []) + [""]
  }

  private func padded(_ bearer: String) -> String {
    let width = bearers.map(\.printable.count).max() ?? 0
    return bearer + String(repeating: " ", count: width - bearer.count)
  }
}

extension CaseResult {
  /// Why it says nothing about the device; nil if it does.
  fileprivate var undecided: String? {
    switch outcome {
    case .passed, .failed: nil
    // What its stack decides on a connection, nobody else decides on a serial line.
    case .differs: "stack: differs"
    case .skipped(let reason): reason
    case .errored: "rig error"
    }
  }
}
