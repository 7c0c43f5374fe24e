/// A large value on the heap: a dictionary of them has room for many more than it contains.
indirect enum Boxed<Value: Equatable & Sendable>: Equatable, Sendable {
  case value(Value)

  var value: Value {
    switch self {
    case .value(let value): value
    }
  }
}
