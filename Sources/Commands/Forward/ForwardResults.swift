import NotibotHost
import NotibotProtocol
import SerialLink
import Synchronization

/// The results of all notifications, on stdout and for the client that sent them. Each document is
/// one line.
final class ForwardResults: Sendable {
  /// The source of a submission.
  struct Origin: Hashable {
    var line: Int
    /// From 1; `nil`: standard input.
    var client: Int?
    var isCut = false
  }

  /// Further warnings are only counted.
  private static let warningsLimit = 20

  private struct State {
    var tokens: UInt64 = 0
    var origins: [UInt64: Origin] = [:]
    var routes: ForwardRoutes
    var refused = 0
    var rejected = 0
    var cut = 0
    var duplicates = 0
    var keyConflicts = 0
    var expired = 0
    var full = 0
    var firstRejection: Failure?
  }

  private let showsEventsAsJSON: Bool
  private let isStrict: Bool
  private let unlockedUsers = UnlockedUsers()
  private let state: Mutex<State>

  /// - Parameters:
  ///   - isStrict: rejects notifications that would be truncated.
  ///   - entriesLimit: the capacity of the outbox.
  init(showsEventsAsJSON: Bool, isStrict: Bool = false, entriesLimit: Int) {
    state = Mutex(State(routes: ForwardRoutes(entriesLimit: entriesLimit)))
    self.showsEventsAsJSON = showsEventsAsJSON
    self.isStrict = isStrict
  }

  // MARK: Before

  /// Parses a line; reports an invalid one and returns `nil`.
  func submission(for line: LineCutter.Line, client: Int?) -> SubmissionRequest? {
    let origin = Origin(line: line.number, client: client)
    guard !line.isTooLong else {
      reject(origin, reason: "it has more than \(LineCutter.limitBytes) bytes")
      return nil
    }
    do {
      let content = try ForwardLine.content(parsing: line.bytes)
      let submission = content.submission
      let alteration = Self.alteration(of: submission)
      guard !isStrict || alteration.isNone else {
        throw Failure(.usage, "it would be truncated: \(alteration.text) (--strict)")
      }
      let token = state.withLock { state in
        state.tokens += 1
        state.origins[state.tokens] = Origin(line: line.number, client: client, isCut: alteration.isCut)
        if let client { state.routes.recordSubmission(of: client) }
        return state.tokens
      }
      // Waiting for room is right for a pipe, which has one writer; clients of the socket would
      // wait for each other.
      return SubmissionRequest(
        submission, token: token, key: content.key, whenFull: client == nil ? .wait : .reject)
    } catch {
      reject(origin, reason: "\(error)")
      return nil
    }
  }

  private static func alteration(of submission: OutboxSubmission) -> Alteration {
    switch submission {
    case .add(let notification), .update(_, let notification): Alteration(ofIdentified: notification)
    case .remove: Alteration()
    }
  }

