import Foundation

/// The report of `soak`.
struct SoakPage {
  static let eventsLimit = 500

  let soak: SoakDocument

  var document: String { Page.document(title: "Notibot soak: \(soak.port)", parts) }

  var parts: [HTML] {
    [
      verdict, Page.section("Claims", [claims]), Page.section("Figures", [Page.facts(figures)]),
      Page.section(
        "Delivery", Page.latencies(soak.latencyMs, soak.histogram, unit: "ms", of: "Queued to delivered")),
      Page.section("Over time", Page.overTime(soak.samples ?? [], marks: newSessions)),
      Page.section("Sessions and console", [events]),
      Page.section("Environment", [Page.facts([("port", soak.port)] + Page.environment(soak.bench))]),
    ]
  }

  private var newSessions: [Double] {
    (soak.events ?? []).filter { $0.text.hasPrefix("session on ") }.dropFirst().map(\.seconds)
  }

  private var wrong: [(String, Int)] {
    [
      ("lost", soak.lost), ("doubled", soak.doubled), ("not delivered", soak.undelivered),
      ("differences between host and device", soak.differences), ("refused", soak.refused),
    ]
  }

  private var isGood: Bool {
    wrong.allSatisfy { $0.1 == 0 } && soak.trouble == nil && soak.sessions > 0 && soak.check != "none"
  }

  private var verdict: HTML {
    var lines = [
      "\(soak.port), \(Page.seconds(soak.seconds)), \(soak.sessions) sessions, compared by \(soak.check)"
    ]
    if let trouble = soak.trouble { lines.append("The run is incomplete: \(trouble)") }
    let found = wrong.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
    let title = "\(soak.delivered) of \(soak.queued) notifications delivered"
    return Page.verdict(isGood, ([title] + found).joined(separator: ", "), lines)
  }

  private var claims: HTML {
    Page.table(
      ["", "number", "verdict"], numbers: [1],
      wrong.map { name, count in
        [
          .text(name), .text("\(count)"),
          .element(.span, [.classes(count == 0 ? .passed : .failed)], count == 0 ? "✓ none" : "✗"),
        ]
      })
  }

  private var figures: [(String, String)] {
    [
      ("delivered per second", String(format: "%.1f", Double(soak.delivered) / max(soak.seconds, 0.001))),
      ("up", String(format: "%.1f %% of the time", soak.upShare * 100)), ("sessions", "\(soak.sessions)"),
      ("restarts of the device", "\(soak.restarts)"),
      ("reboots and unplugs by the soak", "\(soak.reboots), \(soak.unplugs)"),
      ("frames sent again", "\(soak.resends)"), ("CRC errors", "\(soak.crcErrors)"),
      ("left on its own", "\(soak.gone)"),
      ("memory", "\(Page.megabytes(soak.residentBytesStart)) to \(Page.megabytes(soak.residentBytesEnd))"),
    ]
  }

  private var events: HTML {
    let events = soak.events ?? []
    guard !events.isEmpty else { return .empty }
    return Page.folded(
      "\(events.count) entries",
      [
        Page.table(
          ["seconds", "entry"], numbers: [0],
          events.prefix(Self.eventsLimit).map {
            [.text(String(format: "%.3f", $0.seconds)), .element(.code, [], String($0.text.prefix(500)))]
          })
      ])
  }
}

/// The report of `soak --all`.
struct SoaksPage {
  let boards: [SoakedBoard]

  var document: String {
    let bad = boards.count { $0.exit != 0 }
    let rows = boards.map { board -> [HTML] in
      let counts = [\SoakDocument.delivered, \.queued, \.lost, \.doubled]
      let figures = counts.map { count in board.report.map { "\($0[keyPath: count])" } ?? "–" }
      return [.element(.span, [.classes(board.exit == 0 ? .passed : .failed)], board.port)]
        + (["\(board.exit)"] + figures + [board.error ?? ""]).map(HTML.text)
    }
    return Page.document(
      title: "Notibot soak: \(boards.count) boards",
      [
        Page.verdict(bad == 0 && !boards.isEmpty, "\(boards.count) boards, \(bad) of them not", []),
        Page.table(
          ["board", "exit code", "delivered", "of", "lost", "doubled", ""], numbers: [1, 2, 3, 4, 5], rows),
      ]
        + boards.compactMap { board in
          board.report.map { Page.folded(board.port, SoakPage(soak: $0).parts) }
        })
  }
}

/// The report of `bench`.
struct BenchPage {
  let bench: BenchDocument

  var document: String {
    let rate = String(format: "%.0f notifications per second", bench.notificationsPerSecond)
    return Page.document(
      title: "Notibot bench",
      [
        Page.verdict(
          bench.refused == 0 && bench.trouble == nil, rate,
          ["\(bench.accepted) accepted, \(bench.refused) refused, path \(bench.path)"]
            + [bench.trouble.map { "The run is incomplete: \($0)" }].compactMap(\.self)),
        Page.section("Figures", [Page.facts(figures)]), Page.section("Runs", [runs]),
        Page.section(
          "Round trips",
          Page.latencies(bench.roundTripMicroseconds, bench.histogram, unit: "µs", of: "Write to answer")),
        Page.section("Over time", Page.overTime(bench.samples ?? [])),
        Page.section("Environment", [Page.facts(Page.environment(bench.bench))]),
      ])
  }

  private var figures: [(String, String)] {
    var figures = [
      ("notifications", "\(bench.count), \(bench.window) in flight, texts of \(bench.textBytes) bytes"),
      ("time", Page.seconds(bench.seconds)),
      ("to the device", String(format: "%.1f kB/s", bench.bytesPerSecond / 1000)),
      ("CPU time", String(format: "%.2f µs per notification", bench.cpuMicrosecondsPerNotification)),
      ("frames sent again", "\(bench.resends)"),
      ("memory", "\(Page.megabytes(bench.residentBytesStart)) to \(Page.megabytes(bench.residentBytesEnd))"),
    ]
    if let share = bench.lineShare {
      figures.append(("share of the line", String(format: "%.1f %%", share * 100)))
    }
    return figures
  }

  /// The repeated runs: their spread is the noise of the figures.
  private var runs: HTML {
    let runs = (bench.runs ?? []).map {
      Dictionary($0.figures.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }
    guard runs.count > 1 else { return .empty }
    let names = Set(runs.flatMap(\.keys)).sorted()
    return Page.table(
      ["figure"] + runs.indices.map { "run \($0 + 1)" }, numbers: Set(1...runs.count),
      names.map { name in [.text(Page.words(name))] + runs.map { .text($0[name].map(Chart.short) ?? "–") } })
  }
}

/// A report with figures only: `notibot-dev journal`, `scripts/dev measure`.
struct FiguresPage {
  static let figuresLimit = 2000

  let title: String
  let value: JSONValue

  var document: String {
    let figures = value.figures.prefix(Self.figuresLimit)
    return Page.document(
      title: title,
      [
        .element(.header, [.classes(.verdict)], [.element(.h1, [], title)]),
        Page.section(
          "Figures",
          [
            Page.table(
              ["figure", "value"], numbers: [1],
              figures.map { [.text(Page.words($0.name)), .text(Chart.short($0.value))] })
          ]),
      ])
  }
}
