import NotibotProtocol

/// The results of `Device.send(contentsOf:)`.
public struct SendSummary: Hashable, Sendable {
  /// Those that the device accepted.
  public var accepted = 0
  /// Those that the device refused.
  public var refused = 0
}

/// Identifies a batch across threads, by object identity.
final class BatchKey: Sendable {}

/// A sequence of notifications being sent: keeps enough of them submitted that the line never waits
/// for the caller.
///
/// Isolated to its device's actor.
final class SendBatch {
  /// Called with the index of a notification in the sequence, from 0, and its result.
  typealias Report = @Sendable (Int, Result<Void, NotibotError>) -> Void

  private enum State {
    case running(CheckedContinuation<SendSummary, any Error>)
    case finished
  }

  /// The source of the next notification.
  private enum Supply {
    case more(() -> DisplayNotification?)
    case exhausted
    /// Nothing more can be sent; the caller gets the reason when all submitted notifications are
    /// answered.
    case cut(NotibotError)
  }

  let key: BatchKey
  private let window: Int
  private let report: Report
  private var state: State
  private var supply: Supply
  private var summary = SendSummary()
  private var taken = 0
  private var answered = 0

  init(
    key: BatchKey, window: Int, report: @escaping Report,
    continuation: CheckedContinuation<SendSummary, any Error>,
    next: @escaping () -> DisplayNotification?
  ) {
    self.key = key
    self.window = window
    self.report = report
    state = .running(continuation)
    supply = .more(next)
  }

  /// The next notification and its index, while the window has room.
  func popNext() -> (index: Int, notification: DisplayNotification)? {
    guard case .running = state, case .more(let next) = supply, taken - answered < window else { return nil }
    guard let notification = next() else {
      supply = .exhausted
      return nil
    }
    taken += 1
    return (taken - 1, notification)
  }

  /// The notification at `index` has its result. A refusal concerns it alone; any other failure
  /// ends the batch.
  func receive(_ result: Result<Void, NotibotError>, at index: Int) {
    guard case .running = state else { return }
    answered += 1
    report(index, result)
    switch result {
    case .success: summary.accepted += 1
    case .failure(let error):
      if case .refused = error.code {
        summary.refused += 1
      } else if case .more = supply {
        supply = .cut(error)
      } else if case .exhausted = supply {
        supply = .cut(error)
      }
    }
  }

  /// Resumes the caller when all are answered. Returns whether the batch is over.
  func finishIfDone() -> Bool {
    guard case .running = state else { return true }
    switch supply {
    case .exhausted where answered == taken: finish(.success(summary))
    case .cut(let error) where answered == taken: finish(.failure(error))
    case .more, .exhausted, .cut: return false
    }
    return true
  }

  /// Ends the wait. Notifications without an answer may be in flight: they are reported with
  /// `error`.
  func cancel(_ error: NotibotError) {
    guard case .running = state else { return }
    // Answers come in the order of the requests, so these are the last ones.
    for index in answered..<taken { report(index, .failure(error)) }
    finish(.failure(CancellationError()))
  }

  /// Resumes the caller, once; results that come later are not reported.
  func finish(_ result: Result<SendSummary, any Error>) {
    guard case .running(let continuation) = state else { return }
    state = .finished
    continuation.resume(with: result)
  }
}
