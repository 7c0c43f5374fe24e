#if Gateway
import GatewayRules
import NotibotHost

/// The only way from the intake to the outbox.
struct OutboxGate: Sendable {
  let forwarder: Forwarder
  let entriesLimit: Int

  /// Submits changes in their order, together. Does not wait while the outbox is full.
  func submit(
    _ changes: [(operation: IntakeMachine.Operation, id: UInt64)]
  ) async -> [(id: UInt64, result: IntakeMachine.Result)] {
    var room = entriesLimit - (await forwarder.statistics.entries)
    var batch: [(OutboxSubmission, token: UInt64)] = []
    var results: [(id: UInt64, result: IntakeMachine.Result)] = []
    for (operation, id) in changes {
      switch operation {
      case .add(let notification, _):
        guard room > 0 else {
          results.append((id, .failed))
          continue
        }
        room -= 1
        batch.append((.add(notification), token: id))
      case .update(let number, let notification, _):
        batch.append((.update(OutboxNumber(rawValue: number), notification), token: id))
      case .remove(let number): batch.append((.remove(OutboxNumber(rawValue: number)), token: id))
      }
    }
    let answers = await forwarder.submit(batch)
    for (_, token) in batch {
      switch answers[token] ?? .failure(.stopped) {
      case .success(let number): results.append((token, .done(number)))
      case .failure(.unknownNumber): results.append((token, .unknownNumber))
      case .failure(.full), .failure(.journalFailed), .failure(.stopped): results.append((token, .failed))
      }
    }
    return results
  }
}
#endif
