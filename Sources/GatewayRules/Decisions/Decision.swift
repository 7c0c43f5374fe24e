import Digests

/// A choice of the user, from the press to its acceptance by the sender.
package struct Decision: Hashable, Sendable {
  package enum State: String, Hashable, Sendable, CaseIterable {
    /// The item of the press is not known: the gateway was killed between the outbox's commit and
    /// its own. It becomes known when the sender repeats the push.
    case unclaimed
    /// Its answer needs a second press, which has not come. It is not a decision yet.
    case confirming
    /// The callback has to be delivered, or the long poll has not fetched it.
    case pending
    /// Accepted; the sender has to be asked to clear its other devices.
    case clearing
    case done
    /// The sender had an answer already, or no longer wants one.
    case late
    /// The sender refused it.
    case failed
    /// The user decided again, about a newer text of the same item, before it was delivered.
    case superseded
    /// Not delivered within a day.
    case expired

    package var isOpen: Bool {
      switch self {
      case .unclaimed, .confirming, .pending, .clearing: true
      case .done, .late, .failed, .superseded, .expired: false
      }
    }
  }

  /// The idempotency key: 32 hexadecimal digits.
  package var id: String
  /// Counted from 1, for the long poll; 0: not decided yet.
  package var sequence: Int64
  package var number: Int64
  /// The press; `dismissalAction`: the item was dismissed instead.
  package var action: Int
  package var revision: Int
  package var at: WallTime
  package var state: State
  /// nil: unclaimed.
  package var question: Question?
  /// The sender's name of the item, as the intake has it: 32 bytes. nil: the item has no name.
  package var target: [UInt8]?

  package init(
    id: String, sequence: Int64, number: Int64, action: Int, revision: Int, at: WallTime,
    state: State, question: Question?, target: [UInt8]?
  ) {
    self.id = id
    self.sequence = sequence
    self.number = number
    self.action = action
    self.revision = revision
    self.at = at
    self.state = state
    self.question = question
    self.target = target
  }

  /// The `action` of a dismissal.
  package static let dismissalAction = -1

  var isDismissal: Bool { action == Self.dismissalAction }

  package var answer: Answer? {
    if isDismissal { return question?.dismissal }
    guard let answers = question?.answers, answers.indices.contains(action) else { return nil }
    return answers[action]
  }

  /// What the sender gets, if its callback has no template.
  package var content: JSONValue {
    var members: [String: JSONValue] = [
      "id": .string(id), "sequence": .whole(sequence), "at": .whole(at.seconds), "type": .string("answer"),
      "rev": .whole(revision),
    ]
    if let question {
      members["topic"] = .string(question.topic)
      members["push"] = .string(question.pushID)
      members["category"] = .string(question.category)
      members["fields"] = .object(question.fields.mapValues { .string($0) })
    }
    members["action"] = answer.map { .string($0.name) }
    members["label"] = answer.map { .string($0.label) }
    members["approved"] = answer?.approved.map { .bool($0) }
    return .object(members)
  }
}

/// A press of a button, as the outbox reports it.
package struct Press: Hashable, Sendable {
  package var number: Int64
  package var action: Int
  /// Of the text that was pressed; nil: the device does not report it.
  package var revision: Int?
  /// Whether it was for another text than the newest one.
  package var isStale: Bool
  /// The boot of the device and the number of the press in it; nil for a device that does not keep
  /// presses.
  package var identity: Identity?

  package struct Identity: Hashable, Sendable {
    package var bootID: UInt32
    package var press: UInt32

    package init(bootID: UInt32, press: UInt32) {
      self.bootID = bootID
      self.press = press
    }
  }

  package init(number: Int64, action: Int, revision: Int?, isStale: Bool, identity: Identity?) {
    self.number = number
    self.action = action
    self.revision = revision
    self.isStale = isStale
    self.identity = identity
  }

  /// The same for each report of the same press. Boot ids can repeat: what was pressed is part of
  /// it.
  func id(now: WallTime) -> String {
    let parts =
      identity.map { "k\($0.bootID)-\($0.press)-\(number)-\(revision ?? 0)-\(action)" }
      ?? "p\(number)-\(revision ?? 0)-\(action)-\(now.milliseconds)"
    return hexText(SHA256.digest(of: "d", parts).prefix(16))
  }
}

/// What becomes of a press.
package enum PressVerdict: String, Hashable, Sendable, CaseIterable {
  /// A new decision.
  case decided
  /// The first of two presses.
  case confirming
  /// The undelivered decision is delivered now.
  case retried
  /// Reported before.
  case known
  /// Within 5 s after another press of the same item, or too early for a second press that
  /// confirms.
  case tooSoon
  /// For a text that is no longer the newest one.
  case stale
  /// The item is not known yet.
  case unclaimed
  /// The item asks nothing, or not this.
  case meaningless
  /// There are too many undelivered decisions.
  case full
}
