/// Maps notifications to the clients of `forward` that get their results.
package struct ForwardRoutes: Sendable {
  package typealias Sink = AsyncStream<[UInt8]>.Continuation

  private struct Client {
    var sink: Sink
    var pace: ForwardPace
    /// Submissions that are neither queued nor rejected yet.
    var submitted = 0
    /// Notifications of this client that are neither delivered nor refused yet.
    var open: Set<Int64> = []
    var hasEnded = false
  }

  private struct Route {
    /// How much its client needs it.
    enum Stage: Int {
      /// It may have left the outbox long ago.
      case repeated
      /// Further results can follow.
      case delivered
      /// The client waits for its result.
      case open
    }

    var client: Int
    var stage: Stage
  }

  /// Mapped notifications, at most, that nobody waits for, in addition to those that the outbox can
  /// hold; of more the oldest are dropped.
  private static let idleLimit = 65_536

  /// So many notifications are in the outbox, at most, and each of these keeps its route.
  private let entriesLimit: Int
  private var clients: [Int: Client] = [:]
  private var routes: [Int64: Route] = [:]
  /// Clients that were disconnected because they did not read.
  private var unread: Set<Int> = []

  /// - Parameter entriesLimit: the capacity of the outbox.
  package init(entriesLimit: Int) {
    self.entriesLimit = entriesLimit
  }

  /// From now on `sink` gets the client's results.
  package mutating func attach(_ client: Int, _ sink: Sink, _ pace: ForwardPace) {
    clients[client] = Client(sink: sink, pace: pace)
  }

  /// Whether the client has not been disconnected from this side.
  package func isAttached(_ client: Int) -> Bool { clients[client] != nil }

  package mutating func detach(_ client: Int) {
    clients[client] = nil
    unread.remove(client)
    routes = routes.filter { $0.value.client != client }
  }

  /// The client submits no more: its sink ends when it waits for nothing.
  package mutating func handleEnd(of client: Int) {
    clients[client]?.hasEnded = true
    endIfDone(client)
  }

  /// Disconnects the oldest client that waits for no result. Returns whether there is one.
  package mutating func detachIdle() -> Bool {
    let idle = clients.filter { $0.value.submitted == 0 && $0.value.open.isEmpty }.keys.min()
    guard let idle, let client = clients[idle] else { return false }
    detach(idle)
    client.sink.finish()
    return true
  }

  /// Called before a submission is passed on; each is followed by `recordQueued` or
  /// `recordRejection`.
  package mutating func recordSubmission(of client: Int) {
    clients[client]?.submitted += 1
    clients[client]?.pace.add()
  }

  /// A submission is done without a notification of its own.
  package mutating func recordRejection(of client: Int) {
    clients[client]?.submitted -= 1
    clients[client]?.pace.remove()
    endIfDone(client)
  }

  /// The key of a submission was accepted before: later results are for this client, unless the
  /// first one is still connected. They can be over: the connection does not wait for them.
  package mutating func recordDuplicate(_ number: Int64, of client: Int) {
    guard clients[client] != nil, routes[number] == nil else { return }
    setRoute(of: number, Route(client: client, stage: .repeated))
  }

  /// A submission is in the outbox: the client waits for its result.
  package mutating func recordQueued(_ number: Int64, of client: Int) {
    guard clients[client] != nil else { return }
    clients[client]?.submitted -= 1
    clients[client]?.pace.remove()
    clients[client]?.open.insert(number)
    setRoute(of: number, Route(client: client, stage: .open))
  }

  private mutating func setRoute(of number: Int64, _ route: Route) {
    routes[number] = route
    guard routes.count > entriesLimit + Self.idleLimit else { return }
    let idle = routes.filter { $0.value.stage != .open }
      .sorted { ($0.value.stage.rawValue, $0.key) < ($1.value.stage.rawValue, $1.key) }
    for (number, _) in idle.prefix(Self.idleLimit / 2) { routes[number] = nil }
  }

  /// The clients that get a result: the latest one that wrote it, and those that still wait for one
  /// of an earlier content.
  package func clients(of number: Int64) -> [Int] {
    let latest = routes[number]?.client
    let waiting = clients.filter { $0.key != latest && $0.value.open.contains(number) }.keys.sorted()
    return (latest.map { [$0] } ?? []) + waiting
  }

  /// Called after a result was sent: removes delivered notifications.
  package mutating func record(_ report: ForwardingReport, of number: Int64) {
    switch report {
    case .gone, .expired, .removed, .outcomeUnknown: routes[number] = nil
    case .delivered, .refused: routes[number]?.stage = .delivered
    case .queued, .rejected, .duplicate, .action, .full, .storeFull, .synced, .diverged, .newSource: return
    }
    for client in clients.keys where clients[client]?.open.remove(number) != nil { endIfDone(client) }
  }

  /// Disconnects a client that does not read its results.
  package mutating func send(_ line: [UInt8], to client: Int) {
    guard let known = clients[client] else { return }
    // Before it can be taken.
    known.pace.add()
    switch known.sink.yield(line) {
    case .enqueued: break
    case .dropped:
      detach(client)
      // Its task asks for the reason when the sink has ended.
      unread.insert(client)
      known.sink.finish()
    case .terminated: detach(client)
    @unknown default: break
    }
  }

  /// Whether a client was disconnected because it did not read its results; asked once.
  package mutating func hasLostResults(_ client: Int) -> Bool { unread.remove(client) != nil }

  private func endIfDone(_ client: Int) {
    guard let known = clients[client], known.hasEnded, known.submitted == 0, known.open.isEmpty else {
      return
    }
    known.sink.finish()
  }
}
