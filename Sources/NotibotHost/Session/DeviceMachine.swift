import NotibotProtocol
import SerialLink

/// The host of one device, as its driver sees it: on a line with sessions (`HostMachine`), or over
/// a connection without them (`ConnectionMachine`).
protocol DeviceMachine: Sendable {
  mutating func connect(clock: HostClock?, now: Instant)
  mutating func submit(_ request: HostRequest, now: Instant) -> HostRequestID
  mutating func submit(now: Instant, each next: (HostRequestID) -> HostRequest?)
  mutating func close(now: Instant)

  mutating func receive(_ bytes: Span<UInt8>, now: Instant)
  mutating func receiveEndOfStream(now: Instant)
  mutating func handleTimeout(now: Instant)
  mutating func handleWritability(_ isWritable: Bool, now: Instant)

  mutating func nextAction() -> HostAction?
  // Mutating, so that it is read without a copy of the machine.
  var nextDeadline: Instant? { mutating get }

  var statistics: HostStatistics { get }
  var whyUnanswered: ConsoleEvidence.Finding { get }
  var isClosed: Bool { get }
  /// Why the device ends when its channel does.
  var endOfStream: SessionEnd { get }
}

extension HostMachine: DeviceMachine {
  var endOfStream: SessionEnd { .portGone }
}
