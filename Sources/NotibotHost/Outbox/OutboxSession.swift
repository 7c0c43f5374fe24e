import DequeModule
import NotibotProtocol

/// The state of an outbox in one session.
///
/// States: with identities *subscribing* → *draining* → *syncing* → (*resending* → *syncing*, at
/// most twice) → *live*; RESYNC leads from *live* to *draining*. Another writer's use of our
/// source, detected by SYNCED or a conflict, leads via *draining* to *proving* → *counting* →
/// *retiring* → *renewing* → *syncing*. Without identities *subscribing* → *plain*. The session's
/// end ends all of them.
struct OutboxSession: Equatable, Sendable {
  enum Stage: Equatable {
    /// The subscription has no answer yet.
    case subscribing
    /// Writes in flight are completed before the next stage.
    case draining(then: Next)
    /// Notifications that may be on the device are written again, to find out which are.
    case proving(Leaving)
    /// SYNC is sent, so that all events of these writes are received.
    case counting(Leaving)
    /// Notifications under the old source are removed from the device.
    case retiring
    /// A commit with a new source is in progress.
    case renewing
    /// SYNC is sent, after this many rounds of rewriting.
    case syncing(rounds: Int)
    /// These ids, and those that were gone, are written again.
    case resending(Deque<UInt32>, rounds: Int)
    case live
    /// The device reported an impossible state: nothing is written in this session.
    case distrusted
    /// A device without identities; these, of unknown outcome, are sent first.
    case plain(Deque<OutboxNumber>)
  }

  enum Next: Equatable {
    case syncing
    case leaving
  }

  /// Knowledge about the device's notifications while the host changes its source. Source:
  /// PROTOCOL.md NTF-35.
  struct Leaving: Equatable {
    /// A write to repeat.
    struct Trial: Equatable {
      var id: UInt32
      var revision: UInt16
    }

    var trials: Deque<Trial>
    /// Accepted: the revision on the device, by id.
    var proven: [UInt32: UInt16] = [:]
    /// Reported as gone, but perhaps never on the device in this boot.
    var missing: Set<UInt32> = []
  }

  /// A notification reported as gone whose writer is not known yet.
  struct GoneMessage: Equatable {
    var reason: GoneReason
    var key: NotificationKey
  }

  /// The purpose of a write.
  enum Purpose: Equatable {
    case content(OutboxNumber, id: UInt32, revision: UInt16)
    /// Shows whether these bytes are on the device.
    case trial(OutboxNumber, id: UInt32, revision: UInt16)
    case removal(OutboxNumber, id: UInt32)
    /// Confirms that `id` is gone; `number` was its entry. Source: PROTOCOL.md NTF-26.
    case confirmation(id: UInt32, number: OutboxNumber?)
  }

  /// A queued write, which waits for the journal and the window.
  struct Outgoing: Equatable {
    var purpose: Purpose
    /// Marks of the journal that must be durable before; see `OutboxJournal.isDurable`.
    var mark: UInt64
  }

  struct Confirmation: Equatable {
    /// A notification that the device counts until it is confirmed. Source: PROTOCOL.md NTF-27.
    enum Remains: Equatable {
      case nothing
      /// An expired one whose JSON has this CRC-32.
      case known(crc: UInt32)
      /// An expired one of unknown version.
      case unknown
    }

    var id: UInt32
    var number: OutboxNumber?
    var remains: Remains
  }

  /// Writes in flight, at most, regardless of the device.
  static let windowLimit = 64
  /// Pending confirmations of gone notifications, at most; the device reports the others again at
  /// the next SYNC.
  static let confirmationsLimit = 4096
  /// New sources in one session, at most; a device that asks for more is wrong, and its answer
  /// counts as an ordinary refusal.
  static let renewalsLimit = 3
  /// Least time between a SYNC and the next one requested by the device.
  static let resyncIntervalNs: Int64 = 1_000_000_000

  /// Presses that wait for SYNCED, at most; the device reports the others again at the next SYNC.
  static let waitingPressesLimit = 4096

  let info: DeviceInfo
  var stage = Stage.subscribing
  var outgoing = Deque<Outgoing>()
  /// Writes without an answer, by tag.
  var outstanding: [UInt64: Purpose] = [:]
  var confirmations = Deque<Confirmation>()
  /// Ids whose confirmation is queued or in flight.
  var confirming: Set<UInt32> = []
  /// *Removing* entries whose removal is not queued yet.
  var removals = Deque<OutboxNumber>()
  /// *Held* entries with newer content that is not queued yet.
  var updates = OutboxQueue()
  var renewals = 0
  /// Whether the device requested a SYNC that was not sent yet.
  var wantsResync = false
  var syncedAt: Instant?
  /// The highest id of our source that the device knows; `nil`: not reported yet.
  var highestID: UInt32?
  /// Notifications reported as gone before the first SYNCED, in a boot in which we have written
  /// nothing.
  var unplacedGone: [GoneMessage] = []

  /// Presses that wait until host and device agree. Source: PROTOCOL.md NTF-42.
  var waitingPresses: [PendingPress] = []
  /// The highest number of a press received since the latest SYNC.
  var receivedPress: UInt32 = 0
  /// Whether the device has restarted since the session before, although its boot id is the same.
  var hasRestarted = false
  /// The highest press that was taken and is not released on the device; `nil`: none.
  var releasablePress: UInt32?

  init(_ info: DeviceInfo) {
    self.info = info
  }

  /// Whether its notifications have identities and both sides can compare them: one is useless
  /// without the other.
  var hasIdentity: Bool { info.hasIdentity && info.hasSync }

  /// Writes in flight, at most: twice the device's pipeline, so that it never waits.
  var window: Int { min(info.requestsLimit * 2, Self.windowLimit) }

  var hasRoomForOutgoing: Bool { outgoing.count < window }

  var hasRoomForOutstanding: Bool { outstanding.count < window }

  /// The device has accepted this id.
  mutating func updateHighest(_ id: UInt32) {
    highestID = max(highestID ?? 0, id)
  }

  /// Whether nothing is queued or in flight.
  var isDrained: Bool { outgoing.isEmpty && outstanding.isEmpty }

  /// New contents queued or in flight.
  var contentsCount: Int {
    outgoing.count { $0.purpose.isContent } + outstanding.values.count { $0.isContent }
  }

  /// When a SYNC requested by the device is due.
  var resyncAt: Instant? {
    guard wantsResync, stage == .live else { return nil }
    return (syncedAt ?? .zero).after(ns: Self.resyncIntervalNs)
  }
}

extension OutboxSession.Purpose {
  var isContent: Bool {
    switch self {
    case .content: true
    case .trial, .removal, .confirmation: false
    }
  }

  /// The entry whose change must be durable before the write.
  var number: OutboxNumber? {
    switch self {
    case .content(let number, _, _), .trial(let number, _, _), .removal(let number, _): number
    case .confirmation(_, let number): number
    }
  }
}
