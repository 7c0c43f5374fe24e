import NotibotProtocol
import NotibotHost
import Testing

@testable import Commands

@Suite struct ShareArbiterTests {
  private let first = SyncRequest(source: 11, knownID: 1, holdings: Holdings(count: 1, digest: 5))
  private let second = SyncRequest(source: 22, knownID: 2, holdings: Holdings(count: 2, digest: 6))

  /// Clients 1 and 2 have synced, the second one last.
  private func makeSynced() -> ShareArbiter {
    var arbiter = ShareArbiter()
    for (client, request) in [(1, first), (2, second)] {
      arbiter.submit(.sync(request), ShareArbiter.Ticket(client: client, number: 0))
      while arbiter.synced() != client { #expect(arbiter.nextAction() != nil) }
    }
    return arbiter
  }

  private func ticket(_ client: Int, _ number: UInt64) -> ShareArbiter.Ticket {
    ShareArbiter.Ticket(client: client, number: number)
  }

  @Test func `a write under another source waits for outstanding ones, and for the repeated SYNC`() {
    var arbiter = makeSynced()
    arbiter.submit(.write([2]), ticket(2, 1))
    arbiter.submit(.write([1]), ticket(1, 1))
    #expect(arbiter.nextAction() == .submit(.sendEncoded([2]), ticket(2, 1)))
    #expect(arbiter.nextAction() == nil)
    arbiter.completed(ticket(2, 1))
    #expect(arbiter.nextAction() == .sync(first))
    #expect(arbiter.nextAction() == nil)
    // Nobody asked for this SYNCED.
    #expect(arbiter.synced() == nil)
    #expect(arbiter.nextAction() == .submit(.sendEncoded([1]), ticket(1, 1)))
  }

  @Test func `operations without a source need no turn`() {
    var arbiter = makeSynced()
    arbiter.submit(.sync(first), ticket(1, 1))
    #expect(arbiter.nextAction() == .sync(first))
    arbiter.submit(.write([3]), ticket(3, 1))
    arbiter.submit(.readCount, ticket(2, 1))
    arbiter.submit(.taken(source: 22, press: 9), ticket(2, 2))
    var actions: [ShareArbiter.Action] = []
    while let action = arbiter.nextAction() { actions.append(action) }
    #expect(actions.count == 3)
    #expect(actions.contains(.submit(.sendEncoded([3]), ticket(3, 1))))
    #expect(actions.contains(.taken(source: 22, press: 9)))
  }

  @Test func `a busy source gives up its turn`() {
    var arbiter = makeSynced()
    for number in 1...200 { arbiter.submit(.write([2]), ticket(2, UInt64(number))) }
    arbiter.submit(.write([1]), ticket(1, 1))
    var sent: [ShareArbiter.Ticket] = []
    while case .submit(_, let ticket)? = arbiter.nextAction() { sent.append(ticket) }
    #expect(sent.count == ShareArbiter.turnLimit)
    sent.forEach { arbiter.completed($0) }
    #expect(arbiter.nextAction() == .sync(first))
  }

  @Test func `kept presses are collected by the SYNC of their source`() {
    var arbiter = makeSynced()
    arbiter.collect(33)
    #expect(arbiter.nextAction() == nil)
    arbiter.collect(11)
    #expect(arbiter.nextAction() == .sync(first))
    #expect(arbiter.syncingSource == 11)
  }

  @Test func `before a new source, those of the other clients are refreshed`() {
    var arbiter = makeSynced()
    while arbiter.nextAction() != nil { _ = arbiter.synced() }
    let third = SyncRequest(source: 33, knownID: 0, holdings: Holdings(count: 0, digest: 0))
    // The SRC of its SYN is no SYNC.
    arbiter.announce(source: 33, of: 3)
    arbiter.submit(.sync(third), ticket(3, 1))
    var sources: [UInt32] = []
    while case .sync(let request)? = arbiter.nextAction() {
      sources.append(request.source)
      _ = arbiter.synced()
    }
    #expect(sources.sorted() == [11, 22, 33])
    #expect(sources.last == 33)
  }

  @Test func `nothing is sent for a client that is gone, and others go on`() {
    var arbiter = makeSynced()
    arbiter.submit(.write([2]), ticket(2, 1))
    #expect(arbiter.nextAction() == .submit(.sendEncoded([2]), ticket(2, 1)))
    arbiter.submit(.write([2]), ticket(2, 2))
    arbiter.remove(2)
    arbiter.submit(.write([1]), ticket(1, 1))
    #expect(arbiter.nextAction() == nil)
    arbiter.completed(ticket(2, 1))
    #expect(arbiter.nextAction() == .sync(first))
  }
}
