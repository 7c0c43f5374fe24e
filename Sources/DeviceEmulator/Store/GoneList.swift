package import DequeModule
package import NotibotProtocol

/// A notification that was removed from the display by someone other than its writer. Source:
/// PROTOCOL.md NTF-26.
package struct GoneNotice: Equatable, Sendable {
  package var reason: GoneReason
  package var key: NotificationKey
  /// Its number; 0 if it is no longer known.
  package var item: UInt32
}

/// The gone notifications that the writer has not settled yet, the oldest first. Source:
/// PROTOCOL.md NTF-26.
package struct GoneList: Equatable, Sendable {
  /// The maximum number of remembered notices; beyond it the oldest is forgotten. Source:
  /// PROTOCOL.md NTF-26.
  package static let limit = 64

  private(set) package var notices: Deque<GoneNotice> = []

  package var isFull: Bool { notices.count >= Self.limit }

  package func notice(of key: NotificationKey) -> GoneNotice? {
    notices.first { $0.key == key }
  }

  /// Remembers a notice and replaces an older one of the same notification. Returns the notice that
  /// was forgotten for it.
  mutating func insert(_ notice: GoneNotice) -> GoneNotice? {
    if let index = notices.firstIndex(where: { $0.key == notice.key }) {
      notices[index] = notice
      return nil
    }
    let forgotten = isFull ? notices.popFirst() : nil
    notices.append(notice)
    return forgotten
  }

  /// Returns whether it was in the list.
  mutating func remove(_ key: NotificationKey) -> Bool {
    guard let index = notices.firstIndex(where: { $0.key == key }) else { return false }
    notices.remove(at: index)
    return true
  }

  mutating func removeAll(of source: UInt32) {
    notices.removeAll { $0.key.source == source }
  }
}
