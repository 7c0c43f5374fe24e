import NIOCore
import NotibotProtocol

extension EventLoop {
  /// The current time, on the clock of the machines and of this loop's timers.
  var instant: Instant {
    Instant(nanoseconds: Int64(now.uptimeNanoseconds))
  }
}

extension NIODeadline {
  /// A machine's deadline, on the clock of the event loop's timers.
  init(_ instant: Instant) {
    self = .uptimeNanoseconds(UInt64(clamping: instant.nanoseconds))
  }
}
