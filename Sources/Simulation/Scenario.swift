package import DeviceEmulator
package import NotibotHost
package import NotibotProtocol

/// The input of one simulated run: everything that is drawn, and nothing that follows from it.
///
/// First a *fault phase*, in which notifications are submitted while wire, device, plug, host and
/// disk fail; then a *calm phase* without any fault, at whose end the state must be as expected.
package struct Scenario: Equatable, Sendable {
  /// The special conditions of hosts and journals.
  package enum Variant: String, Equatable, Sendable, CaseIterable {
    /// One host with one journal.
    case single
    /// Two hosts, each with its own journal, take turns at the device.
    case twoHosts = "two-hosts"
    /// The journal is deleted between two lives of the host.
    case lostJournal = "lost-journal"
    /// The journal returns to an earlier state.
    case restoredJournal = "restored-journal"
    /// A second host begins with a copy of the first one's journal, and they take turns.
    case copiedJournal = "copied-journal"

    /// The number of hosts.
    package var hostsCount: Int {
      switch self {
      case .single, .lostJournal, .restoredJournal: 1
      case .twoHosts, .copiedJournal: 2
      }
    }

    /// Whether a host always has the journal that it wrote last.
    package var keepsJournals: Bool {
      switch self {
      case .single, .twoHosts: true
      case .lostJournal, .restoredJournal, .copiedJournal: false
      }
    }
  }

  /// How a host's life ends.
  package enum HostEnd: String, Equatable, Sendable, CaseIterable {
    /// SIGKILL: data in the disk's cache is kept.
    case kill
    /// The computer loses its power: unsynced data can be lost.
    case powerLoss = "power loss"
    /// An orderly stop.
    case stop
  }

  /// Where the board is after its plug was pulled.
  package enum Return: String, Equatable, Sendable, CaseIterable {
    case samePath = "the same path"
    case otherPath = "another path"
    /// Another board gets the old path in the meantime, and keeps it.
    case strangerTookPath = "another path, because a stranger has the old one"
  }

  /// How an attempt to open a port differs from the usual one.
  package enum Opening: String, Equatable, Sendable, CaseIterable {
    case slow = "opens slowly"
    case late = "fails late"
    case never = "never opens"
    /// Its channel ends before it was open, and it fails later.
    case ends = "ends early"
    /// The failure is never reported.
    case onlyEnds = "only ends"
  }

  /// An event at a given time. `pick` is reduced modulo the number of candidates at that time.
  package enum Event: Equatable, Sendable {
    /// Notification number `content` is submitted, by the host with this number.
    case add(content: Int, host: Int)
    /// A client that has no answer, or has lost it, submits a notification with a key again.
    case again(pick: UInt64)
    /// The same, of a given notification.
    case retry(content: Int)
    /// A notification that the outbox has confirmed gets the content with this number.
    case update(content: Int, pick: UInt64)
    case remove(pick: UInt64)
    case dismiss(pick: UInt64)
    case action(pick: UInt64)
    case reboot(ResetReason)
    case unplug(for: Duration, Return, losesPower: Bool)
    /// The application of the device hangs.
    case hang(for: Duration)
    /// The host's life ends. The next one begins after `pause`; in variants with two hosts it is
    /// the other's.
    case endHost(HostEnd, pause: Duration)
    /// Writes to the journal's disk fail, because it is full.
    case fillDisk(for: Duration)
    /// The computer loses its power during the next commit, after this many syncs, or this many
    /// writes.
    case interruptCommit(afterSyncs: Int)
    case interruptWrite(afterWrites: Int)
  }

  /// An event and its time.
  package struct Step: Equatable, Sendable {
    package var time: Instant
    package var event: Event
  }

  /// When a journal is copied away and when it is lost, restored or used again: before which life
  /// of a host, counted from 0.
  package struct JournalEvent: Equatable, Sendable {
    package var copiedBeforeLife: Int
    package var usedBeforeLife: Int
  }

  package var seed: UInt64
  package var profile: DeviceProfile
  package var variant: Variant
  /// The duration of the fault phase.
  package var faultTime: Duration
  /// The faults of the wire in the fault phase.
  package var faults: FaultSpec
  /// All submissions; each has a unique timestamp, which identifies it.
  package var contents: [DisplayNotification]
  /// Those that are submitted with a key.
  package var keyed: Set<Int> = []
  /// Whether hosts and device have the time of day: notifications can expire.
  package var hasClock = false
  /// Ordered by time.
  package var steps: [Step]
  /// The duration of a commit.
  package var commitTime: ClosedRange<Duration>
  package var journalEvent: JournalEvent
  /// The capacity of an outbox, in entries.
  package var entriesLimit: Int
  /// The share of attempts to open a port that are not usual, in the fault phase.
  package var openingTrouble = 0.0

  /// The timestamp of content 0. Content n has this plus n.
  package static let firstTimestamp: UInt32 = 1_700_000_000

  /// The number of the content with a timestamp; nil if there is none.
  package func content(ofTimestamp timestamp: UInt32) -> Int? {
    guard timestamp >= Self.firstTimestamp else { return nil }
    let index = Int(timestamp - Self.firstTimestamp)
    return contents.indices.contains(index) ? index : nil
  }

  /// The time of day at the beginning.
  package static let firstSecond: Int64 = 1_800_000_000

  /// The time of day.
  package func seconds(at now: Instant) -> Int64 { Self.firstSecond + now.nanoseconds / 1_000_000_000 }

  /// Whether a content expired at least so many seconds ago; a negative number looks ahead.
  package func isExpired(_ content: Int, since seconds: Int64 = 0, at now: Instant) -> Bool {
    guard hasClock, let expires = contents[content].details.expires else { return false }
    return Int64(expires) + seconds <= self.seconds(at: now)
  }

  /// The key of a content; nil if it is submitted without one.
  package func key(of content: Int) -> IdempotencyKey? {
    keyed.contains(content) ? IdempotencyKey("content \(content)") : nil
  }

  /// The profiles that runs are drawn from. A failing supply is drawn as restarts, because in the
  /// calm phase it is not allowed to fail.
  package static let profiles: [DeviceProfile] = [
    .standard, .tiny, .mtu23, .slowFlash, .usbSerialJTAG, .ftdi, .cp2102, .resetOnOpen, .wide, .firmware,
  ]

  /// Whether the device's store has room for all submissions.
  package var hasRoom: Bool { Int(profile.capacity) >= contents.count }

  /// Whether the device has identities and SYNC. Source: PROTOCOL.md NTF-37.
  package var hasIdentity: Bool { profile.mode == .strict }
}
