import DequeModule
import NotibotProtocol

/// What an outbox does in one session.
///
/// States: with identities *subscribing* → *draining* → *syncing* → (*resending* → *syncing*, at most twice) → *live*;
/// RESYNC leads from *live* to *draining*. Another's writes under our source, seen by SYNCED or a conflict, lead by *draining*
/// to *proving* → *counting* → *retiring* → *renewing* → *syncing*. Without identities *subscribing* → *plain*. The session's end ends all of them.
struct OutboxSession: Equatable, Sendable {
  enum Stage: Equatable {
    /// The subscription has no answer yet.
    case subscribing
    /// What was begun is finished before something else happens.
    case draining(then: Next)
    /// What may be on the device is written again, to learn what is.
    case proving(Leaving)
    /// SYNC is out, so that all is heard that the device tells of these writes.
    case counting(Leaving)
    /// What is on the device under the old source is taken off it.
    case retiring
    /// A commit with a new source is out.
    case renewing
    /// SYNC is out, after this many rounds of writing again.
    case syncing(rounds: Int)
    /// These ids, and what was gone, are written again.
    case resending(Deque<UInt32>, rounds: Int)
    case live
    /// The device says what cannot be: nothing is written in this session.
    case distrusted
    /// A device without identities; these, of unknown outcome, come first.
    case plain(Deque<OutboxNumber>)
  }

  enum Next: Equatable {
    case syncing
    case leaving
  }

  /// What is known of the device's notifications when the host leaves its source. Source: PROTOCOL.md NTF-35.
  struct Leaving: Equatable {
    /// A write to be made again.
    struct Trial: Equatable {
      var id: UInt32
      var revision: UInt16
    }

    var trials: Deque<Trial>
    /// Answered by success: the revision that is there, by id.
    var proven: [UInt32: UInt16] = [:]
    /// Told to be gone, but perhaps never there in this boot.
    var missing: Set<UInt32> = []
  }

  /// Something told to be gone before it is known whose it was.
  struct GoneNews: Equatable {
    var reason: GoneReason
    var key: NotificationKey
  }

  /// What a write is for.
  enum Purpose: Equatable {
    case content(OutboxNumber, id: UInt32, revision: UInt16)
    /// Shows whether these bytes are on the device.
    case trial(OutboxNumber, id: UInt32, revision: UInt16)
    case removal(OutboxNumber, id: UInt32)
    /// Says that the host knows that `id` is gone; `number` was its entry. Source: PROTOCOL.md NTF-26.
    case confirmation(id: UInt32, number: OutboxNumber?)
  }

  /// A write that waits for the journal, and for its turn.
  struct Outgoing: Equatable {
    var purpose: Purpose
    /// Marks of the journal that must be durable before; see `OutboxJournal.isDurable`.
    var mark: UInt64
  }

  struct Confirmation: Equatable {
    /// What the device counts until it is confirmed. Source: PROTOCOL.md NTF-27.
    enum Remains: Equatable {
      case nothing
      /// An expired one whose JSON has this CRC-32.
      case known(crc: UInt32)
      /// An expired one; which version of it is not known.
      case unknown
    }

    var id: UInt32
    var number: OutboxNumber?
    var remains: Remains
  }

  /// Writes that may be out, whatever the device allows.
  static let windowLimit = 64
  /// Gone notifications that wait to be confirmed; others are told again at the next SYNC.
  static let confirmationsLimit = 4096
  /// New sources in one session; a device that asks for more is wrong, and its word counts as an ordinary refusal.
  static let renewalsLimit = 3
  /// From one SYNC to the next one that the device asked for.
  static let resyncIntervalNs: Int64 = 1_000_000_000

  let info: DeviceInfo
  var stage = Stage.subscribing
  var outgoing = Deque<Outgoing>()
  /// Writes without an answer, by tag.
  var outstanding: [UInt64: Purpose] = [:]
  var confirmations = Deque<Confirmation>()
  /// Ids whose confirmation waits or is out.
  var confirming: Set<UInt32> = []
  /// *Removing* entries whose removal is not on its way yet.
  var removals = Deque<OutboxNumber>()
  /// *Held* entries with newer content that is not on its way yet.
  var updates = OutboxQueue()
  var renewals = 0
  /// Whether the device asked for a SYNC that was not sent yet.
  var wantsResync = false
  var syncedAt: Instant?
  /// The highest id that the device knows of our source; `nil`: it has not said so yet.
  var highestID: UInt32?
  /// What was told to be gone before the first SYNCED, in a boot in which we have written nothing.
  var unplacedGone: [GoneNews] = []

  init(_ info: DeviceInfo) {
    self.info = info
  }

  /// Whether its notifications have identities, and both sides can compare them: one is of no use without the other.
  var hasIdentity: Bool { info.hasIdentity && info.hasSync }

  /// Writes that may be out: the device's pipeline, twice, so that it never waits.
  var window: Int { min(info.requestsLimit * 2, Self.windowLimit) }

  var hasRoomForOutgoing: Bool { outgoing.count < window }

  var hasRoomForOutstanding: Bool { outstanding.count < window }

  /// The device has taken this id.
  mutating func noteHighest(_ id: UInt32) {
    highestID = max(highestID ?? 0, id)
  }

  /// Whether nothing is on its way.
  var isDrained: Bool { outgoing.isEmpty && outstanding.isEmpty }

  /// New contents on their way.
  var contentsCount: Int {
    outgoing.count { $0.purpose.isContent } + outstanding.values.count { $0.isContent }
  }

  /// When a SYNC that the device asked for is due.
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
