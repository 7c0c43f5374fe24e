package import DeviceEmulator
package import NotibotProtocol

/// What happens in one simulated run: everything that is drawn, and nothing that follows from it.
///
/// First a *fault phase*, in which notifications are submitted while wire, device, plug, host and disk fail; then a
/// *calm phase* without any fault, at whose end all must be as it should.
package struct Scenario: Equatable, Sendable {
  /// What is out of the ordinary about hosts and journals.
  package enum Variant: String, Equatable, Sendable, CaseIterable {
    /// One host with one journal.
    case single
    /// Two hosts, each with its own journal, take turns at the device.
    case twoHosts = "two-hosts"
    /// The journal is deleted between two lives of the host.
    case lostJournal = "lost-journal"
    /// The journal becomes what it was some lives ago.
    case restoredJournal = "restored-journal"
    /// A second host begins with a copy of the first one's journal, and they take turns.
    case copiedJournal = "copied-journal"

    /// How many hosts there are.
    package var hostsCount: Int {
      switch self {
      case .single, .lostJournal, .restoredJournal: 1
      case .twoHosts, .copiedJournal: 2
      }
    }

    /// Whether the journal that a host has is always the one that it wrote last.
    package var keepsJournals: Bool {
      switch self {
      case .single, .twoHosts: true
      case .lostJournal, .restoredJournal, .copiedJournal: false
      }
    }
  }

  /// How a host's life ends.
  package enum HostEnd: String, Equatable, Sendable, CaseIterable {
    /// SIGKILL: what was written to the disk's cache stays.
    case kill
    /// The computer loses its power: what was not synced may be lost.
    case powerLoss = "power loss"
    /// An orderly stop.
    case stop
  }

  /// Where the board is after its plug was pulled.
  package enum Return: String, Equatable, Sendable, CaseIterable {
    case samePath = "the same path"
    case otherPath = "another path"
    /// Another board has the old path meanwhile, and keeps it.
    case strangerTookPath = "another path, for a stranger has the old one"
  }

  /// One thing that happens at its time. `pick` is reduced modulo the number of what can be picked then.
  package enum Event: Equatable, Sendable {
    /// Notification number `content` is submitted, by the host of this number.
    case add(content: Int, host: Int)
    /// A notification that the outbox has confirmed gets the content of this number.
    case update(content: Int, pick: UInt64)
    case remove(pick: UInt64)
    case dismiss(pick: UInt64)
    case action(pick: UInt64)
    case reboot(ResetReason)
    case unplug(for: Duration, Return, losesPower: Bool)
    /// The application of the device hangs.
    case hang(for: Duration)
    /// The host's life ends. The next one begins after `pause`; in variants with two hosts it is the other's.
    case endHost(HostEnd, pause: Duration)
    /// Writes to the journal's disk fail, for want of room.
    case fillDisk(for: Duration)
    /// The computer loses its power in the course of the next commit, after so many syncs, or so many writes.
    case interruptCommit(afterSyncs: Int)
    case interruptWrite(afterWrites: Int)
  }

  /// An event and its time.
  package struct Step: Equatable, Sendable {
    package var time: Instant
    package var event: Event
  }

  /// When a journal is copied away and when it is lost, restored or used again: before which life of a host, counted
  /// from 0.
  package struct JournalEvent: Equatable, Sendable {
    package var copiedBeforeLife: Int
    package var usedBeforeLife: Int
  }

  package var seed: UInt64
  package var profile: DeviceProfile
  package var variant: Variant
  /// How long the fault phase lasts.
  package var faultTime: Duration
  /// What the wire does to bytes in the fault phase.
  package var faults: FaultSpec
  /// All that is submitted; each has its own timestamp, by which it is known again.
  package var contents: [Notification]
  /// In the order of their times.
  package var steps: [Step]
  /// How long a commit takes.
  package var commitTime: ClosedRange<Duration>
  package var journalEvent: JournalEvent
  /// How many entries an outbox holds.
  package var entriesLimit: Int

  /// The timestamp of content 0. Content n has this plus n.
  package static let firstTimestamp: UInt32 = 1_700_000_000

  /// The number of the content that has a timestamp; nil when there is none.
  package func content(ofTimestamp timestamp: UInt32) -> Int? {
    guard timestamp >= Self.firstTimestamp else { return nil }
    let index = Int(timestamp - Self.firstTimestamp)
    return contents.indices.contains(index) ? index : nil
  }

  /// The profiles that runs are drawn from. A supply that fails is drawn as restarts, for in the calm phase it must not.
  package static let profiles: [DeviceProfile] = [
    .standard, .tiny, .mtu23, .slowFlash, .usbSerialJTAG, .ftdi, .cp2102, .resetOnOpen, .wide, .firmware,
  ]

  /// Whether the device's store has room for all that there is.
  package var hasRoom: Bool { Int(profile.capacity) >= contents.count }

  /// Whether the device has identities and SYNC. Source: PROTOCOL.md NTF-37.
  package var hasIdentity: Bool { profile.mode == .strict }
}
