package import NIOCore
package import NotibotProtocol

extension EventLoop {
  /// The current time, on the clock of the machines and of this loop's timers.
  package var instant: Instant {
    Instant(nanoseconds: Int64(now.uptimeNanoseconds))
  }
}

extension NIODeadline {
  /// A machine's deadline, on the clock of the event loop's timers.
  package init(_ instant: Instant) {
    self = .uptimeNanoseconds(UInt64(clamping: instant.nanoseconds))
  }
}
