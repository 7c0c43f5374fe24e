package import DequeModule
package import NotibotProtocol

/// A notification that left the display without its writer. Source: PROTOCOL.md NTF-26.
package struct GoneNotice: Equatable, Sendable {
  package var reason: GoneReason
  package var key: NotificationKey
  /// Its number; 0 when it is no longer known.
  package var item: UInt32
}

/// What is gone and not yet settled by the writer, the longest ago first. Source: PROTOCOL.md NTF-26.
package struct GoneList: Equatable, Sendable {
  /// The most that are remembered; beyond it the oldest is forgotten. Source: PROTOCOL.md NTF-26.
  package static let limit = 64

  private(set) package var notices: Deque<GoneNotice> = []

  package var isFull: Bool { notices.count >= Self.limit }

  package func notice(of key: NotificationKey) -> GoneNotice? {
    notices.first { $0.key == key }
  }

  /// Remembers a notice, in the place of an older one of the same notification. Returns what was forgotten for it.
  mutating func insert(_ notice: GoneNotice) -> GoneNotice? {
    if let index = notices.firstIndex(where: { $0.key == notice.key }) {
      notices[index] = notice
      return nil
    }
    let forgotten = isFull ? notices.popFirst() : nil
    notices.append(notice)
    return forgotten
  }

  /// Returns whether it was there.
  mutating func remove(_ key: NotificationKey) -> Bool {
    guard let index = notices.firstIndex(where: { $0.key == key }) else { return false }
    notices.remove(at: index)
    return true
  }

  mutating func removeAll(of source: UInt32) {
    notices.removeAll { $0.key.source == source }
  }
}
