package import NotibotProtocol

/// A rule that a simulated run broke.
package struct Violation: Error, Equatable, Sendable {
  /// The rules. The first ones hold at every step, those from `nothingLost` on at the end of the
  /// calm phase.
  package enum Rule: String, Equatable, Sendable, CaseIterable {
    case shownBytes = "every shown notification is, byte for byte, a submitted one"
    case storedOnce = "no two stored notifications are of one submission"
    case announcedOnce =
      "nothing is announced twice in one boot of the device, nor again after it was delivered"
    case staysAway = "a notification that was reported gone or removed is not shown again"
    case rejectedStaysAway = "a rejected notification is never shown"
    case expiredStaysAway = "a notification that has expired is not sent, and leaves the display"
    case notExpiredEarly = "a notification does not expire before its time"
    case keyAcceptedOnce = "a key is accepted once, and later answered with the same number"
    case reportedOnce = "each end of a notification is reported once, also across crashes"
    case deliveredWasShown = "a notification that is reported delivered was shown"
    case pressedOnce = "each press is reported at most once, and as a choice for the newest text only"
    case numberKnown = "reports are about numbers that were given"
    case requestEndsOnce = "each submission is answered once"
    case nothingRefused = "a valid notification is not refused"
    case sourceKept = "a host with its own journal keeps its source"
    case rightBoard = "a board with another id shows nothing of ours"
    case queuesBounded = "queues stay within their limits"
    case noBusyLoop = "time advances"
    case neverStuck = "a host that runs waits for a time or for a result"
    case journalOpens = "a journal opens after every crash"
    case nothingLost = "every queued notification that is neither gone nor removed is on the display"
    case newestContent = "every notification on the display has its newest content"
    case nothingElse = "nothing else of this writer is on the display"
    case digestsEqual = "host and device agree in n and digest"
    case outboxIdle = "when no work is left, the outbox is done"
  }

  package var rule: Rule
  /// The observation.
  package var detail: String
  /// When, in virtual time.
  package var time: Instant

  package init(_ rule: Rule, _ detail: String, at time: Instant) {
    self.rule = rule
    self.detail = detail
    self.time = time
  }
}
