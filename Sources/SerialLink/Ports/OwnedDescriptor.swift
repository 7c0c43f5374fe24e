import Glibc

/// The only owner of an open file descriptor; closes it when it goes out of scope.
struct OwnedDescriptor: ~Copyable, Sendable {
  /// Valid for as long as this value lives.
  let raw: Int32

  /// Takes ownership of `raw`, which must be open and owned by nobody else.
  init(owning raw: Int32) {
    self.raw = raw
  }

  deinit {
    _ = close(raw)
  }

  /// Gives the descriptor away; the receiver closes it.
  consuming func release() -> Int32 {
    let raw = raw
    discard self
    return raw
  }
}
