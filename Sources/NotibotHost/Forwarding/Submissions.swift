import DequeModule

/// What to do with a submission while the outbox is full.
package enum FullPolicy: Hashable, Sendable {
  /// Wait for room.
  case wait
  /// Reject it.
  case reject
}

/// A submission to a forwarder.
package struct SubmissionRequest: Hashable, Sendable {
  package var submission: OutboxSubmission
  /// Below 2⁶³, used once.
  package var token: UInt64
  package var key: IdempotencyKey?
  package var whenFull: FullPolicy

  package init(
    _ submission: OutboxSubmission, token: UInt64, key: IdempotencyKey? = nil, whenFull: FullPolicy = .wait
  ) {
    self.submission = submission
    self.token = token
    self.key = key
    self.whenFull = whenFull
  }
}

/// Submissions that are not in the journal yet: those that wait for room, those that the machine
/// has, and their waiting callers.
struct Submissions {
  /// One submission of a group.
  struct Item {
    var request: SubmissionRequest
    var group: SubmissionGroup

    /// Whether it can have to wait for room.
    var waitsForRoom: Bool { request.submission.needsRoom && request.whenFull == .wait }
  }

  /// Submissions in the machine that are not yet in the journal, at most.
  private static let submittedLimit = 1024

  private var waiting = Deque<Item>()
  private var submitted: [UInt64: Item] = [:]
  /// How many at the front of `waiting` were rejected because the outbox was full, in their order.
  private var overflowCount = 0

  mutating func append(_ item: Item) { waiting.append(item) }

  /// The next for the machine; submissions that do not wait for room overtake those that do.
  mutating func next() -> Item? {
    guard submitted.count < Self.submittedLimit else { return nil }
    let index = overflowCount == 0 ? waiting.indices.first : waiting.firstIndex { !$0.waitsForRoom }
    guard let index else { return nil }
    if index < overflowCount { overflowCount -= 1 }
    let item = waiting.remove(at: index)
    submitted[item.request.token] = item
    return item
  }

  /// An entry can have left the outbox: rejected submissions are tried again.
  mutating func handleRoom() { overflowCount = 0 }

  /// Passes a result to its caller. Returns whether to report it: an overflow is not reported, but
  /// tried again.
  mutating func finish(_ token: UInt64, _ result: SubmissionGroup.Result) -> Bool {
    guard let item = submitted.removeValue(forKey: token) else { return true }
    if case .failure(.full) = result, item.waitsForRoom {
      waiting.insert(item, at: overflowCount)
      overflowCount += 1
      return false
    }
    item.group.finish(token, result)
    return true
  }

  /// Ends those of a group that still wait; returns their tokens.
  mutating func cancel(_ key: UInt64) -> [UInt64] {
    let items = waiting.filter { $0.group.key == key }
    overflowCount -= waiting.prefix(overflowCount).count { $0.group.key == key }
    waiting.removeAll { $0.group.key == key }
    for item in items { item.group.finish(item.request.token, .failure(.stopped)) }
    return items.map(\.request.token)
  }

  /// Ends all; returns their tokens.
  mutating func failAll(_ rejection: ForwardingRejection) -> [UInt64] {
    let items = Array(submitted.values) + Array(waiting)
    submitted = [:]
    waiting = []
    overflowCount = 0
    for item in items { item.group.finish(item.request.token, .failure(rejection)) }
    return items.map(\.request.token).sorted()
  }
}

/// Submissions that one caller waits for together. Used on the forwarder's event loop only.
final class SubmissionGroup {
  typealias Result = Swift.Result<Forwarder.Acceptance, ForwardingRejection>

  let key: UInt64
  private var remaining: Int
  private var results: [UInt64: Result] = [:]
  private let continuation: CheckedContinuation<[UInt64: Result], Never>

  init(key: UInt64, count: Int, continuation: CheckedContinuation<[UInt64: Result], Never>) {
    self.key = key
    remaining = count
    self.continuation = continuation
  }

  func finish(_ token: UInt64, _ result: Result) {
    results[token] = result
    remaining -= 1
    if remaining == 0 { continuation.resume(returning: results) }
  }
}

extension OutboxSubmission {
  fileprivate var needsRoom: Bool {
    switch self {
    case .add: true
    case .update, .remove: false
    }
  }
}
