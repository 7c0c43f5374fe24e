#if Gateway
import GatewayRules
import NotibotHost

/// The only way from the intake to the outbox.
struct OutboxGate: Sendable {
  let forwarder: Forwarder

  /// Submits changes in their order, together. Does not wait while the outbox is full.
  func submit(
    _ changes: [(operation: IntakeMachine.Operation, id: UInt64)]
  ) async -> [(id: UInt64, result: IntakeMachine.Result)] {
    let requests = changes.map { operation, id in
      switch operation {
      case .add(let notification, let key): request(.add(notification), id, key)
      case .update(let number, let notification, let key):
        request(.update(OutboxNumber(rawValue: number), notification), id, key)
      case .remove(let number): request(.remove(OutboxNumber(rawValue: number)), id, nil)
      }
    }
    let answers = await forwarder.submit(requests)
    return changes.map { _, id in
      switch answers[id] ?? .failure(.stopped) {
      case .success(let acceptance): (id, .done(acceptance.number))
      case .failure(.unknownNumber): (id, .unknownNumber)
      case .failure(.full), .failure(.keysFull), .failure(.journalFailed), .failure(.stopped): (id, .failed)
      }
    }
  }

  /// With the key of a push, which is committed together with its change: a sender that repeats a
  /// push after a crash of the gateway has it shown once.
  private func request(_ submission: OutboxSubmission, _ id: UInt64, _ key: [UInt8]?) -> SubmissionRequest {
    SubmissionRequest(submission, token: id, key: key.flatMap { IdempotencyKey($0) }, whenFull: .reject)
  }
}
#endif
