/// How to connect to a device. The defaults suit a board on a desk.
public struct DeviceOptions: Sendable {
  /// The rate of a serial port, in bits per second.
  public var bitsPerSecond: UInt32 = 921_600
  /// How long the device may take to answer for the first time; `nil`: for ever.
  public var connectTimeout: Duration? = .seconds(1.8)
  /// What to do when the device restarts, or the session ends otherwise, while the port stays.
  public var reconnection = Reconnection.within(.seconds(10))
  /// Requests that may be out at once, 1...32; the device may set a lower limit.
  public var requestsLimit = 32
  /// Whether console text is among the events.
  public var includesText = false
  /// Events that wait to be taken; beyond them the oldest are dropped.
  public var eventsLimit = 1024

  public init() {}

  /// What to do when a session ends while the port stays.
  public enum Reconnection: Hashable, Sendable {
    /// The device is lost to this program.
    case never
    /// Open another session, if that succeeds in this time.
    case within(Duration)
    /// Open another session, however long that takes.
    case always
  }
}
