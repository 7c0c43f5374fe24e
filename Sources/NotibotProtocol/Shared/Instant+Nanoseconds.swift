extension Instant {
  /// The moment `ns` nanoseconds later. The hot paths count in whole nanoseconds: `Duration` has
  /// 128 bits.
  package func after(ns: Int64) -> Instant {
    Instant(nanoseconds: nanoseconds + ns)
  }

  /// Nanoseconds from `start` to this moment.
  package func nanoseconds(since start: Instant) -> Int64 {
    nanoseconds - start.nanoseconds
  }
}
