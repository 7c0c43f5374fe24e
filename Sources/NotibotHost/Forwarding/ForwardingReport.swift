public import NotibotProtocol

/// A result of the outbox. All reports about a single notification, except rejections, are in the
/// journal before they are published.
@nonexhaustive
public enum ForwardingReport: Hashable, Sendable {
  /// The outbox's own number for a notification, from 1; never used twice in one journal.
  public typealias Number = Int64

  /// Why a notification is no longer on the display.
  @nonexhaustive
  public enum Departure: String, Hashable, Sendable {
    /// The user dismissed it.
    case dismissed
    /// The device needed its place for one with a higher level.
    case evicted
    /// Its time was over.
    case expired
  }

  /// It is in the journal: delivery is guaranteed. `token` is the one submitted with it.
  case queued(Number, token: UInt64)
  /// It was not accepted.
  case rejected(ForwardingRejection, token: UInt64)
  /// Its key was accepted before, for the notification with this number, which can have left since;
  /// nothing is stored or sent again. `keyConflict`: its content differs from that of the first,
  /// which stays.
  case duplicate(Number, token: UInt64, keyConflict: Bool)
  /// The device has it: once for each content.
  case delivered(Number)
  /// The device refused it, with this error of the attribute protocol.
  case refused(Number, ATTError)
  /// It left the display.
  case gone(Number, Departure)
  /// It expired before the device had it, and was not sent.
  case expired(Number)
  /// It was removed on request.
  case removed(Number)
  /// The user chose an action of it, counted from 0, for the text with this `revision`; `nil` if
  /// the device does not report it. If it is stale, another text has replaced that one since.
  case action(Number, action: UInt32, revision: UInt16?, isStale: Bool)
  /// Its outcome is unknown, and it is not sent again.
  case outcomeUnknown(Number)
  /// The outbox holds as many notifications as it can, so that submissions wait or are rejected
  /// until some leave the display. Reported once, and again when half of them had left.
  case full(limit: Int)
  /// The device's store is full; queued notifications are sent when there is room.
  case storeFull
  /// Host and device agree on what is on the display, after so many rounds of sending again.
  case synced(rounds: Int)
  /// They do not agree.
  case diverged
  /// Another journal wrote to this device under the same source: this one continues under a new
  /// source.
  case newSource(UInt32)
}

/// Why a submission was not accepted.
@nonexhaustive
public enum ForwardingRejection: Error, Hashable, Sendable {
  /// There is no longer a notification with this number.
  case unknownNumber(ForwardingReport.Number)
  /// The outbox is full.
  case full(limit: Int)
  /// So many keys are remembered, and none can be forgotten yet: no new key is accepted.
  case keysFull(limit: Int)
  /// The journal cannot be written.
  case journalFailed
  /// The forwarder ended first.
  case stopped
}

extension ForwardingRejection: CustomStringConvertible {
  /// The reason in words, without the text of a peer.
  public var description: String {
    switch self {
    case .unknownNumber(let number): "there is no notification \(number) in the outbox"
    case .full(let limit): "the outbox is full (\(limit))"
    case .keysFull(let limit): "the outbox remembers \(limit) keys and accepts no other yet"
    case .journalFailed: "the outbox cannot be written"
    case .stopped: "the forwarder has ended"
    }
  }
}

extension ForwardingReport {
  init(_ report: OutboxReport) {
    self =
      switch report {
      case .queued(let number, let token): .queued(number.rawValue, token: token)
      case .rejected(let rejection, let token): .rejected(rejection, token: token)
      case .duplicate(let number, let token, let isConflict):
        .duplicate(number.rawValue, token: token, keyConflict: isConflict)
      case .expired(let number): .expired(number.rawValue)
      case .delivered(let number): .delivered(number.rawValue)
      case .refused(let number, let error): .refused(number.rawValue, error)
      case .gone(let number, let reason): .gone(number.rawValue, Departure(reason))
      case .removed(let number): .removed(number.rawValue)
      case .action(let number, let act, let revision, let isStale):
        .action(number.rawValue, action: act, revision: revision, isStale: isStale)
      case .outcomeUnknown(let number): .outcomeUnknown(number.rawValue)
      case .storeFull: .storeFull
      case .synced(let rounds): .synced(rounds: rounds)
      case .diverged: .diverged
      case .newSource(let source): .newSource(source)
      }
  }

  /// Whether it can have made room in the outbox.
  var makesRoom: Bool {
    switch self {
    case .delivered, .gone, .expired, .removed, .outcomeUnknown, .newSource: true
    case .queued, .rejected, .duplicate, .refused, .action, .full, .storeFull, .synced, .diverged: false
    }
  }
}

extension ForwardingReport.Departure {
  init(_ reason: GoneReason) {
    self =
      switch reason {
      case .dismissed: .dismissed
      case .evicted: .evicted
      case .expired: .expired
      }
  }
}
