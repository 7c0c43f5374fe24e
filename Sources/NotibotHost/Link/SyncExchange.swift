import DequeModule
import NotibotProtocol

/// What was counted of the messages of channel 0. Source: PROTOCOL.md NTF-30, section 5.
package struct SyncStatistics: Equatable, Sendable {
  /// SYNCs sent.
  package var requests = 0
  /// SYNCEDs that answered one.
  package var answers = 0
  /// Messages of another kind, too short, or such as only a host sends: dropped.
  package var malformed = 0
  /// SYNCEDs that nobody had asked for, or of another source: dropped.
  package var ignored = 0

  package init() {}
}

/// The SYNCs of one session, each of which has one answer.
///
/// A SYNC is *queued* (`submit`) → *out* (`noteSent`) → answered (`receive`), or 30 s *out* and overdue. `end` forgets
/// all of them.
struct SyncExchange: Equatable, Sendable {
  private struct Awaited: Equatable {
    var source: UInt32
    var sentAt: Instant
  }

  /// SYNCs that may be queued and out, together.
  static let requestsLimit = 4
  /// How long a SYNC may have no answer; ATT-7 says the same of requests.
  static let answerLimitNs: Int64 = 30_000_000_000

  private var queued = Deque<UInt32>()
  private var awaited = Deque<Awaited>()
  private(set) var statistics = SyncStatistics()

  var hasRoom: Bool { queued.count + awaited.count < Self.requestsLimit }

  /// A SYNC waits for its turn.
  mutating func submit(_ request: SyncRequest) {
    queued.append(request.source)
  }

  /// The oldest SYNC that waited has gone out.
  mutating func noteSent(now: Instant) {
    guard let source = queued.popFirst() else { return }
    awaited.append(Awaited(source: source, sentAt: now))
    statistics.requests += 1
  }

  /// Takes a payload of channel 0; `nil`: there is nothing in it for a host.
  mutating func receive(_ payload: [UInt8]) -> SyncMessage? {
    guard let message = try? SyncMessage(parsing: payload) else {
      // Dropped and counted: what the device meant cannot be known (NTF-30).
      statistics.malformed += 1
      return nil
    }
    switch message {
    case .sync:
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
    case .resync, .gone: return message
    }
  }

  /// The session is over.
  mutating func end() {
    queued.removeAll()
    awaited.removeAll()
  }

  /// When the oldest SYNC that is out has waited too long.
  var nextDeadline: Instant? {
    awaited.first?.sentAt.after(ns: Self.answerLimitNs)
  }

  func isOverdue(now: Instant) -> Bool {
    nextDeadline.map { now >= $0 } ?? false
  }
}
