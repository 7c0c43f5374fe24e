/// A value on the heap, for the large payload of an enum: to move the enum moves a reference. It is
/// copied when it changes while it is shared. Public, because Swift 6.3 inlines no function of
/// package access in another module of a release.
@_spi(Machines)
public struct Boxed<Value: Equatable & Sendable>: Equatable, Sendable {
  // Sendable, because it changes only while one box refers to it, by that box's exclusive `change`.
  @usableFromInline
  final class Storage: @unchecked Sendable {
    @usableFromInline @exclusivity(unchecked) var value: Value

    @inlinable
    init(_ value: Value) { self.value = value }
  }

  @usableFromInline var storage: Storage

  /// Puts `value` on the heap.
  @inlinable
  public init(_ value: Value) { storage = Storage(value) }

  /// The value, read in place.
  @inlinable
  public var value: Value {
    _read { yield storage.value }
  }

  /// Lets `body` change the value in place.
  @inlinable @inline(__always)
  public mutating func change<Result>(_ body: (inout Value) -> Result) -> Result {
    if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.value) }
    return body(&storage.value)
  }

  /// Whether both values are equal.
  @inlinable
  public static func == (one: Boxed, other: Boxed) -> Bool { one.value == other.value }
}