  private func reject(_ origin: Origin, reason: String) {
    state.withLock { state in
      state.rejected += 1
      state.firstRejection =
        state.firstRejection
        ?? Failure(
          .usage, "line \(origin.line) is not a notification: \(reason)",
          remedy: #"write {"app":"…","title":"…","text":"…","timestamp":1234567890}, one per line"#)
    }
    show(ForwardDocument(result: "rejected", line: origin.line, reason: reason), client: origin.client)
  }

  // MARK: Clients

  /// From now on `sink` receives the results of this client's notifications.
  func attach(_ client: Int, _ sink: ForwardRoutes.Sink, _ pace: ForwardPace) {
    state.withLock { $0.routes.attach(client, sink, pace) }
  }

  func isAttached(_ client: Int) -> Bool { state.withLock { $0.routes.isAttached(client) } }

  /// Disconnects the oldest client that waits for no result. Returns whether there is one.
  func detachIdle() -> Bool { state.withLock { $0.routes.detachIdle() } }

  func detach(_ client: Int) {
    state.withLock { $0.routes.detach(client) }
  }

  /// The client sends no more: its sink ends when all its notifications are delivered.
  func handleEnd(of client: Int) {
    state.withLock { $0.routes.handleEnd(of: client) }
  }

  /// The last line for a client that was disconnected because it did not read; nil: it was not.
  func lastLine(of client: Int) -> [UInt8]? {
    guard state.withLock({ $0.routes.hasLostResults(client) }) else { return nil }
    let reason = "more than \(ForwardSocket.resultsLimit) results were not read: the following are lost"
    return ForwardDocument(result: "rejected", reason: reason).lineBytes
  }

  // MARK: After

  func show(_ report: ForwardingReport) {
    guard let document = ForwardDocument(report) else { return showEvent(ForwardEvent(report)) }
    switch report {
    case .queued(let number, let token):
      let origin = removeOrigin(of: token)
      if let client = origin?.client { state.withLock { $0.routes.recordQueued(number, of: client) } }
      var queued = document.at(origin?.line)
      if let origin, origin.isCut {
        queued.cut = true
        warn(origin)
      }
      show(queued, client: origin?.client)
    case .duplicate(let number, let token, let isConflict):
      let origin = removeOrigin(of: token)
      state.withLock { state in
        state.duplicates += 1
        if isConflict { state.keyConflicts += 1 }
        if let client = origin?.client { state.routes.recordDuplicate(number, of: client) }
      }
      show(document.at(origin?.line), client: origin?.client)
      if let client = origin?.client { state.withLock { $0.routes.recordRejection(of: client) } }
    case .rejected(let rejection, let token):
      let origin = removeOrigin(of: token)
      state.withLock { state in
        // A client of the socket can repeat the line later.
        if rejection.isFull, origin?.client != nil {
          state.full += 1
          return
        }
        state.rejected += 1
        state.firstRejection =
          state.firstRejection
          ?? Failure(.usage, "line \(origin?.line ?? 0) was rejected: \(rejection)")
      }
      show(document.at(origin?.line), client: origin?.client)
      if let client = origin?.client { state.withLock { $0.routes.recordRejection(of: client) } }
    case .delivered, .refused, .gone, .expired, .removed, .action, .outcomeUnknown:
      if case .refused = report { state.withLock { $0.refused += 1 } }
      if case .expired = report { state.withLock { $0.expired += 1 } }
      guard let number = document.number else { return }
      show(document, clients: state.withLock { $0.routes.clients(of: number) })
      state.withLock { $0.routes.record(report, of: number) }
    case .full, .storeFull, .synced, .diverged, .newSource: break
    }
  }

  private func warn(_ origin: Origin) {
    let count = state.withLock { state in
      state.cut += 1
      return state.cut
    }
    guard count <= Self.warningsLimit else { return }
    let client = origin.client.map { " of client \($0)" } ?? ""
    let consequence = Alteration(isCut: true).consequence
    Output.note("warning: line \(origin.line)\(client): \(consequence), with its identity")
    if count == Self.warningsLimit {
      Output.note("warning: further truncated lines are marked, but not reported here")
    }
  }

  func show(_ change: ConnectionChange) {
    showEvent(ForwardEvent(change))
    if case .connecting(let port) = change.state, let warning = unlockedUsers.warning(for: port) {
      Output.note(warning)
    }
  }

  private func showEvent(_ event: ForwardEvent?) {
    guard let event else { return }
    if showsEventsAsJSON {
      Output.data(Output.record(event))
    } else if event.event != "ended" {
      // The reason of the end is the command's last line.
      Output.note(event.text)
    }
  }

  private func removeOrigin(of token: UInt64) -> Origin? {
    state.withLock { $0.origins.removeValue(forKey: token) }
  }

  private func show(_ document: ForwardDocument, client: Int?) {
    show(document, clients: client.map { [$0] } ?? [])
  }

  private func show(_ document: ForwardDocument, clients: [Int]) {
    var document = document
    let line = clients.isEmpty ? [] : document.lineBytes
    for client in clients { state.withLock { $0.routes.send(line, to: client) } }
    document.client = clients.first
    Output.data(Output.record(document))
  }

  /// Prints the counters that are not 0, of everything that was neither an error nor sent.
  func summarize() {
    let state = state.withLock { $0 }
    let conflicts = state.keyConflicts > 0 ? ", \(state.keyConflicts) with other content" : ""
    for (count, text) in [
      (state.duplicates, "repeated a key that was accepted before\(conflicts)"),
      (state.expired, "expired before the device had them"),
      (state.full, "were answered \"full\""),
    ] where count > 0 {
      Output.note("\(count) of the notifications \(text)")
    }
  }

  /// Throws `Failure` when a line was rejected or a notification refused.
  func checkAllTaken() throws {
    let state = state.withLock { $0 }
    if state.refused > 0 {
      throw Failure(
        .refused, "the device refused \(state.refused) notification\(state.refused == 1 ? "" : "s")",
        remedy: "list them with: notibot outbox --file FILE list")
    }
    guard var failure = state.firstRejection else { return }
    if state.rejected > 1 { failure.message += " (and \(state.rejected - 1) more)" }
    throw failure
  }
}
