import Foundation

/// The report of `test`: verdict, failures with their wire, the rules as a matrix, all cases.
struct SuitePage {
  /// Room that is left when failures no longer have their wire, and when they are no longer
  /// explained: later ones are in the table only.
  static let roomWithoutWireBytes = 500_000
  static let roomOfTablesBytes = 270_000
  static let casesLimit = 2000
  static let listedLimit = 100

  let boards: [SuiteDocument]
  /// If they are the bearers of one board.
  var comparison: BearersDocument?

  var document: String {
    let title = "Notibot conformance: \(boards.map(\.port).prefix(3).joined(separator: ", "))"
    let head = [verdict, differences, boardTable, singles]
    var room = Page.roomBytes
    _ = Page.fits(head, into: &room)
    // The failures of all boards before the tables of any.
    let failures = boards.enumerated().map { Failures(self, $1, $0, &room) }
    return Page.document(
      title: title, head + zip(boards, failures).enumerated().flatMap { board($1.0, $0, $1.1, &room) })
  }

  private var isGood: Bool {
    boards.allSatisfy { Self.isGood($0) } && !boards.isEmpty && comparison?.differences.isEmpty ?? true
  }

  private static func isGood(_ board: SuiteDocument) -> Bool {
    board.rigTrouble == nil && board.totals.failed + board.totals.errored == 0
  }

  /// Says so if cases were left out.
  private var part: String { boards.compactMap(\.part).first.map { " (\($0))" } ?? "" }

  private var verdict: HTML {
    if let comparison {
      let count = comparison.differences.count
      return Page.verdict(
        isGood,
        "\(count) \(count == 1 ? "difference" : "differences") in \(comparison.compared) cases of both bearers",
        boards.compactMap(\.rigTrouble))
    }
    guard boards.count == 1 else {
      let bad = boards.count { !Self.isGood($0) }
      return Page.verdict(
        isGood, "\(boards.count) boards, \(bad) of them not" + part,
        Array(boards.compactMap(\.rigTrouble).prefix(Self.listedLimit)))
    }
    let board = boards[0]
    let when =
      "\(board.rig) (\(board.port)), \(board.startedAt), \(Page.seconds(board.seconds)), seed \(board.seed)"
    let trouble = board.rigTrouble.map { "The run is incomplete: \($0)" }
    return Page.verdict(isGood, Self.sentence(board.totals) + part, [when] + [trouble].compactMap(\.self))
  }

  static func sentence(_ totals: SuiteDocument.Totals) -> String {
    let parts = [
      (totals.failed, "failed"), (totals.errored, "errored"), (totals.differs ?? 0, "stack: differs"),
      (totals.skipped, "skipped"),
    ]
    let others = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    return (["\(totals.passed) of \(totals.run) cases passed"] + others).joined(separator: ", ")
  }

  /// A column for each bearer.
  private var differences: HTML {
    guard let comparison, !comparison.differences.isEmpty else { return .empty }
    let rows = comparison.differences.prefix(Self.listedLimit).map { difference -> [HTML] in
      let columns = difference.columns.map { column -> HTML in
        let more = [column.finding] + column.answers.map { "answers \($0)" }
        return .all(
          [.element(.span, [.classes(Self.color(column.outcome))], column.outcome)]
            + more.compactMap { $0.map { .element(.p, [.classes(.muted)], $0) } })
      }
      return [
        .all([
          .element(.span, [.classes(.identifier)], difference.id),
          .element(.p, [.classes(.muted)], difference.title),
        ])
      ] + columns
    }
    let omitted = comparison.differences.count - rows.count
    return Page.section(
      "Differences",
      [
        Page.table(["case"] + comparison.bearers, rows),
        omitted > 0 ? .element(.p, [], "\(omitted) further ones are in the JSON report.") : .empty,
      ])
  }

  /// The cases that one bearer alone has run.
  private var singles: HTML {
    guard let comparison, !comparison.singles.isEmpty else { return .empty }
    let rows = comparison.singles.prefix(Self.casesLimit).map { single -> [HTML] in
      [
        .element(.span, [.classes(.identifier)], single.id), .text(single.bearer),
        .text(single.reason),
      ]
    }
    return Page.folded(
      "Cases of one bearer alone: \(comparison.singles.count)",
      [Page.table(["case", "bearer", "why not the other"], rows)])
  }

  private var boardTable: HTML {
    guard boards.count > 1 else { return .empty }
    return Page.table(
      [
        comparison == nil ? "board" : "bearer", "passed", "failed", "errored", "stack: differs", "skipped",
        "time",
      ],
      numbers: [1, 2, 3, 4, 5, 6],
      boards.enumerated().map { index, board in
        let totals = board.totals
        return [.element(.a, [.link(toID: "board-\(index)")], board.port)]
          + [totals.passed, totals.failed, totals.errored, totals.differs ?? 0, totals.skipped].map {
            HTML.text("\($0)")
          }
          + [.text(Page.seconds(board.seconds))]
      })
  }

