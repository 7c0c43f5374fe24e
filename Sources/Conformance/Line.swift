package import NotibotProtocol

/// Bytes to a peer and back, and the clock that its deadlines are on. "Wait" always means "read until a
/// deadline", so a virtual clock makes every wait free.
package protocol Line: AnyObject {
  /// The present moment.
  var now: Instant { get }

  /// Hands bytes to the peer, all of them.
  func write(_ bytes: [UInt8]) async throws

  /// Waits until there are bytes, and returns all there are; returns none at the deadline.
  func read(until deadline: Instant) async throws -> [UInt8]

  /// By how much the latest of the reads since the last call ended after its bytes, or its deadline, were there.
  func takeLateness() -> Duration
}

extension Line {
  /// Never: a virtual clock waits for its readers.
  package func takeLateness() -> Duration { .zero }
}

/// A peer that lives on a virtual clock: bytes and time come in as values.
package protocol VirtualPeer {
  mutating func receive(_ bytes: [UInt8], now: Instant)
  mutating func handleTimeout(now: Instant)
  /// The next bytes that it sends; nil when there are none now.
  mutating func nextBytes(now: Instant) -> [UInt8]?
  var nextDeadline: Instant? { get }
}

/// A line to a peer in the same process, on a clock that only moves while somebody reads.
package final class VirtualLine<Peer: VirtualPeer>: Line {
  /// Deadlines that a peer may set for the same moment before it is taken for stuck.
  private static var timeoutsAtOneMomentLimit: Int { 10_000 }

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
        throw RigTrouble("the peer's timer does not advance", remedy: "report this as a bug of the emulator")
      }
      now = max(now, due)
      peer.handleTimeout(now: now)
      collect()
    }
    defer { inbox = [] }
    return inbox
  }

  /// Lets the case do something to the peer other than send it bytes.
  package func withPeer<Result>(_ body: (inout Peer) throws -> Result) rethrows -> Result {
    defer { collect() }
    return try body(&peer)
  }

  private func collect() {
    while let bytes = peer.nextBytes(now: now) { inbox += bytes }
  }
}
