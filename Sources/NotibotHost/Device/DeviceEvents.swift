package import NotibotProtocol

extension Device {
  /// An event of a device, or of the connection to it.
  @nonexhaustive
  public enum Event: Sendable {
    /// The count changed, or was read again after a reconnection.
    case count(UInt16)
    /// The notification of this number was dismissed on the device. Numbers are in the order in
    /// which this boot of the device accepted notifications, from 1.
    case dismissed(item: UInt32)
    /// An action of the notification of this number was chosen. `revision` counts the changes of
    /// the text that was on the display then; `nil` if the notification has no identity, or the
    /// device does not report it.
    case action(item: UInt32, action: UInt32, revision: UInt16?)
    /// A notification from the device that this host does not know, unchanged: sanitise before
    /// printing.
    case unknown([UInt8])
    /// Console text, unchanged and split anywhere: sanitise before printing.
    case text([UInt8])
    /// The session ended for this reason, and another one is being opened.
    case disconnected(NotibotError)
    /// Another session is open. The information can be that of a new boot.
    case reconnected(DeviceInfo)
  }

  /// The events of a device, in order, for one consumer. Ends when the device is closed or lost for
  /// good.
  ///
  /// Each event is delivered once: with two consumers, each event reaches one of them.
  /// At most `DeviceOptions.eventsLimit` events are queued; beyond that the oldest are dropped.
  public struct Events: AsyncSequence, Sendable {
    /// One event.
    public typealias Element = Event

    let stream: AsyncThrowingStream<Event, any Error>

    /// Iterates over the events; `next()` waits for one and returns `nil` when the device is
    /// closed.
    public struct AsyncIterator: AsyncIteratorProtocol {
      var iterator: AsyncThrowingStream<Event, any Error>.Iterator

      /// The next event, or `nil` when the device was closed. Throws `NotibotError` when it was
      /// lost.
      public mutating func next() async throws -> Event? {
        try await iterator.next()
      }
    }

    /// An iterator over the events from now on.
    public func makeAsyncIterator() -> AsyncIterator {
      AsyncIterator(iterator: stream.makeAsyncIterator())
    }
  }
}

extension Device.Event {
  /// For notifications of another writer, or of an earlier run of this one, only their number on
  /// the display matters.
  package init(_ event: DeviceEvent) {
    self =
      switch event {
      case .dismissed(let item): .dismissed(item: item)
      case .action(let item, let act): .action(item: item, action: act, revision: nil)
      case .gone(.dismissed, _, let item) where item != 0: .dismissed(item: item)
      case .gone: .unknown(event.encoded())
      case .actionOf(_, let item, let act, let revision): .action(item: item, action: act, revision: revision)
      case .unknown(let bytes): .unknown(bytes)
      }
  }
}
