/// What a line did to questions that a case has nothing to do with, each with a constant answer.
package struct LineQuality: Equatable, Sendable {
  /// Questions asked, in frames.
  package var asked = 0
  /// Those that were not answered, although the same question was, both earlier and later.
  package var lost = 0
  /// Pieces of binary that were received instead of a frame meanwhile.
  package var corrupt = 0

  package init(asked: Int = 0, lost: Int = 0, corrupt: Int = 0) {
    (self.asked, self.lost, self.corrupt) = (asked, lost, corrupt)
  }

  /// Whether a failure on this line is the peer's own fault.
  package var isClean: Bool { lost == 0 }

  package static func + (left: Self, right: Self) -> Self {
    Self(
      asked: left.asked + right.asked, lost: left.lost + right.lost, corrupt: left.corrupt + right.corrupt)
  }

  /// A clause for a sentence of a report.
  package var summary: String {
    "the line corrupts bytes: \(lost) of \(asked) frames that were sent as a check were lost"
      + (corrupt == 0 ? "" : ", and \(corrupt) arrived corrupt")
  }
}
