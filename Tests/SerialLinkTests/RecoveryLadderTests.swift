import Testing

@testable import SerialLink

@Suite struct RecoveryLadderTests {
  /// Climbs with the given result of each step, and whether the device answers after it; returns
  /// all actions.
  private func climb(
    _ ladder: inout RecoveryLadder, answersAfter answering: RecoveryLadder.Step?,
    outcomes: [RecoveryLadder.Step: RecoveryLadder.Outcome] = [:]
  ) -> [RecoveryLadder.Action] {
    var seen: [RecoveryLadder.Action] = []
    var last: RecoveryLadder.Step?
    ladder.begin()
    while let action = ladder.nextAction() {
      seen.append(action)
      switch action {
      case .perform(let step):
        last = step
        ladder.handle(outcomes[step] ?? .done)
      case .probe: ladder.handle(answers: last == answering)
      case .recovered, .exhausted: break
      }
    }
    return seen
  }

  @Test func `steps are performed gentlest first, until the device answers`() {
    var ladder = RecoveryLadder(upTo: .power)
    #expect(
      climb(&ladder, answersAfter: .lines) == [
        .perform(.drain), .probe, .perform(.session), .probe, .perform(.lines), .probe,
        .recovered(by: .lines),
      ])
    #expect(ladder.counts[.drain]?.tries == 1)
    #expect(ladder.counts[.lines]?.recoveries == 1)
    #expect(ladder.counts[.usb] == nil)
    #expect(ladder.account.steps.map(\.step) == ["drain", "session", "lines"])
    #expect(
      ladder.account.steps.map(\.summary) == [
        "tried 1, recovered 0", "tried 1, recovered 0", "tried 1, recovered 1",
      ])
  }

  @Test func `no step above the highest is performed`() {
    var ladder = RecoveryLadder(upTo: .session)
    #expect(
      climb(&ladder, answersAfter: .lines) == [
        .perform(.drain), .probe, .perform(.session), .probe, .exhausted,
      ])
  }

  @Test func `a step that the port does not support is reported, skipped, and not requested again`() {
    var ladder = RecoveryLadder(upTo: .power)
    let impossible: [RecoveryLadder.Step: RecoveryLadder.Outcome] = [
      .lines: .impossible("no modem lines"), .usb: .impossible("not a USB port"),
    ]
    #expect(climb(&ladder, answersAfter: .power, outcomes: impossible).last == .recovered(by: .power))
    #expect(ladder.account.steps[2].summary == "skipped, no modem lines")
    let again = climb(&ladder, answersAfter: .power, outcomes: [:])
    #expect(!again.contains(.perform(.lines)) && !again.contains(.perform(.usb)))
    #expect(again.last == .recovered(by: .power))
  }

  @Test func `a failed step is counted, and not followed by a probe`() {
    var ladder = RecoveryLadder(upTo: .lines)
    let actions = climb(&ladder, answersAfter: nil, outcomes: [.lines: .failed("the device went away")])
    #expect(actions.suffix(2) == [.perform(.lines), .exhausted])
    #expect(ladder.account.steps.last?.summary == "tried 1, recovered 0, failed 1 (the device went away)")
  }

  @Test func `climbs are bounded`() {
    var ladder = RecoveryLadder(upTo: .drain, climbsLimit: 2)
    for _ in 0..<2 { #expect(climb(&ladder, answersAfter: .drain).last == .recovered(by: .drain)) }
    #expect(climb(&ladder, answersAfter: .drain) == [.exhausted])
    #expect(ladder.climbs == 2)
    #expect(ladder.counts[.drain]?.tries == 2)
  }

  @Test func `inputs at the wrong time are ignored`() {
    var ladder = RecoveryLadder(upTo: .power)
    ladder.handle(.done)
    ladder.handle(answers: true)
    #expect(ladder == RecoveryLadder(upTo: .power))
    ladder.begin()
    ladder.begin()
    ladder.handle(answers: true)
    #expect(ladder.climbs == 1)
    #expect(ladder.nextAction() == .perform(.drain))
    #expect(ladder.nextAction() == nil)
    ladder.handle(.done)
    ladder.handle(.failed("late"))
    ladder.begin()
    #expect(ladder.nextAction() == .probe)
    #expect(ladder.nextAction() == nil)
  }
}
