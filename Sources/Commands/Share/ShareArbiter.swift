import DequeModule
package import NotibotHost
package import NotibotProtocol

/// The order in which the clients of a shared board use its one session.
///
/// What a client wrote under an identity is written while the session's latest SYNC is that of its
/// source (PROTOCOL.md NTF-21). Another source gets its turn when no such write is outstanding; the
/// arbiter then repeats that client's own SYNC. Everything else needs no turn.
/// States: *open*, with the outstanding identified writes → *syncing*, until SYNCED → *open*.
/// Inputs: `completed`, `synced`; commands: `submit`, `collect`, `remove`, `reset`; output:
/// `nextAction`.
package struct ShareArbiter: Equatable, Sendable {
  /// What a client wants of the board.
  package enum Operation: Equatable, Sendable {
    /// Write this JSON.
    case write([UInt8])
    case readCount
    case sync(SyncRequest)
    case taken(source: UInt32, press: UInt32)
  }

  /// One operation of a client.
  package struct Ticket: Hashable, Sendable {
    package var client: Int
    /// Unique for the client.
    package var number: UInt64

    package init(client: Int, number: UInt64) {
      self.client = client
      self.number = number
    }
  }

  /// What to do with the board's session.
  package enum Action: Equatable, Sendable {
    /// A write or a reading; `completed` reports its end.
    case submit(HostRequest, Ticket)
    /// `synced` reports its end.
    case sync(SyncRequest)
    case taken(source: UInt32, press: UInt32)
  }

  private enum Phase: Equatable {
    case open
    /// `client`: the one that gets SYNCED; nil: the arbiter's own.
    case syncing(client: Int?)
  }

  private struct Waiting: Equatable {
    var ticket: Ticket
    var operation: Operation
  }

  /// Operations at the board at the same time.
  static let outstandingLimit = 256
  /// Writes of one source in a row while another source waits.
  static let turnLimit = 64

  private var queues: [Int: Deque<Waiting>] = [:]
  /// The clients, the one whose turn is next first.
  private var order: Deque<Int> = []
  /// The latest SYNC of each client.
  private var syncs: [Int: SyncRequest] = [:]
  private var phase = Phase.open
  /// The source of the session's latest SYNC.
  private var current: UInt32?
  /// The operations at the board, and whether each is an identified write.
  private var outstanding: [Ticket: Bool] = [:]
  private var identifiedCount = 0
  private var turnCount = 0
  /// Sources whose SYNC is to be repeated: for a press that only it reports (NTF-40), or so that
  /// the board does not forget them for a new source (NTF-22).
  private var collecting: Set<UInt32> = []
  /// The sources of clients that the board knows from a SYNC.
  private var known: Set<UInt32> = []

  package init() {}

  // MARK: Commands

  /// Queues an operation. The caller bounds the queue by the client's credit.
  package mutating func submit(_ operation: Operation, _ ticket: Ticket) {
    if queues[ticket.client] == nil { order.append(ticket.client) }
    queues[ticket.client, default: []].append(Waiting(ticket: ticket, operation: operation))
    if case .sync(let request) = operation, !known.contains(request.source) {
      collecting.formUnion(known)
    }
  }

  /// Sets the source of a client that has not sent SYNC: the SRC of its SYN.
  package mutating func announce(source: UInt32, of client: Int) {
    syncs[client] = SyncRequest(source: source, knownID: 0, holdings: Holdings(count: 0, digest: 0))
  }

  /// A source has kept presses that the session did not report as ACTION: its SYNC is repeated.
  package mutating func collect(_ source: UInt32) {
    if syncs.values.contains(where: { $0.source == source }) { collecting.insert(source) }
  }

  /// The client's session is over: nothing more is sent for it.
  package mutating func remove(_ client: Int) {
    queues[client] = nil
    syncs[client] = nil
    order.removeAll { $0 == client }
    prune()
  }

  /// The board's session is over.
  package mutating func reset() { self = ShareArbiter() }

  // MARK: Inputs

  /// A submitted operation has its result.
  package mutating func completed(_ ticket: Ticket) {
    if outstanding.removeValue(forKey: ticket) == true { identifiedCount -= 1 }
  }

  /// SYNCED arrived. Returns the client that asked for it; nil if the arbiter did.
  package mutating func synced() -> Int? {
    guard case .syncing(let client) = phase else { return nil }
    phase = .open
    return client
  }

  // MARK: Queries

  /// The source that a client writes under; nil: none.
  package func source(of client: Int) -> UInt32? { syncs[client]?.source }

  /// The source whose reports are repeated before the SYNCED that is awaited; nil: none.
  package var syncingSource: UInt32? { phase == .open ? nil : current }

  // MARK: Outputs

  /// The next thing to do; nil: nothing now.
  package mutating func nextAction() -> Action? {
    guard outstanding.count < Self.outstandingLimit else { return nil }
    let isTurnOver = turnCount >= Self.turnLimit && order.contains(where: wantsTurn)
    for _ in order.indices {
      guard let client = order.popFirst() else { break }
      order.append(client)
      if let action = next(of: client, isTurnOver: isTurnOver) { return action }
    }
    return nextTurn()
  }

  /// The first operation of a client, if it can be sent now.
  private mutating func next(of client: Int, isTurnOver: Bool) -> Action? {
    guard let first = queues[client]?.first else { return nil }
    switch first.operation {
    case .taken(let source, let press):
      queues[client]?.removeFirst()
      return .taken(source: source, press: press)
    case .readCount: return start(first, .readCount, isIdentified: false)
    case .write(let json):
      guard let source = syncs[client]?.source else {
        return start(first, .sendEncoded(json), isIdentified: false)
      }
      guard phase == .open, source == current, !isTurnOver else { return nil }
      turnCount += 1
      return start(first, .sendEncoded(json), isIdentified: true)
    case .sync(let request):
      guard phase == .open, identifiedCount == 0, collecting.isEmpty else { return nil }
      queues[client]?.removeFirst()
      syncs[client] = request
      prune()
      return begin(request, for: client)
    }
  }

  private mutating func start(_ first: Waiting, _ request: HostRequest, isIdentified: Bool) -> Action {
    queues[first.ticket.client]?.removeFirst()
    outstanding[first.ticket] = isIdentified
    if isIdentified { identifiedCount += 1 }
    return .submit(request, first.ticket)
  }

  /// Whether a client waits for a turn of its source.
  private func wantsTurn(_ client: Int) -> Bool {
    switch queues[client]?.first?.operation {
    case .sync: true
    case .write: syncs[client].map { $0.source != current } ?? false
    case .readCount, .taken, nil: false
    }
  }

  /// Forgets sources without a client.
  private mutating func prune() {
    let live = Set(syncs.values.map(\.source))
    collecting.formIntersection(live)
    known.formIntersection(live)
  }

  private mutating func nextTurn() -> Action? {
    guard phase == .open, identifiedCount == 0 else { return nil }
    if let source = collecting.popFirst(),
      let request = syncs.values.first(where: { $0.source == source })
    {
      return begin(request, for: nil)
    }
    guard let client = order.first(where: wantsTurn), let request = syncs[client] else { return nil }
    return begin(request, for: nil)
  }

  private mutating func begin(_ request: SyncRequest, for client: Int?) -> Action {
    phase = .syncing(client: client)
    current = request.source
    turnCount = 0
    collecting.remove(request.source)
    known.insert(request.source)
    return .sync(request)
  }
}
