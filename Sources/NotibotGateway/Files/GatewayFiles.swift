#if Gateway
import GatewayRules
import NIOPosix
import Synchronization

/// What a gateway has on its disk.
struct GatewayFiles: Sendable {
  /// Reads the files that a user can change while the gateway runs: an event loop must not wait for
  /// a file system.
  let reader: NIOThreadPool
  let store: GatewayStore
  let thread: NIOThreadPool
  let contents: Handover<IntakeContents>
  let desk: DecisionDesk
  let summaries: SummaryMachine
  let unregistered: Set<String>
  /// What the user has to know about them; nil: nothing.
  let notice: String?
}

/// The files of a gateway, once its outbox is open.
final class OpenFiles: Sendable {
  private let value = Mutex<GatewayFiles?>(nil)

  var files: GatewayFiles? { value.withLock { $0 } }

  func set(_ files: GatewayFiles) { value.withLock { $0 = files } }
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
