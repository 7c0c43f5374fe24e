#if Gateway
import GatewayRules
import NotibotHost
import Synchronization

/// The decisions, shared by two threads: that of the outbox's journal, which brings presses and
/// waits until they are durable here, and the gateway's event loop.
final class DecisionDesk: Sendable {
  /// A report of a press that was taken already.
  private struct Expected: Hashable {
    var number: Int64
    var action: UInt32
    var revision: UInt16
  }

  private struct State {
    var machine: DecisionMachine
    /// What is due on the event loop, in order.
    var actions: [DecisionMachine.Action] = []
    var expected: [Expected: Int] = [:]
    /// Of presses that the disk had no room for, and what follows them: the device reports those
    /// again, and they are known then.
    var unsaved: [StoreRecord] = []
    var held: [DecisionMachine.Action] = []
    var verdicts: [PressVerdict: Int] = [:]
    var wake: @Sendable () -> Void = {}
  }

  private let state: Mutex<State>
  private let store: GatewayStore

  init(store: GatewayStore, machine: DecisionMachine) {
    self.store = store
    state = Mutex(State(machine: machine))
    collect()
  }

  /// `wake` is called, on any thread, when there is something for `drainActions`.
  func attach(_ wake: @escaping @Sendable () -> Void) {
    state.withLock { $0.wake = wake }
    wake()
  }

  /// Decides about presses, and makes the decisions durable before the outbox takes the presses.
  /// After a crash in between the device reports them again, and they are known. Blocks.
  func accept(_ presses: [TakenPress]) throws(JournalError) {
    try decide { state, now in
      for taken in presses {
        let key = Expected(number: taken.number, action: taken.action, revision: taken.revision)
        state.expected[key, default: 0] += 1
        let verdict = state.machine.press(
          Press(
            number: taken.number, action: Int(taken.action), revision: Int(taken.revision),
            isStale: taken.isStale,
            identity: Press.Identity(bootID: taken.bootID, press: taken.press)),
          now: now)
        state.verdicts[verdict, default: 0] += 1
      }
    }
  }

  /// The same for items that the user has dismissed. Blocks.
  func receive(dismissals numbers: [Int64]) throws(JournalError) {
    try decide { state, now in
      for number in numbers {
        let verdict = state.machine.dismiss(number, now: now)
        if verdict != .meaningless { state.verdicts[verdict, default: 0] += 1 }
      }
    }
  }

  private func decide(_ body: (inout State, WallTime) -> Void) throws(JournalError) {
    let clock = GatewayClock()
    let (records, wake) = state.withLock { state in
      state.machine.wallLeadMs = clock.wallLeadMs
      Self.drain(&state)
      body(&state, clock.now())
      while let action = state.machine.nextAction() {
        if let record = StoreRecord(action) {
          state.unsaved.append(record)
        } else {
          state.held.append(action)
        }
      }
      return (state.unsaved, state.wake)
    }
    if !records.isEmpty { try store.write(records) }
    state.withLock { state in
      state.actions += state.held
      (state.unsaved, state.held) = ([], [])
    }
    wake()
  }

  /// The report of a press: one that `accept` had, or one of a device that does not keep presses.
  func receive(number: Int64, action: UInt32, revision: UInt16?, isStale: Bool, now: WallTime) {
    state.withLock { state in
      state.machine.wallLeadMs = GatewayClock().wallLeadMs
      let key = Expected(number: number, action: action, revision: revision ?? 0)
      if let count = state.expected[key] {
        state.expected[key] = count > 1 ? count - 1 : nil
        return
      }
      let verdict = state.machine.press(
        Press(
          number: number, action: Int(action), revision: revision.map { Int($0) }, isStale: isStale,
          identity: nil),
        now: now)
      state.verdicts[verdict, default: 0] += 1
      Self.drain(&state)
    }
  }

  /// Gives the machine an input on the event loop, or asks it something.
  func with<Result>(_ body: (inout DecisionMachine) -> Result) -> Result where Result: Sendable {
    state.withLock { state in
      state.machine.wallLeadMs = GatewayClock().wallLeadMs
      let result = body(&state.machine)
      Self.drain(&state)
      return result
    }
  }

  /// What is due, in order, each record before what follows it.
  func drainActions() -> [DecisionMachine.Action] {
    state.withLock { state in
      defer { state.actions = [] }
      return state.actions
    }
  }

  var verdicts: [PressVerdict: Int] { state.withLock(\.verdicts) }

  private func collect() { state.withLock { Self.drain(&$0) } }

  private static func drain(_ state: inout State) {
    while let action = state.machine.nextAction() { state.actions.append(action) }
  }
}

extension StoreRecord {
  /// nil: the action is not a record.
  init?(_ action: DecisionMachine.Action) {
    switch action {
    case .record(let decision): self = .decision(decision)
    case .forget(let id): self = .forgetDecision(id: id)
    case .show, .call, .announce: return nil
    }
  }
}
#endif