  /// The cases of a board that did not pass, as far as there is room.
  private struct Failures {
    var list: [HTML] = []
    var explained: [HTML] = []
    /// The ids of those that are explained.
    var shown: Set<String> = []
    var omittedCount: Int

    init(_ page: SuitePage, _ board: SuiteDocument, _ index: Int, _ room: inout Int) {
      let bad = board.bad
      omittedCount = bad.count
      room -= SuitePage.roomOfTablesBytes
      for entry in bad {
        let withWire = room > SuitePage.roomWithoutWireBytes - SuitePage.roomOfTablesBytes
        let part = page.failure(entry, board, index, withWire: withWire)
        guard Page.fits([part], into: &room) else { break }
        explained.append(part)
        shown.insert(entry.id)
        omittedCount -= 1
      }
      room += SuitePage.roomOfTablesBytes
      let list = page.list(bad, board, index, shown)
      if Page.fits(list, into: &room) { self.list = list }
    }
  }

  private func board(
    _ board: SuiteDocument, _ index: Int, _ failures: Failures, _ room: inout Int
  ) -> [HTML] {
    let heading: HTML =
      boards.count > 1 ? .element(.h2, [.id("board-\(index)")], board.port) : .empty
    let rules = Page.section("Rules", [matrix(board, index, failures.shown)])
    let tables = [
      Page.section("Slowest cases", [slowest(board)]), Page.section("Cases", [cases(board, index)]),
      Page.section("Environment", [Page.facts(facts(board))]),
    ]
    let hasTables = Page.fits([heading, rules] + tables, into: &room)
    var explained = failures.explained
    if failures.omittedCount > 0 {
      let place = hasTables ? "the table below" : "the JSON report"
      explained.append(
        .element(.p, [.classes(.muted)], "\(failures.omittedCount) further ones are in \(place)."))
    }
    let start = [heading, Page.section("Not passed", failures.list)]
    let failed = Page.section("Failures", explained)
    return hasTables
      ? start + [rules, failed] + tables
      : start + [failed, .element(.p, [.classes(.muted)], "Its rules and cases are in the JSON report.")]
  }

  /// What did not pass, in the order in which to read it.
  private func list(
    _ bad: [SuiteDocument.Entry], _ board: SuiteDocument, _ index: Int, _ shown: Set<String>
  ) -> [HTML] {
    let rows = bad.prefix(Self.listedLimit).map { entry -> [HTML] in
      let name: HTML =
        shown.contains(entry.id)
        ? .element(.a, [.link(toID: "case-\(index)-\(entry.id)")], entry.id) : .text(entry.id)
      let finding = ((entry.findings ?? entry.details).first ?? "").prefix(120)
      return [name, .text(String(finding))]
    }
    guard !rows.isEmpty else { return [] }
    let faults = board.diagnosis?.similarFaults ?? []
    let similar = faults.isEmpty ? "" : " Much the same cases fail with: \(faults.joined(separator: "; "))."
    return [
      .element(.p, [], "Start with the first.\(similar)"),
      Page.table(["case", "finding"], numbers: [], rows),
      bad.count > rows.count
        ? .element(.p, [], "\(bad.count - rows.count) further ones are in the table below.") : .empty,
    ]
  }

  private func failure(_ entry: SuiteDocument.Entry, _ board: SuiteDocument, _ index: Int, withWire: Bool)
    -> HTML
  {
    let peer = board.rig == "self" ? "host" : "device"
    let steps = entry.transcript.map(WireStep.init)
    var parts: [HTML] = [
      .element(
        .h3, [],
        [
          .element(.span, [.classes(Self.color(entry.outcome))], "\(entry.outcome): "),
          .element(.span, [.classes(.identifier)], entry.id), .text(" – \(entry.title)"),
        ])
    ]
    parts += (entry.findings ?? entry.details).map { .element(.p, [.classes(.finding)], $0) }
    if let words = entry.ruleWords {
      parts.append(.element(.p, [.classes(.rule)], "\(entry.rules.first ?? ""): \(words)"))
    }
    parts += entry.notes.map { .element(.p, [.classes(.muted)], $0) }
    if withWire {
      parts.append(SequenceDiagram.figure(steps, peer: peer))
    } else if !steps.isEmpty {
      parts.append(.element(.p, [.classes(.muted)], "Its wire is in the JSON report."))
    }
    return .element(.article, [.id("case-\(index)-\(entry.id)")], parts)
  }

