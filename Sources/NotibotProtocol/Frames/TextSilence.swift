/// Decides, for a host or a monitor, when a candidate has waited long enough for the rest of its
/// frame.
///
/// States: *idle* (no candidate) → *counting* (1 s from the last byte) → *confirming* (one more
/// read may still bring the rest, since this side may itself have been stopped) → the candidate is
/// text. Any byte leads back. Source: PROTOCOL.md FRM-9.
package struct TextSilence: Equatable, Sendable {
  private enum State: Equatable {
    case idle
    case counting(deadline: Instant)
    case confirming(deadline: Instant)
  }

  package static let silenceNs: Int64 = 1_000_000_000
  /// Long enough for a driver to read once more, if there is something to read.
  package static let confirmationNs: Int64 = 20_000_000

  private var state = State.idle

  package init() {}

  /// Bytes were read; `hasCandidate`: some of them can become a frame.
  package mutating func handleBytes(hasCandidate: Bool, now: Instant) {
    state = hasCandidate ? .counting(deadline: now.after(ns: Self.silenceNs)) : .idle
  }

  /// A read found nothing. Returns whether that makes the candidate text.
  package mutating func handleEmptyRead(now: Instant) -> Bool {
    switch state {
    case .counting(let deadline) where now >= deadline: break
    case .confirming: break
    case .idle, .counting: return false
    }
    state = .idle
    return true
  }

  /// Returns whether the candidate is text by now.
  package mutating func handleTimeout(now: Instant) -> Bool {
    switch state {
    case .idle: return false
    case .counting(let deadline):
      if now >= deadline { state = .confirming(deadline: now.after(ns: Self.confirmationNs)) }
      return false
    case .confirming(let deadline):
      guard now >= deadline else { return false }
      state = .idle
      return true
    }
  }

  package var nextDeadline: Instant? {
    switch state {
    case .idle: nil
    case .counting(let deadline), .confirming(let deadline): deadline
    }
  }
}
