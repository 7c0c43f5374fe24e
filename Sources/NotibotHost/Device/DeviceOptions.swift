/// How to connect to a device. The defaults suit a board on a desk. A value out of range is refused
/// when a device is opened: `NotibotError.Code.usage`.
public struct DeviceOptions: Sendable {
  /// The rate of a serial port, in bits per second.
  public var bitsPerSecond: UInt32 = 921_600
  /// How long to wait for the device's first answer; `nil`: indefinitely.
  public var connectTimeout: Duration? = .seconds(1.8)
  /// What to do if the device restarts, or the session ends for another reason, while the port
  /// remains open.
  public var reconnection = Reconnection.within(.seconds(10))
  /// Requests in flight, 1...32; the device can set a lower limit.
  public var requestsLimit = 32
  /// Whether console text is among the events.
  public var includesText = false
  /// Queued events, at most, 1...1 000 000; beyond that the oldest are dropped.
  public var eventsLimit = 1024

  /// Options with their defaults.
  public init() {}

  /// What to do if a session ends while the port remains open.
  @nonexhaustive
  public enum Reconnection: Hashable, Sendable {
    /// End: the device counts as lost.
    case never
    /// Open another session, within this time.
    case within(Duration)
    /// Open another session, however long that takes.
    case always
  }
}
