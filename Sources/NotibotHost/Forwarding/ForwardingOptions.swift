/// How to forward notifications. The defaults suit a board on a desk.
public struct ForwardingOptions: Sendable {
  /// The rate of a serial port, in bits per second.
  public var bitsPerSecond: UInt32 = 921_600
  /// Notifications that the outbox holds, on the device or not yet: 1...1 000 000. Beyond them `submit` waits.
  public var entriesLimit = 10_000
  /// Whether a device without identities gets a notification of unknown outcome again: it may then show it twice, else
  /// it may miss it. Source: PROTOCOL.md NTF-37.
  public var resendsPlain = true
  /// Whether a device without identities gets again what it had, after it has restarted.
  public var replaysPlain = false
  /// Reports that wait to be taken; beyond them `submit` waits.
  public var reportsLimit = 4096
  /// Changes of the connection that wait to be taken; beyond them the oldest are dropped.
  public var changesLimit = 256
  /// The only device that is written to, whatever port it is at; `nil`: the first that answers, or the one that the port names.
  package var expectedDeviceID: String?
  /// Called before and after each commit, and before each report, on any thread: where a test of crashes ends the process.
  package var journalStep: @Sendable () -> Void = {}

  public init() {}
}
