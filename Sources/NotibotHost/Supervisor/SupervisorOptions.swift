/// How a supervisor looks for its device. The defaults suit a board on a desk.
package struct SupervisorOptions: Hashable, Sendable {
  /// The only board that will do, as printed on it: `24:6F:28:AA:BB:CC`; `nil`: whichever answers first, and from then
  /// on no other one.
  package var expectedDeviceID: String?
  /// The first pause between two attempts; each further one is twice as long.
  package var firstPause = Duration.milliseconds(100)
  /// The longest pause.
  package var longestPause = Duration.seconds(2)
  /// The least time between two attempts, also when ports come and go all the time.
  package var attemptSpacing = Duration.milliseconds(20)
  /// How long a device has to open a session once its port is open; twice as long each time that it did not, up to
  /// `restartPatience`. A receiver that has gone deaf recovers only by the port's being opened anew.
  package var sessionPatience = Duration.seconds(2)
  /// The same for a device that shows by text or a HELLO that it is starting.
  package var restartPatience = Duration.seconds(10)
  /// A session that ends earlier is no success: the next one is not asked for at once.
  package var shortSession = Duration.seconds(1)
  /// For how long a port behind which another board was found is left in peace, if the ports do not change.
  package var otherBoardRest = Duration.seconds(30)

  package init() {}
}
