import Digests
import NotibotProtocol

/// A push that is trusted and understood.
package struct IntakePush: Hashable, Sendable {
  /// Whose push it is.
  package enum Source: String, Hashable, Comparable, Sendable, CaseIterable {
    /// A sender with a provider's token.
    case sender
    /// A program of this computer, which needs no rights.
    case local

    package static func < (left: Source, right: Source) -> Bool { left.rawValue < right.rawValue }

    /// Bytes of a digest; the keys of other programs have a byte more, by which they are known.
    private static let digestBytes = 32

    init(ofKey key: [UInt8]) { self = key.count > Self.digestBytes ? .local : .sender }

    /// A key of a program of this computer.
    static func localKey(_ digest: [UInt8]) -> [UInt8] { digest + [0] }

    var words: String { self == .sender ? "senders" : "programs of this computer" }
  }

  /// What makes a repetition: 32 bytes, or 33 if the source is local.
  package var key: [UInt8]
  /// Whether the sender chose the key; a key made from the content is valid for a short time only.
  package var hasOwnKey: Bool
  package var apnsID: String
  /// Whether the sender chose it, and `key` was made from it.
  package var hasSendersID = false
  /// Without the suffix of a push type.
  package var topic: String
  /// The digest of the device token.
  package var token: [UInt8]
  package var meaning: PushMeaning
  package var badge: Int?
  /// `apns-expiration`.
  package var expiration: Int64?
  package var oncePerDay = false
  /// The record of a script's message.
  package var message: PublishedMessage?
  /// nil: it is shown at once.
  package var delay: Delay?

  /// When a message is shown.
  package struct Delay: Hashable, Sendable {
    /// By the calendar.
    package var due: WallTime
    /// The push as a line for the gateway's file.
    package var line: String
  }

  package init(
    key: [UInt8], hasOwnKey: Bool, apnsID: String, topic: String, token: [UInt8], meaning: PushMeaning,
    badge: Int? = nil, expiration: Int64? = nil, oncePerDay: Bool = false
  ) {
    self.key = key
    self.hasOwnKey = hasOwnKey
    self.apnsID = apnsID
    self.topic = topic
    self.token = token
    self.meaning = meaning
    self.badge = badge
    self.expiration = expiration
    self.oncePerDay = oncePerDay
  }

  var source: Source { Source(ofKey: key) }

  /// What its item asks.
  var question: Question? {
    guard case .show(let item) = meaning else { return nil }
    var question = item.question
    question?.topic = topic
    question?.pushID = apnsID
    return question
  }

  /// Its part in a summary.
  var member: GroupMember? {
    guard case .show(let item) = meaning else { return nil }
    return item.member
  }

  /// The key for the outbox.
  var ownKey: [UInt8]? { hasOwnKey ? key : nil }

  /// The name of the item for its sender: the same identifier of another token is another item.
  func target(_ identifier: String) -> [UInt8] {
    SHA256.digest(of: "c", topic, hexText(token), identifier)
  }
}

/// When something happens, and whether the display is connected then.
package struct Moment: Hashable, Sendable {
  package var now: WallTime
  package var wall: WallTime
  package var local: LocalTime
  package var isBoardUp: Bool

  /// - Parameter wall: the time of the calendar; if omitted, `now`.
  package init(now: WallTime, wall: WallTime? = nil, local: LocalTime, isBoardUp: Bool = true) {
    self.now = now
    self.wall = wall ?? now
    self.local = local
    self.isBoardUp = isBoardUp
  }
}

