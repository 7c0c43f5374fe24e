package import NotibotProtocol

/// The trace of a run, line by line: virtual time, subject, event. Kept only on request; bounded.
package struct Trace: Equatable, Sendable {
  /// The maximum number of lines; the first and the last ones are kept.
  package static let linesLimit = 200_000

  private var lines: [String] = []
  private var dropped = 0
  package let isOn: Bool

  package init(isOn: Bool) {
    self.isOn = isOn
  }

  /// Adds a line, if the trace was requested.
  package mutating func add(_ now: Instant, _ who: String, _ what: @autoclosure () -> String) {
    guard isOn else { return }
    guard lines.count < Self.linesLimit else {
      dropped += 1
      return
    }
    let microseconds = now.nanoseconds / 1000
    let fraction = String(microseconds % 1_000_000)
    let time =
      "\(microseconds / 1_000_000).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)"
    let padded = String(repeating: " ", count: max(0, 11 - time.count)) + time
    lines.append("\(padded)  \(who.padded(to: 7)) \(what())")
  }

  /// The lines, oldest first.
  package var text: [String] {
    dropped == 0 ? lines : lines + ["... and \(dropped) lines more"]
  }
}

extension String {
  fileprivate func padded(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
}
