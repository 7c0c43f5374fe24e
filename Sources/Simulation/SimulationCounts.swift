import DeviceEmulator
import NotibotHost

/// Counters of one run, or of many.
package struct SimulationCounts: Equatable, Sendable {
  package var runs = 0
  package var virtualTime = Duration.zero
  package var notifications = 0
  package var updates = 0
  package var removals = 0
  /// Reports that a notification was delivered.
  package var delivered = 0
  /// Notifications that a display showed; those shown again after a restart are counted again.
  package var shown = 0
  package var announced = 0
  package var gone = 0
  /// Submissions that a client repeated with their keys.
  package var repeated = 0
  /// Those of them whose key was accepted before.
  package var duplicates = 0
  /// Notifications that expired before the device had them.
  package var expired = 0
  package var presses = 0
  package var sessions = 0
  package var reboots = 0
  package var unplugs = 0
  /// Ports that opened slowly, failed late, never opened, or ended before.
  package var badOpenings = 0
  /// Reported actions, and the stale ones among them.
  package var actions = 0
  package var staleActions = 0
  /// Lives of hosts.
  package var lives = 0
  package var kills = 0
  /// Hosts that lost their power, and with it unsynced data.
  package var powerLosses = 0
  package var commits = 0
  package var failedCommits = 0
  package var newSources = 0
  package var diverged = 0
  package var bytesToDevice = 0
  /// DATA frames that hosts retransmitted.
  package var resends = 0
  /// The longest time from showing a notification on the display until its delivery was reported,
  /// in one life.
  package var slowestReport = Duration.zero

  package init() {}

  mutating func record(_ report: OutboxReport) {
    switch report {
    case .delivered: delivered += 1
    case .gone: gone += 1
    case .duplicate: duplicates += 1
    case .expired: expired += 1
    case .newSource: newSources += 1
    case .diverged: diverged += 1
    case .action(_, _, _, let isStale):
      actions += 1
      if isStale { staleActions += 1 }
    case .queued, .rejected, .refused, .removed, .outcomeUnknown, .storeFull, .synced: break
    }
  }

  mutating func record(_ submission: OutboxSubmission, isRepeated: Bool) {
    guard !isRepeated else {
      repeated += 1
      return
    }
    switch submission {
    case .add: notifications += 1
    case .update: updates += 1
    case .remove: removals += 1
    }
  }

  mutating func record(_ change: DisplayChange) {
    switch change {
    case .shown(_, let isAnnounced):
      shown += 1
      if isAnnounced { announced += 1 }
    case .replaced, .removed, .restarted: break
    }
  }

  /// Adds the counters of other runs.
  package mutating func add(_ other: SimulationCounts) {
    runs += other.runs
    virtualTime += other.virtualTime
    slowestReport = max(slowestReport, other.slowestReport)
    for path in Self.sums { self[keyPath: path] += other[keyPath: path] }
  }

  private static var sums: [WritableKeyPath<SimulationCounts, Int>] {
    [
      \.notifications, \.repeated, \.duplicates, \.expired, \.updates, \.removals, \.delivered, \.shown,
      \.announced, \.gone, \.presses,
      \.sessions,
      \.reboots, \.unplugs, \.badOpenings, \.lives, \.kills, \.powerLosses, \.commits, \.failedCommits,
      \.newSources,
      \.diverged, \.bytesToDevice, \.resends, \.actions, \.staleActions,
    ]
  }
}