  /// - Parameter shown: the failures that the page explains.
  private func matrix(_ board: SuiteDocument, _ index: Int, _ shown: Set<String>) -> HTML {
    var byRule: [String: [SuiteDocument.Entry]] = [:]
    for entry in board.cases { for rule in entry.rules { byRule[rule, default: []].append(entry) } }
    let rules = byRule.keys.sorted(by: Self.isBefore)
    guard !rules.isEmpty else { return .empty }
    let cells = rules.map { rule in
      let entries = byRule[rule] ?? []
      let worst = Self.worst(of: entries)
      let passed = entries.count { $0.outcome == "passed" }
      let label = "\(Self.mark(worst)) \(rule) \(passed)/\(entries.count)"
      let first = entries.first { $0.isBad }
      let text: HTML =
        first.map { entry in
          let id = shown.contains(entry.id) ? "case-\(index)-\(entry.id)" : "cases-\(index)"
          return .element(.a, [.link(toID: id)], label)
        } ?? .text(label)
      let tooltip = entries.prefix(20).map { "\($0.outcome): \($0.id)" }.joined(separator: "; ")
      return HTML.element(.li, [.classes(Self.color(worst)), .tooltip(tooltip)], [text])
    }
    return .all([
      .element(
        .p, [.classes(.muted)],
        "A cell is a rule of docs/PROTOCOL.md: the cases that passed, of those that name it. "
          + "✓ passed, ✗ failed, ! rig error, ≠ stack: differs, – skipped."),
      .element(.ul, [.classes(.matrix)], cells),
    ])
  }

  private func cases(_ board: SuiteDocument, _ index: Int) -> HTML {
    let rows = board.cases.prefix(Self.casesLimit).map { entry -> [HTML] in
      let isExplained = entry.outcome == "skipped" || entry.outcome == "differs"
      let reason = isExplained ? entry.details.first.map { " (\($0))" } ?? "" : ""
      return [
        .element(
          .span, [.classes(Self.color(entry.outcome))],
          Self.mark(entry.outcome) + " " + Self.words(entry.outcome)),
        .element(.span, [.classes(.identifier)], entry.id), .text(entry.title + reason),
        .text(String(format: "%.1f", entry.seconds * 1000)),
      ]
    }
    let omitted = board.cases.count - rows.count
    return Page.folded(
      "All \(board.cases.count) cases", id: "cases-\(index)",
      [
        Page.table(["outcome", "case", "property", "ms"], numbers: [3], rows),
        omitted > 0 ? .element(.p, [], "\(omitted) further cases are in the JSON report.") : .empty,
      ])
  }

  private func slowest(_ board: SuiteDocument) -> HTML {
    let slow = board.cases.filter { $0.outcome != "skipped" }.sorted { $0.seconds > $1.seconds }.prefix(5)
    return Page.table(
      ["case", "time"], numbers: [1],
      slow.map { [.element(.span, [.classes(.identifier)], $0.id), .text(Page.seconds($0.seconds))] })
  }

  private func facts(_ board: SuiteDocument) -> [(String, String)] {
    var facts = [
      ("rig", board.rig), ("port", board.port), ("seed", "\(board.seed)"), ("started", board.startedAt),
    ]
    facts += (board.device ?? [:]).sorted { $0.key < $1.key }.map { ("device, \($0.key)", $0.value) }
    for key in ["path", "board", "driver"] {
      if let value = board.connection?[key]?.text { facts.append(("connection, \(key)", value)) }
    }
    if case .number(let rate)? = board.connection?["bitsPerSecond"] {
      facts.append(("bits per second", Chart.short(rate)))
    }
    if let bootID = board.bootID { facts.append(("boot id", bootID)) }
    facts += (board.recovery?.steps ?? []).map {
      ("recovery, \($0.step)", "tried \($0.tried), recovered \($0.recovered)")
    }
    return facts + Page.environment(board.bench)
  }

  // MARK: Words and order

  static func mark(_ outcome: String) -> String {
    ["passed": "✓", "failed": "✗", "errored": "!", "differs": "≠", "skipped": "–"][outcome] ?? "?"
  }

  private static func words(_ outcome: String) -> String { outcome == "differs" ? "stack: differs" : outcome }

  static func color(_ outcome: String) -> HTML.StaticClasses {
    HTML.StaticClasses(rawValue: outcome) ?? .muted
  }

  private static func worst(of entries: [SuiteDocument.Entry]) -> String {
    ["failed", "errored", "passed", "differs"].first { word in entries.contains { $0.outcome == word } }
      ?? "skipped"
  }

  /// By chapter as in PROTOCOL.md, then by number.
  private static func isBefore(_ left: String, _ right: String) -> Bool { key(left) < key(right) }

  private static func key(_ rule: String) -> (Int, String, Int) {
    let parts = rule.split(separator: "-", maxSplits: 1)
    let name = parts.first.map(String.init) ?? ""
    let chapter = ["FRM", "LNK", "ATT", "NTF"].firstIndex(of: name) ?? 9
    return (chapter, name, parts.count > 1 ? Int(parts[1]) ?? .max : 0)
  }
}
