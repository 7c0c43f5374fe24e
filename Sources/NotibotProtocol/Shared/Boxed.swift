/// A value on the heap, for the large payload of an enum: to move the enum moves a reference. It is
/// copied when it changes while it is shared.
package struct Boxed<Value: Equatable & Sendable>: Equatable, Sendable {
  @usableFromInline
  final class Storage: @unchecked Sendable {
    // `change` has exclusive access to the box.
    @usableFromInline @exclusivity(unchecked) var value: Value

    @inlinable
    init(_ value: Value) { self.value = value }
  }

  @usableFromInline var storage: Storage

  @inlinable
  package init(_ value: Value) { storage = Storage(value) }

  @inlinable
  package var value: Value {
    _read { yield storage.value }
  }

  /// Lets `body` change the value in place.
  @inlinable @inline(__always)
  package mutating func change<Result>(_ body: (inout Value) -> Result) -> Result {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
    return body(&storage.value)
  }

  @inlinable
  package static func == (one: Boxed, other: Boxed) -> Bool { one.value == other.value }
}
