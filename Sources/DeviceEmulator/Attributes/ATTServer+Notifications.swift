import DequeModule
import NotibotProtocol

/// Notifications, and SYNC. Source: PROTOCOL.md NTF-10, NTF-11, NTF-26, NTF-30 to NTF-33.
extension ATTServer {
  /// A DATA payload for a bearer.
  struct Outgoing: Equatable, Sendable {
    var channel: Channel
    var payload: [UInt8]

    static func att(_ pdu: ATTPDU) -> Outgoing { Outgoing(channel: .att, payload: pdu.encoded()) }
    static func link(_ message: SyncMessage) -> Outgoing {
      Outgoing(channel: .link, payload: message.encoded())
    }
  }

  // MARK: Inputs

  /// Takes a message of channel 0. Returns false if it is not one that a device takes.
  /// `nextUnsolicited` returns its answer after all queued notifications; until then the caller
  /// takes nothing else from this bearer. Source: PROTOCOL.md NTF-30, NTF-31.
  mutating func receiveMessage(_ payload: [UInt8], on id: BearerID) -> Bool {
    guard let index = index(of: id), bearers[index].features.contains(.sync),
      let message = try? SyncMessage(parsing: payload)
    else { return false }
    let keepsActions = bearers[index].features.contains(.keptActions)
    switch message {
    case .sync(let request): receive(request, at: index, keepsActions: keepsActions)
    case .taken(let source, let press):
      guard keepsActions else { return false }
      store.presses.release(of: source, upTo: press)
    case .synced, .resync, .gone, .press: return false
    }
    return true
  }

  private mutating func receive(_ request: SyncRequest, at index: Int, keepsActions: Bool) {
    counters.syncs += 1
    changeStore { $0.sync(request.source, keepsActions: keepsActions) }
    bearers[index].sync(request)
    for notice in store.gone.notices where notice.key.source == request.source {
      queue(notice, at: index)
    }
  }

  /// Hides expired notifications. Source: PROTOCOL.md NTF-27.
  /// - Parameter seconds: now, in seconds since 1970-01-01 UTC.
  mutating func expire(at seconds: UInt32) {
    // One at a time, so that the queue of notices stays short.
    while changeStore({ $0.expireNext(at: seconds) }) {}
  }

  // MARK: Commands

  /// Changes the store in place and notifies each subscriber of the result. Source: PROTOCOL.md
  /// NTF-10, NTF-26.
  @discardableResult
  mutating func changeStore<Result>(_ change: (inout NotificationStore) -> Result) -> Result {
    let countBefore = store.count
    let result = change(&store)
    publishChanges(countBefore: countBefore)
    return result
  }

  /// Sends each subscriber of Data an event of a notification. Source: PROTOCOL.md NTF-11.
  mutating func notify(_ event: [UInt8]) {
    notify(event) { _ in true }
  }

  private mutating func notify(_ event: [UInt8], where isMeant: (ATTBearer) -> Bool) {
    for index in bearers.indices where isMeant(bearers[index]) {
      if !bearers[index].queue(event: event) { counters.eventsDropped += 1 }
    }
  }

  /// The person chooses an action of a notification with an identity. A press that is kept is
  /// reported to its writer by ACTION, to the others by `event`. Source: PROTOCOL.md NTF-39,
  /// NTF-40.
  mutating func press(_ act: UInt8, of identity: StoredIdentity, event: [UInt8]) {
    switch store.press(act, of: identity) {
    case .notKept: notify(event)
    case .kept: notify(event) { !$0.collectsPresses(of: identity.key.source) }
    case .refused: counters.pressesRefused += 1
    }
  }

  /// Passes the store's events to the bearers, and the count if its value changed.
  mutating func publishChanges(countBefore: UInt16) {
    if store.count != countBefore {
      for index in bearers.indices { bearers[index].markCountChanged() }
    }
    for event in store.drainEvents() {
      switch event {
      case .gone(let notice):
        switch notice.reason {
        case .dismissed: break
        case .evicted: counters.evictions += 1
        case .expired: counters.expiries += 1
        }
        for index in bearers.indices { queue(notice, at: index) }
      case .stillGone(let notice):
        for index in bearers.indices { queue(notice, at: index) }
      case .settled(let key):
        for index in bearers.indices { bearers[index].settle(key) }
      case .writerForgotten(let source):
        for index in bearers.indices where bearers[index].writer.source == source {
          bearers[index].requestResync()
        }
      }
    }
  }

  private mutating func queue(_ notice: GoneNotice, at index: Int) {
    if !bearers[index].queue(notice) { counters.eventsDropped += 1 }
  }

  // MARK: Outputs

  /// The next payload for a bearer that is not the response to an ATT request; nil if there is
  /// none. Source: PROTOCOL.md ATT-17.
  mutating func nextUnsolicited(for id: BearerID) -> Outgoing? {
    guard let index = index(of: id) else { return nil }
    if bearers[index].popPendingCount() {
      return notification(of: NotibotProfile.Handle.count, store.count.littleEndianBytes, at: index)
    }
    // Before the events and notices of what happened to the notification since (NTF-40).
    if let press = bearers[index].nextPress(from: store.presses) { return .link(.press(press)) }
    if let event = bearers[index].popEvent() {
      return notification(of: NotibotProfile.Handle.data, event, at: index)
    }
    if let notice = nextNotice(at: index) { return notice }
    if let source = bearers[index].popPendingSync() { return .link(.synced(answer(to: source))) }
    guard bearers[index].popPendingResync() else { return nil }
    counters.resyncs += 1
    return .link(.resync)
  }

  /// - Parameter handle: in PROTOCOL.md's table.
  private func notification(of handle: UInt16, _ value: [UInt8], at index: Int) -> Outgoing {
    .att(.handleValueNotification(handle: bearers[index].model.table.handle(handle), value: value))
  }

  /// Whether a bearer waits for SYNCED. Source: PROTOCOL.md NTF-31.
  func hasPendingSync(on id: BearerID) -> Bool {
    index(of: id).map { bearers[$0].pendingSync != .none } ?? false
  }

  /// An event, or GONE if the event does not fit. Source: PROTOCOL.md NTF-26.
  private mutating func nextNotice(at index: Int) -> Outgoing? {
    while let notice = bearers[index].popNotice() {
      let event = DeviceEvent.gone(notice.reason, notice.key, item: notice.item).encoded()
      if event.count <= bearers[index].eventLimitBytes {
        return notification(of: NotibotProfile.Handle.data, event, at: index)
      }
      if bearers[index].features.contains(.sync) { return .link(.gone(notice.reason, notice.key)) }
      counters.eventsDropped += 1
    }
    return nil
  }

  private func answer(to source: UInt32) -> SyncAnswer {
    SyncAnswer(
      source: source, holdings: store.writers.holdings(of: source),
      highestID: store.writers.highestID(of: source) ?? 0, capacity: UInt16(clamping: store.capacity),
      bootID: bootID)
  }
}
