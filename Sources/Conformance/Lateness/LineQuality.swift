import SuiteWire

/// What a line did to questions that a case has nothing to do with, each with a constant answer.
package struct LineQuality: Equatable, Sendable {
  /// Questions asked, in frames.
  package var asked = 0
  /// Those that were not answered, although the same question was, both earlier and later.
  package var lost = 0
  /// Pieces of binary that were received instead of a frame meanwhile.
  package var corrupt = 0
  /// Values that no frame with them passes, of those that lines treat specially.
  package var blocked: Set<UInt8> = []

  package init(asked: Int = 0, lost: Int = 0, corrupt: Int = 0, blocked: Set<UInt8> = []) {
    (self.asked, self.lost, self.corrupt, self.blocked) = (asked, lost, corrupt, blocked)
  }

  /// Whether a failure on this line is the peer's own fault.
  package var isClean: Bool { lost == 0 && blocked.isEmpty }

  package static func + (left: Self, right: Self) -> Self {
    Self(
      asked: left.asked + right.asked, lost: left.lost + right.lost, corrupt: left.corrupt + right.corrupt,
      blocked: left.blocked.union(right.blocked))
  }

  /// A clause for a sentence of a report, with what to do.
  package var summary: String {
    guard blocked.isEmpty else {
      let values = blocked.sorted().map { Wire.hex([$0]) }.joined(separator: ", ")
      let remedies = [
        blocked.contains(0xFF) ? "use the server's raw port, not its telnet port" : nil,
        blocked == [0xFF] ? nil : "turn off software flow control (XON/XOFF) in adapter, server and firmware",
      ]
      return "no frame with a byte \(values) passes, although others do; "
        + remedies.compactMap(\.self).joined(separator: ", and ")
    }
    return "the line corrupts bytes: \(lost) of \(asked) frames that were sent as a check were lost"
      + (corrupt == 0 ? "" : ", and \(corrupt) arrived corrupt") + "; check cable, adapter, hub and rate"
  }
}
