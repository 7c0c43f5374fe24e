package import NotibotProtocol

/// Identifies a submitted request until its result arrives.
package struct HostRequestID: Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// The characteristics that a client can subscribe to.
package struct Subscriptions: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Changes of the count (NTF-10).
  package static let count = Subscriptions(rawValue: 1)
  /// What happened to notifications (NTF-11).
  package static let data = Subscriptions(rawValue: 2)
  package static let all: Subscriptions = [.count, .data]
}

/// A request to a host machine. Each request gets exactly one `HostResult`.
package enum HostRequest: Equatable, Sendable {
  /// Write a notification, cut to the limits of NTF-7 if necessary.
  case send(DisplayNotification)
  /// Write these bytes of JSON as they are; more than 512 are refused here.
  case sendEncoded([UInt8])
  case readCount
  case subscribe(Subscriptions)
  /// Send this PDU unchanged, in order. Its result is `.response`, or `.sent` if no answer is due.
  case rawATT([UInt8])
}

/// The result of a request.
package enum HostResult: Equatable, Sendable {
  /// The device answered success: a notification is stored, a subscription made.
  case accepted
  case count(UInt16)
  /// The answer to a raw request: a response or an Error Response, unchanged.
  case response([UInt8])
  /// A raw PDU to which no answer is due was sent.
  case sent
  /// The device answered with an error.
  case refused(ATTError)
  case failed(RequestFailure)
}

/// Why a request has no answer.
package enum RequestFailure: Hashable, Sendable {
  /// It was sent and the session ended: applied once, or not at all (LNK-23).
  case outcomeUnknown(SessionEnd)
  /// It was not sent: the session ended before, or none was open.
  case notSent(SessionEnd)
  /// Too many requests are queued; submit it again when some are answered.
  case queueFull
  /// A value longer than the 512 bytes of the characteristic, or a PDU that is empty or longer than
  /// the MTU.
  case badLength(bytes: Int)
  /// The device has no such characteristic or descriptor.
  case unsupported
}

/// An unsolicited event of the device or the link.
package enum HostEvent: Equatable, Sendable {
  /// The device notified a new count.
  case countChanged(UInt16)
  /// The device reported an event of a notification, or something that this host does not know.
  case device(DeviceEvent)
  /// The device sent a message about what is on the display (SYNCED, RESYNC, GONE).
  case sync(SyncMessage)
  /// Console text that the device framed itself.
  case log([UInt8])
  /// No frame was received for 3 s.
  case suspected
  /// A frame was received again.
  case recovered
}
