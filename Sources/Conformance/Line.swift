package import NotibotProtocol

/// Bytes to and from a peer, and the clock of its deadlines. "Wait" always means "read until a
/// deadline", so a virtual clock makes every wait free.
package protocol Line: AnyObject {
  /// The current time.
  var now: Instant { get }

  /// Writes all bytes to the peer.
  func write(_ bytes: [UInt8]) async throws

  /// Waits until there are bytes, and returns all of them; returns none at the deadline.
  func read(until deadline: Instant) async throws -> [UInt8]

  /// The delay between the end of the latest read since the last call and the arrival of its bytes,
  /// or its deadline.
  func drainLateness() -> Duration
}

extension Line {
  /// Zero: a virtual clock waits for its readers.
  package func drainLateness() -> Duration { .zero }
}

/// A peer on a virtual clock: bytes and time come in as values.
package protocol VirtualPeer {
  mutating func receive(_ bytes: [UInt8], now: Instant)
  mutating func handleTimeout(now: Instant)
  /// The next bytes that it sends; nil if there are none now.
  mutating func nextBytes(now: Instant) -> [UInt8]?
  var nextDeadline: Instant? { get }
}

/// A line to a peer in the same process, on a clock that only advances during reads.
package final class VirtualLine<Peer: VirtualPeer>: Line {
  /// The number of times that a peer can set a deadline for the same time before it counts as
  /// stuck.
  private static var timeoutsAtOneMomentLimit: Int { 10_000 }
  /// The number of unread bytes at which a peer counts as one that sends without end.
  private static var unreadLimitBytes: Int { 1 << 24 }

  package private(set) var now: Instant
  package private(set) var peer: Peer
  private var inbox: [UInt8] = []

  package init(peer: Peer, now: Instant) {
    self.peer = peer
    self.now = now
    collect()
  }

  package func write(_ bytes: [UInt8]) {
    peer.receive(bytes, now: now)
    collect()
  }

  package func read(until deadline: Instant) throws -> [UInt8] {
    var timeoutsNow = 0
    while inbox.isEmpty {
      guard let due = peer.nextDeadline, due <= deadline else {
        now = max(now, deadline)
        break
      }
      timeoutsNow = due > now ? 0 : timeoutsNow + 1
      guard timeoutsNow < Self.timeoutsAtOneMomentLimit else {
        throw CaseEnd.fault("the peer's timer does not advance", file: #fileID, line: #line)
      }
      now = max(now, due)
      peer.handleTimeout(now: now)
      collect()
    }
    defer { inbox = [] }
    guard inbox.count < Self.unreadLimitBytes else {
      throw CaseEnd.fault("the peer sends without end", file: #fileID, line: #line)
    }
    return inbox
  }

  /// Drops what was received and not read: the next bytes belong to another connection.
  package func discardUnread() { inbox = [] }

  /// Performs an action of the case on the peer other than sending it bytes.
  package func withPeer<Result>(_ body: (inout Peer) throws -> Result) rethrows -> Result {
    defer { collect() }
    return try body(&peer)
  }

  private func collect() {
    while inbox.count < Self.unreadLimitBytes, let bytes = peer.nextBytes(now: now) { inbox += bytes }
  }
}
