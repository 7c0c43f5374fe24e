package import NotibotProtocol

/// Names a submitted request until its one result comes.
package struct HostRequestID: Hashable, Sendable {
  package let rawValue: UInt64

  package init(rawValue: UInt64) {
    self.rawValue = rawValue
  }
}

/// The characteristics whose notifications a client may ask for.
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

/// What a host machine can be asked for. Each request gets exactly one `HostResult`.
package enum HostRequest: Equatable, Sendable {
  /// Write a notification, cut to the limits of NTF-7 if need be.
  case send(Notification)
  /// Write these bytes of JSON as they are; more than 512 are refused here.
  case sendEncoded([UInt8])
  case readCount
  case subscribe(Subscriptions)
  /// Send this PDU as it is, in its turn. Its result is `.response`, or `.sent` when no answer is due.
  case rawATT([UInt8])
}

/// What became of a request.
package enum HostResult: Equatable, Sendable {
  /// The device answered success: a notification is stored, a subscription made.
  case accepted
  case count(UInt16)
  /// The answer to a raw request: a response or an Error Response, as it came.
  case response([UInt8])
  /// A raw PDU to which no answer is due went into the session.
  case sent
  /// The device answered with an error.
  case refused(ATTError)
  case failed(RequestFailure)
}

/// Why a request got no answer.
package enum RequestFailure: Error, Hashable, Sendable {
  /// It was sent and the session ended: applied once, or not at all (LNK-23).
  case outcomeUnknown(SessionEnd)
  /// It never left: the session ended before, or none was open.
  case notSent(SessionEnd)
  /// Too many requests wait; ask again when some are answered.
  case queueFull
  /// A value longer than the 512 bytes of the characteristic, or a PDU that is empty or longer than the MTU.
  case badLength(bytes: Int)
  /// The device has no such characteristic or descriptor.
  case unsupported
}

/// What happens without having been asked for.
package enum HostEvent: Equatable, Sendable {
  /// The device notified a new count.
  case countChanged(UInt16)
  /// The device told what happened to a notification, or something that this host does not know.
  case device(DeviceEvent)
  /// The device said something of what is on the display.
  case sync(SyncMessage)
  /// Console text that the device framed itself.
  case log([UInt8])
  /// Nothing has come for 3 s.
  case suspected
  /// A frame came after all.
  case recovered
}
