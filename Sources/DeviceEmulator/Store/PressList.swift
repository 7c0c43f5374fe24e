package import DequeModule
package import NotibotProtocol

/// The presses that no host has taken yet, in rising order of their numbers. Source: PROTOCOL.md
/// NTF-39 to NTF-41.
package struct PressList: Equatable, Sendable {
  /// The minimum number of presses that a device keeps per writer; one more is refused. Source:
  /// PROTOCOL.md NTF-39.
  package static let limit = 16

  private(set) package var presses: Deque<KeptPress> = []
  /// The number of the latest press that was kept in this boot; 0 if there was none.
  private var lastNumber: UInt32 = 0

  /// Keeps a press. Returns false if there is no room for it: the list is unchanged then.
  mutating func insert(_ act: UInt8, of identity: StoredIdentity) -> Bool {
    let count = presses.count { $0.key.source == identity.key.source }
    guard count < Self.limit, lastNumber < .max else { return false }
    lastNumber += 1
    presses.append(
      KeptPress(act: act, key: identity.key, revision: identity.revision, number: lastNumber))
    return true
  }

  /// The first press of a writer with a number above `number`.
  func first(of source: UInt32, above number: UInt32) -> KeptPress? {
    presses.first { $0.key.source == source && $0.number > number }
  }

  /// Releases those of a writer up to `number`.
  mutating func release(of source: UInt32, upTo number: UInt32) {
    presses.removeAll { $0.key.source == source && $0.number <= number }
  }

  mutating func removeAll(of source: UInt32) {
    presses.removeAll { $0.key.source == source }
  }
}

/// Presses. Source: PROTOCOL.md NTF-39.
extension NotificationStore {
  /// What became of a press.
  enum PressOutcome: Equatable {
    /// Its writer's host does not want it kept.
    case notKept
    case kept
    /// There is no room for it.
    case refused
  }

  /// The person chooses an action of a notification.
  mutating func press(_ act: UInt8, of identity: StoredIdentity) -> PressOutcome {
    guard writers.keepsActions(of: identity.key.source) else { return .notKept }
    return presses.insert(act, of: identity) ? .kept : .refused
  }
}
