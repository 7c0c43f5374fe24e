#if Gateway
import GatewayRules
import NotibotHost

/// The only way from the intake to the outbox.
struct OutboxGate: Sendable {
  let forwarder: Forwarder

  /// Submits changes in their order, together; the results are in the same order. Does not wait
  /// while the outbox is full, which it reports.
  func submit(
    _ changes: [IntakeMachine.Operation]
  ) async -> (results: [IntakeMachine.Result], isFull: Bool) {
    let requests = changes.enumerated().map { index, operation in
      let id = UInt64(index)
      return switch operation {
      case .add(let notification, let key): request(.add(notification), id, key)
      case .update(let number, let notification, let key):
        request(.update(OutboxNumber(rawValue: number), notification), id, key)
      case .remove(let number): request(.remove(OutboxNumber(rawValue: number)), id, nil)
      }
    }
    let answers = await forwarder.submit(requests)
    let isFull = answers.values.contains { if case .failure(.full) = $0 { true } else { false } }
    let results = changes.indices.map { index -> IntakeMachine.Result in
      switch answers[UInt64(index)] ?? .failure(.stopped) {
      case .success(let acceptance): .done(acceptance.number)
      case .failure(.unknownNumber): .unknownNumber
      case .failure(.full), .failure(.keysFull), .failure(.journalFailed), .failure(.stopped): .failed
      }
    }
    return (results, isFull)
  }

  /// With the key of a push, which is committed together with its change: a sender that repeats a
  /// push after a crash of the gateway has it shown once.
  private func request(_ submission: OutboxSubmission, _ id: UInt64, _ key: [UInt8]?) -> SubmissionRequest {
    SubmissionRequest(submission, token: id, key: key.flatMap { IdempotencyKey($0) }, whenFull: .reject)
  }
}
#endif
