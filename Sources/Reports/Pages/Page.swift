import Foundation

/// The parts that all reports have.
enum Page {
  /// The verdict: what a reader wants to know first.
  static func verdict(_ isGood: Bool, _ title: String, _ lines: [String]) -> HTML {
    .element(
      .header, [.classes(.verdict)],
      [
        .element(
          .h1, [],
          [
            .element(.span, [.classes(isGood ? .passed : .failed)], isGood ? "Passed: " : "Not passed: "),
            .text(title),
          ])
      ] + lines.map { .element(.p, [], $0) })
  }

  static func section(_ title: String, _ children: [HTML]) -> HTML {
    children.allSatisfy { $0 == .empty }
      ? .empty : .element(.section, [], [.element(.h2, [], title)] + children)
  }

  static func facts(_ facts: [(String, String)]) -> HTML {
    .element(
      .dl, [.classes(.facts)],
      facts.map { .all([.element(.dt, [], $0.0), .element(.dd, [], $0.1)]) })
  }

  /// A table; the columns named in `numbers` are aligned to the right.
  static func table(_ heads: [String], numbers: Set<Int> = [], _ rows: [[HTML]]) -> HTML {
    func attributes(_ column: Int) -> [HTML.Attribute] { numbers.contains(column) ? [.classes(.number)] : [] }
    let head = heads.enumerated().map { HTML.element(.th, attributes($0) + [.scope(.col)], $1) }
    return .element(
      .table, [],
      [
        .element(.thead, [], [.element(.tr, [], head)]),
        .element(
          .tbody, [],
          rows.map { row in
            .element(.tr, [], row.enumerated().map { .element(.td, attributes($0), [$1]) })
          }),
      ])
  }

  static func folded(_ title: String, id: String? = nil, _ children: [HTML]) -> HTML {
    .element(.details, id.map { [.id($0)] } ?? [], [.element(.summary, [], title)] + children)
  }

  static func environment(_ bench: Environment?) -> [(String, String)] {
    guard let bench else { return [] }
    return [("program", "notibot \(bench.notibot)"), ("computer", bench.host), ("kernel", bench.kernel)]
  }

  /// Bytes of a page's parts, so that it has at most 1 MB: it must be easy to attach and open.
  static let roomBytes = 950_000

  /// Parts that do not fit are left out, and the last line says so.
  static func document(title: String, _ body: [HTML]) -> String {
    let parts = body.filter { $0 != .empty }
    var room = roomBytes
    var shown = parts.filter { fits([$0], into: &room) }
    if shown.count < parts.count {
      let omitted = parts.count - shown.count
      shown.append(
        .element(
          .p, [.classes(.muted)],
          "A page has at most 1 MB: \(omitted) further \(omitted == 1 ? "part is" : "parts are") in the JSON report."
        ))
    }
    return HTML.document(title: title, style: ReportStyle.sheet, body: [.element(.main, [], shown)])
  }

  /// Whether all of `parts` fit into the room, which they then take.
  static func fits(_ parts: [HTML], into room: inout Int) -> Bool {
    let bytes = parts.reduce(0) { $0 + $1.source.utf8.count }
    guard bytes <= room else { return false }
    room -= bytes
    return true
  }

  static func seconds(_ value: Double) -> String { String(format: value < 10 ? "%.3f s" : "%.1f s", value) }
  static func megabytes(_ bytes: Int) -> String { String(format: "%.1f MB", Double(bytes) / 1e6) }

  /// The name of a figure in words: `roundTripMicroseconds.p99` as "round trip microseconds p99".
  static func words(_ name: String) -> String {
    name.reduce(into: "") { words, character in
      if character.isUppercase, words.last?.isLowercase == true {
        words += " " + character.lowercased()
      } else {
        words.append(character == "." ? " " : character)
      }
    }
  }

  /// Rates and memory of a run over its time.
  ///
  /// - Parameter marks: when sessions began after the first one, in seconds.
  static func overTime(_ samples: [RunSample], marks: [Double] = []) -> [HTML] {
    let rates = zip(samples, samples.dropFirst()).compactMap { before, after -> (x: Double, y: Double)? in
      let time = after.seconds - before.seconds
      return time > 0 ? (after.seconds, Double(after.delivered - before.delivered) / time) : nil
    }
    let resends = samples.map { (x: $0.seconds, y: Double($0.resends)) }
    let memory = samples.map { (x: $0.seconds, y: Double($0.residentBytes) / 1e6) }
    let total = samples.last?.resends ?? 0
    return [
      Chart.curves(
        [rates], unit: "/s",
        caption: "Notifications delivered per second" + (marks.isEmpty ? "" : "; a line is a new session"),
        marks: marks),
      total > 0
        ? Chart.curves(
          [resends], unit: "frames", caption: "Frames sent again, in total: \(total)", marks: marks) : .empty,
      Chart.curves([memory], unit: "MB", caption: "Resident memory of this program"),
    ]
  }

  static func latencies(_ percentiles: Percentiles?, _ histogram: [Bucket]?, unit: String, of what: String)
    -> [HTML]
  {
    guard let percentiles else { return [] }
    let values = [("median", percentiles.p50), ("99 %", percentiles.p99), ("longest", percentiles.max)]
    return [
      table(
        [what] + values.map(\.0), numbers: [1, 2, 3],
        [[.text(unit)] + values.map { .text(String(format: "%.2f", $0.1)) }]),
      Chart.histogram(histogram ?? [], unit: unit, caption: "\(what), how often (logarithmic ranges)"),
    ]
  }
}
