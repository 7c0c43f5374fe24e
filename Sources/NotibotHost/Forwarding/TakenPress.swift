import NotibotProtocol

/// A press of a button that the next commit takes. Source: PROTOCOL.md NTF-42.
package struct TakenPress: Hashable, Sendable {
  /// The boot of the device in which it happened, and its number there: together its identity.
  package var bootID: UInt32
  package var press: UInt32
  /// The notification.
  package var number: ForwardingReport.Number
  /// The action, counted from 0.
  package var action: UInt32
  /// That of the text on the display then.
  package var revision: UInt16
  /// Whether it was for another text than the newest one.
  package var isStale: Bool

  package init(
    bootID: UInt32, press: UInt32, number: ForwardingReport.Number, action: UInt32, revision: UInt16,
    isStale: Bool
  ) {
    self.bootID = bootID
    self.press = press
    self.number = number
    self.action = action
    self.revision = revision
    self.isStale = isStale
  }

  /// `nil` if the outbox does not have the notification any more.
  init?(_ pending: PendingPress) {
    guard let number = pending.number else { return nil }
    self.init(
      bootID: pending.bootID, press: pending.press.number, number: number.rawValue,
      action: UInt32(pending.press.act), revision: pending.press.revision, isStale: pending.isStale)
  }
}
