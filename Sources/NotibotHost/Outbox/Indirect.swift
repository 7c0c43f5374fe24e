/// Keeps a large value on the heap, so that a free slot of a dictionary takes a pointer only.
indirect enum Indirect<Value: Equatable & Sendable>: Equatable, Sendable {
  case value(Value)

  var value: Value {
    switch self {
    case .value(let value): value
    }
  }
}
