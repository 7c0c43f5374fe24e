import Foundation
import SerialLink

extension Comparison {
  /// The verdict in one line.
  package var sentence: String {
    let worseCases = cases.count { $0.verdict == .worse }
    let betterCases = cases.count { $0.verdict == .better }
    func part(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
    let bad = [(worseCases, "case"), (worse.count, "figure")].filter { $0.0 > 0 }.map { part($0.0, $0.1) }
    let good = [(betterCases, "case"), (better.count, "figure")].filter { $0.0 > 0 }.map { part($0.0, $0.1) }
    let incomplete = isNewlyIncomplete ? ["the new run is incomplete"] : []
    let parts =
      incomplete + (bad.isEmpty ? [] : ["worse: \(bad.joined(separator: ", "))"])
      + (good.isEmpty ? [] : ["better: \(good.joined(separator: ", "))"])
    return parts.isEmpty ? "no change beyond the noise" : parts.joined(separator: "; ")
  }

  // MARK: Text

  /// For a terminal: the verdict, changes, warnings.
  package var text: String {
    var lines = ["\(kind): \(sentence)".printable]
    for change in cases where change.verdict != .different {
      lines.append("  \(mark(change.verdict)) \(change.id): \(change.old) -> \(change.new)".printable)
    }
    for figure in figures where figure.verdict != .same {
      lines.append("  \(mark(figure.verdict)) \(Self.words(figure))".printable)
    }
    let others = cases.filter { $0.verdict == .different }.map(\.id)
    if !others.isEmpty {
      let named = others.prefix(5).joined(separator: ", ") + (others.count > 5 ? ", …" : "")
      lines.append("  not in both: \(others.count) cases: \(named)".printable)
    }
    let same = figures.count { $0.verdict == .same }
    if same > 0 { lines.append("  unchanged figures: \(same)") }
    return (lines + warnings.map { "note: \($0)".printable }).joined(separator: "\n")
  }

  private func mark(_ verdict: Verdict) -> String {
    switch verdict {
    case .better: "better"
    case .worse: "WORSE "
    case .same: "same  "
    case .different: "other "
    }
  }

  static func words(_ figure: Figure) -> String {
    "\(figure.name): \(Chart.short(figure.old)) -> \(Chart.short(figure.new))\(percent(figure)), noise "
      + "±\(Chart.short(figure.noise)), \(figure.runs.old) and \(figure.runs.new) runs"
  }

  private static func percent(_ figure: Figure) -> String {
    figure.share.map { String(format: " (%+.1f %%)", $0 * 100) } ?? ""
  }

  // MARK: Markdown

  /// For the comment of a pull request: only changes, at most `rowsLimit` of each kind.
  package func markdown(rowsLimit: Int = 100) -> String {
    let title = "## Notibot: \(isRegression ? "❌" : "✅") \(Markdown.escaped(sentence))"
    var lines = [title, ""]
    if !cases.isEmpty {
      lines += ["| | case | before | now |", "|---|---|---|---|"]
      lines += cases.prefix(rowsLimit).map { change in
        Markdown.row([sign(change.verdict), change.id, change.old, change.new])
      }
      lines += more(cases.count - rowsLimit) + [""]
    }
    let changed = figures.filter { $0.verdict != .same }
    if !changed.isEmpty {
      lines += ["| | figure | before | now | change | noise | runs |", "|---|---|---|---|---|---|---|"]
      lines += changed.prefix(rowsLimit).map { figure in
        Markdown.row([
          sign(figure.verdict), figure.name, Chart.short(figure.old), Chart.short(figure.new),
          figure.share.map { String(format: "%+.1f %%", $0 * 100) } ?? "", "±\(Chart.short(figure.noise))",
          "\(figure.runs.old), \(figure.runs.new)",
        ])
      }
      lines += more(changed.count - rowsLimit) + [""]
    }
    lines += warnings.map { "> \(Markdown.escaped($0))" }
    return lines.joined(separator: "\n") + "\n"
  }

  private func more(_ count: Int) -> [String] { count > 0 ? ["", "… and \(count) more"] : [] }

  private func sign(_ verdict: Verdict) -> String {
    switch verdict {
    case .better: "🟢"
    case .worse: "🔴"
    case .same: ""
    case .different: "⚪"
    }
  }

  // MARK: HTML

  package var html: String {
    let caseRows = cases.map { change -> [HTML] in
      [badge(change.verdict), .element(.code, [], change.id), .text(change.old), .text(change.new)]
    }
    let figureRows = figures.map { figure -> [HTML] in
      [
        badge(figure.verdict), .element(.code, [], figure.name), .text(Chart.short(figure.old)),
        .text(Chart.short(figure.new)),
        .text(figure.share.map { String(format: "%+.1f %%", $0 * 100) } ?? ""),
        .text("±\(Chart.short(figure.noise))"), .text("\(figure.runs.old), \(figure.runs.new)"),
      ]
    }
    return Page.document(
      title: "Notibot comparison",
      [
        Page.verdict(!isRegression, sentence, ["Compared: \(kind)"] + warnings.map { "Note: \($0)" }),
        Page.section(
          "Cases", caseRows.isEmpty ? [] : [Page.table(["", "case", "before", "now"], caseRows)]),
        Page.section(
          "Figures",
          figureRows.isEmpty
            ? []
            : [
              Page.table(
                ["", "figure", "before", "now", "change", "noise", "runs"], numbers: [2, 3, 4, 5, 6],
                figureRows)
            ]),
      ])
  }

  private func badge(_ verdict: Verdict) -> HTML {
    switch verdict {
    case .better: .element(.span, [.classes(.better)], "▲ better")
    case .worse: .element(.span, [.classes(.worse)], "▼ worse")
    case .same: .element(.span, [.classes(.same)], "same")
    case .different: .element(.span, [.classes(.same)], "other")
    }
  }

  // MARK: JSON

  private struct Document: Encodable {
    struct FigureEntry: Encodable {
      var name: String
      var old: Double
      var new: Double
      var noise: Double
      var oldRuns: Int
      var newRuns: Int
      var verdict: Verdict
    }
    struct CaseEntry: Encodable {
      var id: String
      var old: String
      var new: String
      var verdict: Verdict
    }
    let schema = "notibot.comparison"
    let version = 1
    var kind: String
    var regression: Bool
    var sentence: String
    var figures: [FigureEntry]
    var cases: [CaseEntry]
    var warnings: [String]
  }

  /// The document for programs.
  package func json() throws -> String {
    let document = Document(
      kind: kind, regression: isRegression, sentence: sentence,
      figures: figures.map {
        Document.FigureEntry(
          name: $0.name, old: $0.old, new: $0.new, noise: $0.noise, oldRuns: $0.runs.old,
          newRuns: $0.runs.new,
          verdict: $0.verdict)
      },
      cases: cases.map {
        Document.CaseEntry(id: $0.id, old: $0.old, new: $0.new, verdict: $0.verdict)
      }, warnings: warnings)
    return try document.printableJSON(isPretty: true)
  }
}

/// Markdown without mark-up from outside.
enum Markdown {
  static let textLimit = 1000

  /// Text in which no character has a meaning in Markdown or HTML, on one line.
  static func escaped(_ text: String) -> String {
    MarkdownText.escaped(text.prefix(textLimit))
  }

  static func row(_ cells: [String]) -> String { "| " + cells.map(escaped).joined(separator: " | ") + " |" }
}
