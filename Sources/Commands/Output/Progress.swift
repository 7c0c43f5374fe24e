/// Progress of long work on stderr: a bar on a terminal, a line per 10 % in a log.
package struct Progress {
  private let title: String
  private let total: Int
  private let unit: String?
  private let isBar: Bool
  private let start = ContinuousClock.now
  private var shownTenths = 0
  private var shownPercent = -1

  /// - Parameters:
  ///   - total: the number of steps; nothing is shown when it is 0.
  ///   - unit: what a step is; if omitted, a log shows percentages only.
  package init(_ title: String, total: Int, unit: String? = nil) {
    self.title = title
    self.total = total
    self.unit = unit
    isBar = Output.hasTerminal
  }

  /// Reports that `done` steps of the total are completed.
  package mutating func update(_ done: Int) {
    guard total > 0 else { return }
    let percent = min(100, done * 100 / total)
    if isBar {
      guard percent != shownPercent else { return }
      shownPercent = percent
      let filled = percent * 30 / 100
      let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 30 - filled)
      Output.progress("\(title) [\(bar)] \(percent) %\(remainder(done))", isDone: done >= total)
    } else if percent / 10 > shownTenths {
      shownTenths = percent / 10
      let count = unit.map { " (\(done) of \(total) \($0))" } ?? ""
      Output.note("\(title): \(shownTenths * 10) %\(count)")
    }
  }

  /// The time that is left if the rest takes as long as what is done; empty for short work.
  private func remainder(_ done: Int) -> String {
    let elapsed = ContinuousClock.now - start
    guard elapsed > .seconds(3), done > 0, done < total else { return "" }
    let left = elapsed * (total - done) / done
    return ", about \(left.components.seconds + 1) s left"
  }
}
