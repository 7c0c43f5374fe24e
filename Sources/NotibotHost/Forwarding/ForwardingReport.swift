import NotibotProtocol

/// What became of notifications. All about a single one, but for rejections, is in the journal before it is reported.
public enum ForwardingReport: Hashable, Sendable {
  /// The outbox's own number for a notification, from 1; never used twice in one journal.
  public typealias Number = Int64

  /// Why a notification is no longer on the display.
  public enum Departure: String, Hashable, Sendable {
    case dismissed, evicted, expired
  }

  /// It is in the journal, and will be delivered whatever happens. `token` is the one that was submitted with it.
  case queued(Number, token: UInt64)
  /// It was not taken.
  case rejected(ForwardingRejection, token: UInt64)
  /// The device has it: once for each content.
  case delivered(Number)
  /// The device will not have it; the error is one of the attribute protocol, as in `NotibotError.Code.refused`.
  case refused(Number, attError: UInt8)
  /// It left the display.
  case gone(Number, Departure)
  /// It was taken back, as was asked for.
  case removed(Number)
  /// Somebody chose an action of it, counted from 0.
  case action(Number, action: UInt32)
  /// It may have been delivered or not, and is not sent again.
  case outcomeUnknown(Number)
  /// The device's store is full; what waits goes out when there is room.
  case storeFull
  /// Host and device agree on what is on the display, after so many rounds of sending again.
  case synced(rounds: Int)
  /// They do not agree.
  case diverged
  /// The journal was not the one that wrote to this device last: it goes on under this source.
  case newSource(UInt32)
}

/// Why a submission was not taken.
public enum ForwardingRejection: Error, Hashable, Sendable {
  /// There is no notification of this number any more.
  case unknownNumber(ForwardingReport.Number)
  /// The outbox is full.
  case full(limit: Int)
  /// The journal cannot be written.
  case journalFailed
  /// The forwarder ended before.
  case stopped
}

extension ForwardingRejection: CustomStringConvertible {
  public var description: String {
    switch self {
    case .unknownNumber(let number): "there is no notification \(number) in the outbox"
    case .full(let limit): "the outbox is full (\(limit))"
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
      case .rejected(let rejection, let token): .rejected(ForwardingRejection(rejection), token: token)
      case .delivered(let number): .delivered(number.rawValue)
      case .refused(let number, let error): .refused(number.rawValue, attError: error.rawValue)
      case .gone(let number, let reason): .gone(number.rawValue, Departure(reason))
      case .removed(let number): .removed(number.rawValue)
      case .action(let number, let act): .action(number.rawValue, action: act)
      case .outcomeUnknown(let number): .outcomeUnknown(number.rawValue)
      case .storeFull: .storeFull
      case .synced(let rounds): .synced(rounds: rounds)
      case .diverged: .diverged
      case .newSource(let source): .newSource(source)
      }
  }

  /// Whether it may have made room in the outbox.
  var makesRoom: Bool {
    switch self {
    case .delivered, .gone, .removed, .outcomeUnknown, .newSource: true
    case .queued, .rejected, .refused, .action, .storeFull, .synced, .diverged: false
    }
  }
}

extension ForwardingRejection {
  init(_ rejection: OutboxRejection) {
    self =
      switch rejection {
      case .full(let limit): .full(limit: limit)
      case .unknownNumber(let number): .unknownNumber(number.rawValue)
      case .journalFailed: .journalFailed
      case .ended: .stopped
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
