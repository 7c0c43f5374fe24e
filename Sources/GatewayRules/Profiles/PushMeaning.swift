import Digests
package import NotibotProtocol

/// What a push asks of a display.
package enum PushMeaning: Hashable, Sendable {
  /// An item, and whether it replaces the one with the same identifier.
  case show(DisplayItem)
  /// A state of a Live Activity: one item, replaced at most once in a second. Its time in
  /// milliseconds; 0: none.
  case activity(DisplayItem, timestamp: Int64, isStart: Bool)
  /// Removes the items with these identifiers; one that is not there yet is not shown later.
  case clear([String], timestamp: Int64?)
  /// Removes all items of the topic.
  case clearTopic
  /// Changes nothing on the display: `nothing` was asked, or what was asked is `outdated`.
  case nothing(IntakeOutcome = .nothing)
}

/// A push that was understood: what it asks, and what is to be said about it.
package struct PushReading: Hashable, Sendable {
  package var meaning: PushMeaning
  package var badge: Int?
  package var remarks: [PushRemark]
}

/// An item with its place in the sender's world.
package struct DisplayItem: Hashable, Sendable {
  package var notification: DisplayNotification
  /// nil: the item replaces nothing and is replaced by nothing.
  package var identifier: String?
  /// The sender's name of the group; empty: none.
  package var thread: String
  /// Only within 10 s, or not at all: `apns-expiration: 0`.
  package var isTransient = false
  /// What a press on it means; topic and push are those of the push.
  package var question: Question?
  /// nil: it has no part in a summary.
  package var member: GroupMember?

  package init(
    notification: DisplayNotification, identifier: String?, thread: String, isTransient: Bool = false,
    question: Question? = nil, member: GroupMember? = nil
  ) {
    self.question = question
    self.member = member
    self.notification = notification
    self.identifier = identifier
    self.thread = thread
    self.isTransient = isTransient
  }
}
