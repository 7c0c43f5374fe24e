#if Gateway
import GatewayRules
import NIOPosix

/// What a gateway has on its disk.
struct GatewayFiles: Sendable {
  let store: GatewayStore
  let thread: NIOThreadPool
  let contents: IntakeContents
  let desk: DecisionDesk
  let summaries: SummaryMachine
  let unregistered: Set<String>
}
#endif
