/// How to forward notifications. The defaults suit a board on a desk. A value out of range is
/// refused when the outbox is opened: `NotibotError.Code.usage`.
public struct ForwardingOptions: Sendable {
  /// The rate of a serial port, in bits per second.
  public var bitsPerSecond: UInt32 = 921_600
  /// Notifications that the outbox holds, on the device or not yet: 1...1 000 000. Beyond that
  /// `submit` waits.
  public var entriesLimit = 10_000
  /// How long submissions wait for room in a full outbox, while nothing leaves it, before the
  /// forwarder ends with the error `noAnswer`; `nil`: indefinitely.
  package var roomLimit: Duration?
  /// Whether to send a notification of unknown outcome again to a device without identities: it can
  /// then show it twice; otherwise it can miss it. Source: PROTOCOL.md NTF-37.
  public var resendsPlain = true
  /// Whether to send delivered notifications again to a device without identities, after it has
  /// restarted.
  public var replaysPlain = false
  /// Queued reports, at most, 1...1 000 000; beyond that `submit` waits.
  public var reportsLimit = 4096
  /// Queued changes of the connection, at most, 1...1 000 000; beyond that the oldest are dropped.
  public var changesLimit = 256
  /// Whether changes of the connection are among `Forwarder.events`, in one order with the reports,
  /// instead of in `changes`, so that a slow consumer of changes cannot print `up` behind the
  /// `synced` of the same session. While `reportsLimit` events are queued they are dropped.
  package var mergesChanges = false
  /// The only device to write to, at any port; `nil`: the first device that answers, or the one
  /// named by the port.
  package var expectedDeviceID: String?
  /// Called before and after each commit, and before each report, on any thread. Crash tests end
  /// the process here.
  package var journalStep: @Sendable () -> Void = {}
  /// Called with each part of the device's console text, on the forwarder's event loop; it must not
  /// block.
  package var consoleText: @Sendable ([UInt8]) -> Void = { _ in }

  /// Called on the journal's thread before the commit that takes presses, so that a program can
  /// make its decision durable first: after a crash in between, the device reports the press
  /// again. If it throws, the press is not taken, and the forwarder ends as with a journal that
  /// cannot be written.
  package var willTakePresses: (@Sendable ([TakenPress]) throws -> Void)?

  /// The same for the commit that takes dismissals of notifications.
  package var willTakeDismissals: (@Sendable ([ForwardingReport.Number]) throws -> Void)?

  /// Called once, on any thread, when the outbox is locked and before anything of it is changed. If
  /// it throws, the outbox is closed.
  package var willBegin: (@Sendable (OutboxIdentity) throws(JournalError) -> Void)?

  /// Called on the journal's thread before the commit with which the outbox goes on under another
  /// source. If it throws, that happens as with `willTakePresses`.
  package var willRenew: (@Sendable (_ source: UInt32) throws -> Void)?

  /// Options with their defaults.
  public init() {}
}
