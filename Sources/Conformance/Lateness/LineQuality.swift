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

/// Answered and lost questions of a check, in their order, and what they say about the line.
///
/// A line damages any frame, at random. A device that answers one kind of question never, or some
/// of them in a regular pattern, or one kind well and the other badly, is at fault on its own.
struct LineCheck: Equatable {
  enum Question: CaseIterable {
    /// Answered with PONG (LNK-52).
    case ping
    /// The SYN of the live session, answered with its SYNACK (LNK-13).
    case syn
  }

  /// Lost questions, all of one kind or all at the same distance, that are not the line's doing: on
  /// a line, each kind is lost as often as the other, so that this has a probability of 1 in 32.
  static let patternLimit = 6
  /// Lost questions of each kind that are enough evidence.
  static let lostLimit = 4

  private var outcomes: [(question: Question, isAnswered: Bool)] = []
  var corrupt = 0

  static func == (left: Self, right: Self) -> Bool {
    left.corrupt == right.corrupt && left.outcomes.elementsEqual(right.outcomes, by: ==)
  }

  mutating func note(_ question: Question, isAnswered: Bool) { outcomes.append((question, isAnswered)) }

  /// Whether a question is worth asking: it has been answered, or not been asked often.
  func isAnswerable(_ question: Question) -> Bool {
    let asked = outcomes.filter { $0.question == question }
    return asked.count < 4 || asked.contains { $0.isAnswered }
  }

  /// Whether more questions would not change the result.
  var isDecided: Bool { Question.allCases.allSatisfy { lost($0).count >= Self.lostLimit } }

  /// The positions of the lost questions of a kind between its first and its last answered one: a
  /// device that begins or ceases to answer is no line that loses bytes.
  private func lost(_ question: Question) -> [Int] {
    let answered = outcomes.indices.filter { outcomes[$0].question == question && outcomes[$0].isAnswered }
    guard let first = answered.first, let last = answered.last else { return [] }
    return (first...last).filter { outcomes[$0].question == question && !outcomes[$0].isAnswered }
  }

  var quality: LineQuality {
    let byKind = Question.allCases.map(lost)
    let all = byKind.flatMap(\.self).sorted()
    let gaps = Set(zip(all, all.dropFirst()).map { $1 - $0 })
    let hasPattern = all.count >= Self.patternLimit && (gaps.count == 1 || byKind.contains([]))
    return LineQuality(asked: outcomes.count, lost: hasPattern ? 0 : all.count, corrupt: corrupt)
  }
}
