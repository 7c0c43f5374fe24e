#if Gateway
import GatewayRules
import NIOPosix
import Synchronization

/// What a gateway has on its disk.
struct GatewayFiles: Sendable {
  let store: GatewayStore
  let thread: NIOThreadPool
  let contents: Handover<IntakeContents>
  let desk: DecisionDesk
  let summaries: SummaryMachine
  let unregistered: Set<String>
}

/// A large value that is taken once; afterwards nothing here keeps its memory.
final class Handover<Value: Sendable>: Sendable {
  private let value: Mutex<Value?>

  init(_ value: Value) {
    self.value = Mutex(value)
  }

  func take() -> Value? { value.withLock { $0.take() } }
}
#endif
