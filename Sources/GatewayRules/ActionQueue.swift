/// The actions of a machine that its driver has not taken yet, in order.
struct ActionQueue<Action: Hashable & Sendable>: Hashable, Sendable {
  private var actions: [Action] = []
  private var nextIndex = 0

  mutating func append(_ action: Action) { actions.append(action) }

  mutating func next() -> Action? {
    guard nextIndex < actions.count else {
      actions.removeAll(keepingCapacity: true)
      nextIndex = 0
      return nil
    }
    nextIndex += 1
    return actions[nextIndex - 1]
  }
}
