import NotibotHost

/// Maps notifications to the clients of `forward` that get their results.
struct ForwardRoutes {
  typealias Sink = AsyncStream<[UInt8]>.Continuation

  private struct Client {
    var sink: Sink
    var pace: ForwardPace
    /// Submissions that are neither queued nor rejected yet.
    var submitted = 0
    /// Notifications of this client that are neither delivered nor refused yet.
    var open: Set<Int64> = []
    var hasEnded = false
  }

  /// Notifications that are mapped to a client; beyond this limit the oldest are dropped.
  private static let routesLimit = 65_536

  private var clients: [Int: Client] = [:]
  private var routes: [Int64: Int] = [:]

  mutating func attach(_ client: Int, _ sink: Sink, _ pace: ForwardPace) {
    clients[client] = Client(sink: sink, pace: pace)
  }

  /// Whether the client has not been disconnected from this side.
  func isAttached(_ client: Int) -> Bool { clients[client] != nil }

  mutating func detach(_ client: Int) {
    clients[client] = nil
    routes = routes.filter { $0.value != client }
  }

  mutating func noteEnd(of client: Int) {
    clients[client]?.hasEnded = true
    endIfDone(client)
  }

  /// Disconnects the oldest client that waits for no result. Returns whether there is one.
  mutating func detachIdle() -> Bool {
    let idle = clients.filter { $0.value.submitted == 0 && $0.value.open.isEmpty }.keys.min()
    guard let idle, let client = clients[idle] else { return false }
    detach(idle)
    client.sink.finish()
    return true
  }

  /// Called before a submission is passed on; each is followed by `noteQueued` or `noteRejection`.
  mutating func noteSubmission(of client: Int) {
    clients[client]?.submitted += 1
    clients[client]?.pace.add()
  }

  mutating func noteRejection(of client: Int) {
    clients[client]?.submitted -= 1
    clients[client]?.pace.remove()
    endIfDone(client)
  }

  /// The key of a submission was accepted before: later results are for this client, unless the
  /// first one is still connected. They can be over: the connection does not wait for them.
  mutating func noteDuplicate(_ number: Int64, of client: Int) {
    guard clients[client] != nil, routes[number] == nil else { return }
    setRoute(of: number, to: client)
  }

  mutating func noteQueued(_ number: Int64, of client: Int) {
    guard clients[client] != nil else { return }
    clients[client]?.submitted -= 1
    clients[client]?.pace.remove()
    clients[client]?.open.insert(number)
    setRoute(of: number, to: client)
  }

  private mutating func setRoute(of number: Int64, to client: Int) {
    routes[number] = client
    guard routes.count > Self.routesLimit else { return }
    for old in routes.keys.sorted().prefix(Self.routesLimit / 2) { routes[old] = nil }
  }

  func client(of number: Int64) -> Int? { routes[number] }

  /// Called after a result was sent: removes delivered notifications.
  mutating func note(_ report: ForwardingReport, of number: Int64) {
    guard let client = routes[number] else { return }
    switch report {
    case .gone, .expired, .removed, .outcomeUnknown:
      routes[number] = nil
      clients[client]?.open.remove(number)
    case .delivered, .refused: clients[client]?.open.remove(number)
    case .queued, .rejected, .duplicate, .action, .storeFull, .synced, .diverged, .newSource: return
    }
    endIfDone(client)
  }

  /// Disconnects a client that does not read its results.
  mutating func send(_ document: ForwardDocument, to client: Int) {
    guard let known = clients[client] else { return }
    // Before it can be taken.
    known.pace.add()
    switch known.sink.yield(document.lineBytes) {
    case .enqueued: break
    case .dropped, .terminated:
      detach(client)
      known.sink.finish()
    @unknown default: break
    }
  }

  private func endIfDone(_ client: Int) {
    guard let known = clients[client], known.hasEnded, known.submitted == 0, known.open.isEmpty else {
      return
    }
    known.sink.finish()
  }
}
