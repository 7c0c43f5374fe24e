/// How a supervisor looks for its device. The defaults suit a board on a desk.
package struct SupervisorOptions: Hashable, Sendable {
  /// The only accepted board, as printed on it: `24:6F:28:AA:BB:CC`; `nil`: the first one that
  /// answers, and only that one afterwards.
  package var expectedDeviceID: String?
  /// The first pause between two attempts; each further one is twice as long.
  package var firstPause = Duration.milliseconds(100)
  /// The longest pause.
  package var longestPause = Duration.seconds(2)
  /// The least time between two attempts, even if the ports change constantly.
  package var attemptSpacing = Duration.milliseconds(20)
  /// How long the ports are looked for, and how long one is being opened, at most. Longer than the
  /// limits of the port itself, which has a better reason.
  package var openPatience = Duration.seconds(15)
  /// How long a device has to open a session once its port is open; doubled after each failure, up
  /// to `restartPatience`. A receiver that has gone deaf recovers only when the port is reopened.
  package var sessionPatience = Duration.seconds(2)
  /// The same for a device that shows by text or a HELLO that it is starting.
  package var restartPatience = Duration.seconds(10)
  /// A shorter session does not count as a success: the next one is not requested at once.
  package var shortSession = Duration.seconds(1)
  /// How long a port with a different board is skipped, if the ports do not change.
  package var otherBoardRest = Duration.seconds(30)

  package init() {}
}