/// What became of a push.
package enum IntakeOutcome: String, Hashable, Sendable, CaseIterable {
  case shown, replaced, removed, nothing, muted, oncePerDay, duplicate, outdated, superseded
  case clearedBefore, expired, notStored
  /// The outbox is full or cannot be written.
  case unavailable
  /// Too many for this device token.
  case tooMany
  /// It is kept until it is due.
  case delayed, tooManyDelayed

  package var reason: PushReason? {
    switch self {
    case .shown, .replaced, .removed, .nothing, .muted, .oncePerDay, .duplicate, .outdated, .superseded,
      .clearedBefore, .expired, .notStored, .delayed:
      nil
    case .unavailable: .serviceUnavailable
    case .tooMany, .tooManyDelayed: .tooManyRequests
    }
  }

  /// Why a push that was taken is not shown; nil: it is, or its reading says why not.
  /// `isMessage`: it is a message of a script.
  package func remark(isMessage: Bool) -> PushRemark? {
    switch self {
    case .shown, .replaced, .removed, .nothing, .delayed: nil
    case .muted:
      PushRemark(
        "", "the topic or the group is muted",
        remedy: "notibot-gateway mute lists both; add --off, with --group for a group")
    case .oncePerDay: PushRemark("'oncePerDay' of the profile", "the group was shown today")
    case .duplicate:
      PushRemark(
        isMessage ? "message-id" : "apns-id",
        isMessage ? "was taken before" : "was taken before, or equal content within 'dedupeSeconds'",
        remedy: "send another id")
    case .outdated: PushRemark(PayloadField.timestamp.place, "a newer state or the end was taken before")
    case .superseded: PushRemark(PayloadField.event.place, "a newer state came before it was written")
    case .clearedBefore: PushRemark("", "a silent push has cleared it less than 10 minutes ago")
    case .expired: PushRemark("apns-expiration", "has passed", remedy: "send a time of the future")
    case .notStored:
      PushRemark("apns-expiration", "is 0, and no board is connected", remedy: "omit it, or send a time")
    case .unavailable, .tooMany, .tooManyDelayed: reason?.remark
    }
  }

  /// Whether the answer says it: what the user does not want to see is the user's affair.
  package var isForSender: Bool { self != .muted && self != .oncePerDay }
}

/// A change that has to be durable before the next answer.
package enum IntakeRecord: Hashable, Sendable {
  case key([UInt8], apnsID: String, at: WallTime, isOwn: Bool)
  case forgetKey([UInt8])
  case item(IntakeContents.Item)
  case forgetItem(Int64)
  case suppressed([UInt8], until: WallTime)
  case badge(topic: String, Int)
  case shown(group: [UInt8], day: Int)
  /// One for each target.
  case delayed(target: [UInt8], IntakePush.Delay)
  case forgetDelayed(target: [UInt8])
}

/// What was recorded, at a start.
package struct IntakeContents: Hashable, Sendable {
  package struct Item: Hashable, Sendable {
    package var number: Int64
    package var topic: String
    package var target: [UInt8]?
    /// Most items have nothing of this, and a queue can have 100 000 of them.
    private var extra: Extra

    private indirect enum Extra: Hashable {
      case nothing
      case some(Question?, GroupMember?, PublishedMessage?)
    }

    private var parts: (question: Question?, member: GroupMember?, message: PublishedMessage?) {
      get {
        switch extra {
        case .nothing: (nil, nil, nil)
        case .some(let question, let member, let message): (question, member, message)
        }
      }
      set {
        let isEmpty = newValue.question == nil && newValue.member == nil && newValue.message == nil
        extra = isEmpty ? .nothing : .some(newValue.question, newValue.member, newValue.message)
      }
    }

    /// What the text on the display asks.
    package var question: Question? {
      get { parts.question }
      set { parts.question = newValue }
    }
    /// Its place in a group that is summed up.
    package var member: GroupMember? {
      get { parts.member }
      set { parts.member = newValue }
    }
    /// The record of a script's message.
    package var message: PublishedMessage? {
      get { parts.message }
      set { parts.message = newValue }
    }

    package init(
      number: Int64, topic: String, target: [UInt8]?, question: Question? = nil, member: GroupMember? = nil,
      message: PublishedMessage? = nil
    ) {
      self.number = number
      self.topic = topic
      self.target = target
      extra = .nothing
      parts = (question, member, message)
    }
  }

  package struct Key: Hashable, Sendable {
    package var bytes: [UInt8]
    /// Empty if the sender chose it: each repetition brings it along.
    package var apnsID: String
    package var at: WallTime
    package var isOwn: Bool

    package init(bytes: [UInt8], apnsID: String, at: WallTime, isOwn: Bool) {
      self.bytes = bytes
      self.apnsID = apnsID
      self.at = at
      self.isOwn = isOwn
    }
  }

  /// In the order of their times.
  package var keys: [Key] = []
  package var items: [Item] = []
  package var suppressed: [[UInt8]: WallTime] = [:]
  package var badges: [String: Int] = [:]
  package var shownDays: [[UInt8]: Int] = [:]
  /// Lines of delayed pushes, by their targets.
  package var delayed: [[UInt8]: String] = [:]

  package init() {}
}
