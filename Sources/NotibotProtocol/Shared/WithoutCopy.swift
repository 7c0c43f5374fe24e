/// Reads a stored property of a class or actor without a copy. A getter of a large structure gets a
/// copy of it, with a retain for each array in it; an exclusive access does not.
@_spi(Machines) @inlinable
public func withoutCopy<Value, Result>(_ value: inout Value, _ read: (inout Value) -> Result) -> Result {
  read(&value)
}
