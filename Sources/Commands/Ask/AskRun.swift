import NIOCore
import NIOPosix
import NotibotHost
import NotibotProtocol
import SerialLink
import Synchronization

/// One question on the display, from its submission to its removal.
struct AskRun: Sendable {
  /// How long the removal of the question is waited for.
  private static let removalLimit = Duration.seconds(2)

  /// Whether the question was on the display.
  private final class Display: Sendable {
    let hasShown = Atomic(false)
  }

  let forwarder: Forwarder
  /// Whether the port is one of `notibot share`, whose end is not waited out.
  let isShared: Bool

  /// Asks, and waits for the choice. The question is removed on every exit.
  ///
  /// - Throws: `Failure`, of kind `refused` if the device has no buttons: without identities
  ///   the question could not be removed either.
  func answer(to question: DisplayNotification, within limit: Duration) async throws -> AskAnswer {
    let deadline = ContinuousClock.now + limit
    let changes = forwarder.changes
    let device = try await Self.first(until: deadline) {
      for await change in changes {
        if case .up(_, let device) = change.state { return device }
        try checkServer(change)
      }
      return nil
    }
    guard let device else { return .notShown(await forwarder.openFailure) }
    guard let device else { throw try await ended() }
    guard device.hasIdentity, device.hasSync else {
      throw Failure(
        .refused, "the device does not support identities: it shows no buttons, and the question would stay",
        remedy: "update its firmware, or ask with 'notibot send'")
    }
    let number = try await forwarder.submitIfRoom(question)
    do {
      let answer = try await choice(of: number, until: deadline)
      await remove(number)
      return answer
    } catch {
      await remove(number)
      throw error
    }
  }

  private func choice(of number: Int64, until deadline: ContinuousClock.Instant) async throws -> AskAnswer {
    let forwarder = forwarder
    let display = Display()
    let answer = try await Self.first(until: deadline, while: watchServer) {
      for await report in forwarder.reports {
        if report == .delivered(number) { display.hasShown.store(true, ordering: .relaxed) }
        if let answer = try Self.answer(in: report, to: number) { return answer }
      }
      return nil
    }
    guard let answer else {
      return display.hasShown.load(ordering: .relaxed)
        ? .timedOut(await forwarder.downReason) : .notShown(await forwarder.openFailure)
    }
    guard let answer else { throw try await ended() }
    return answer
  }

  /// Throws when the server of the shared board has ended; else returns with the forwarder.
  private func watchServer() async throws {
    for await change in forwarder.changes { try checkServer(change) }
  }

  private func checkServer(_ change: ConnectionChange) throws {
    guard isShared else { return }
    switch change.reason {
    case .openFailed(let failure) where failure.code == .noBoard:
      throw Failure(.noBoard, failure.description, remedy: failure.hint)
    case .portGone:
      throw Failure(
        .linkLost, "the server of the shared board ended before a choice was made",
        remedy: "check that 'notibot share' runs; it prints why it closes a connection")
    default: break
    }
  }

  /// Why there is no more: the forwarder has ended, or this task was cancelled.
  private func ended() async throws -> Failure {
    try Task.checkCancellation()
    try await forwarder.ended()
    return Failure(.linkLost, "the connection ended before a choice was made")
  }

  /// The result of `body`; `nil` if it is not there by `deadline`. Throws what `watch` throws.
  private static func first<Result: Sendable>(
    until deadline: ContinuousClock.Instant, while watch: @escaping @Sendable () async throws -> Void = {},
    _ body: @escaping @Sendable () async throws -> Result?
  ) async throws -> Result?? {
    try await withThrowingTaskGroup(of: Result??.self) { group in
      group.addTask { .some(try await body()) }
      group.addTask {
        try await watch()
        await Interruption.untilCancelled()
        return .none
      }
      group.addTask {
        try await wait(until: deadline)
        return .none
      }
      defer { group.cancelAll() }
      return try await group.next() ?? nil
    }
  }

  private static func wait(until deadline: ContinuousClock.Instant) async throws {
    let milliseconds = Int64(max(.zero, deadline - .now) / .milliseconds(1))
    let timer = MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(milliseconds)) {}
    try await withTaskCancellationHandler {
      try await timer.futureResult.get()
    } onCancel: {
      timer.cancel()
    }
  }

  /// The answer that a report gives, or nil. A stale press was for another text.
  private static func answer(in report: ForwardingReport, to number: Int64) throws -> AskAnswer? {
    switch report {
    case .action(number, let action, revision: _, let isStale): return isStale ? nil : .action(action)
    case .gone(number, let departure):
      return departure == .expired ? .timedOut(nil) : .left(reason: departure.rawValue)
    case .expired(number): return .timedOut(nil)
    case .refused(number, let error):
      throw Failure(.refused, "the device refused the question: \(error)")
    case .queued, .rejected, .duplicate, .delivered, .refused, .gone, .expired, .removed, .action,
      .outcomeUnknown, .full, .storeFull, .synced, .diverged, .newSource:
      return nil
    }
  }

  /// Also after a cancellation: nobody waits for the answer any more.
  private func remove(_ number: Int64) async {
    let forwarder = forwarder
    await Interruption.finishing(within: Self.removalLimit) {
      let removal = Task {
        // It can have left already; without a connection it expires at the display.
        try? await forwarder.remove(number)
        try? await forwarder.finish(within: Self.removalLimit)
      }
      await removal.value
    }
  }
}
