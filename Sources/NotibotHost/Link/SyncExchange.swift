import DequeModule
import NotibotProtocol

/// Counters of the messages on channel 0. Source: PROTOCOL.md NTF-30, section 5.
package struct SyncStatistics: Equatable, Sendable {
  /// SYNCs sent.
  package var requests = 0
  /// SYNCEDs that answered one.
  package var answers = 0
  /// Messages of unknown kind, too short, or of a kind that only a host sends: dropped.
  package var malformed = 0
  /// SYNCEDs without a SYNC, or of another source: dropped.
  package var ignored = 0

  package init() {}
}

/// The SYNCs of one session; each has one answer.
///
/// A SYNC is *queued* (`submit`) → *sent* (`handleSent`) → answered (`receive`), or overdue 30 s
/// after it was sent. `end` discards all of them.
struct SyncExchange: Equatable, Sendable {
  private struct Awaited: Equatable {
    var source: UInt32
    var sentAt: Instant
  }

  /// SYNCs queued and sent, at most, in total.
  static let requestsLimit = 4
  /// The timeout of a SYNC; requests have the same (ATT-7).
  static let answerLimitNs: Int64 = 30_000_000_000

  private var queued = Deque<UInt32>()
  private var awaited = Deque<Awaited>()
  private(set) var statistics = SyncStatistics()

  var hasRoom: Bool { queued.count + awaited.count < Self.requestsLimit }

  /// A SYNC was queued.
  mutating func submit(_ request: SyncRequest) {
    queued.append(request.source)
  }

  /// The oldest queued SYNC was sent.
  mutating func handleSent(now: Instant) {
    guard let source = queued.popFirst() else { return }
    awaited.append(Awaited(source: source, sentAt: now))
    statistics.requests += 1
  }

  /// Takes a payload of channel 0; `nil`: it has no message for a host.
  mutating func receive(_ payload: [UInt8]) -> SyncMessage? {
    guard let message = try? SyncMessage(parsing: payload) else {
      // Dropped and counted: its content is unknown (NTF-30).
      statistics.malformed += 1
      return nil
    }
    switch message {
    case .sync, .taken:
      statistics.malformed += 1
      return nil
    case .synced(let answer):
      guard let first = awaited.first, first.source == answer.source else {
        statistics.ignored += 1
        return nil
      }
      awaited.removeFirst()
      statistics.answers += 1
      return message
    case .resync, .gone, .press: return message
    }
  }

  /// The session is over.
  mutating func end() {
    queued.removeAll()
    awaited.removeAll()
  }

  /// When the oldest sent SYNC times out.
  var nextDeadline: Instant? {
    awaited.first?.sentAt.after(ns: Self.answerLimitNs)
  }

  func isOverdue(now: Instant) -> Bool {
    nextDeadline.map { now >= $0 } ?? false
  }
}
