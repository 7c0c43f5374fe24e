package import DequeModule
package import NotibotProtocol

/// A change of the display, for checkers.
package enum DisplayChange: Equatable, Sendable {
  /// Why something is no longer shown.
  package enum Removal: Equatable, Sendable {
    case dismissed
    case evicted
    case expired
    /// The writer removed it. Source: PROTOCOL.md NTF-24.
    case removed
    /// Its writer was forgotten to make room for another. Source: PROTOCOL.md NTF-22.
    case writerForgotten
  }

  /// Which notification, and its content.
  package struct Subject: Equatable, Sendable {
    package var item: Int
    package var key: NotificationKey?
    package var revision: UInt16
    /// The JSON as it was written.
    package var json: [UInt8]
  }

  /// Another notification is shown. `isAnnounced`: with an alert to the user.
  case shown(Subject, isAnnounced: Bool)
  /// A shown notification changed in its place.
  case replaced(Subject, isAnnounced: Bool)
  case removed(Subject, Removal)
  /// The device went down: the display is empty.
  case restarted
}

/// The changes of the display in order, until they are taken.
package struct DisplayLog: Equatable, Sendable {
  /// The maximum number of queued changes; later ones are dropped and counted.
  package static let limit = 65_536

  private(set) package var changes: Deque<DisplayChange> = []
  private(set) package var lostCount = 0

  package init() {}

  mutating func append(_ change: DisplayChange) {
    guard changes.count < Self.limit else {
      lostCount += 1
      return
    }
    changes.append(change)
  }

  mutating func drainChanges() -> [DisplayChange] {
    defer { changes.removeAll() }
    return Array(changes)
  }
}
