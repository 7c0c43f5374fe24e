import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// The result of one notification, as `forward` prints it.
struct ForwardDocument: Encodable, Sendable {
  /// `queued`, `rejected`, `full`, `delivered`, `refused`, `gone`, `expired`, `removed`, `action`
  /// or `unknown`.
  var result: String
  /// The line of the input, from 1; `nil` for notifications of an earlier run.
  var line: Int?
  /// The outbox's number.
  var number: Int64?
  /// The client of the socket, from 1.
  var client: Int?
  var action: UInt32?
  /// The revision of the text for which the action was chosen.
  var rev: UInt16?
  /// Whether another text has replaced it since.
  var stale: Bool?
  var attError: UInt8?
  var reason: String?
  /// Whether the display possibly shows it truncated, because it does not fit together with its
  /// identity.
  var cut: Bool?
  /// Whether its key was accepted before, under this number.
  var duplicate: Bool?
  /// Whether the content accepted then was another one, which stays.
  var keyConflict: Bool?

  init(
    result: String, line: Int? = nil, number: Int64? = nil, action: UInt32? = nil, attError: UInt8? = nil,
    reason: String? = nil
  ) {
    self.result = result
    self.line = line
    self.number = number
    self.action = action
    self.attError = attError
    self.reason = reason
  }

  /// `nil` for reports that are not about one notification.
  init?(_ report: ForwardingReport) {
    switch report {
    case .queued(let number, _): self.init(result: "queued", number: number)
    case .duplicate(let number, _, let isConflict):
      self.init(result: "queued", number: number)
      duplicate = true
      if isConflict { keyConflict = true }
    case .rejected(let rejection, _):
      self.init(result: rejection.isFull ? "full" : "rejected", reason: "\(rejection)")
    case .delivered(let number): self.init(result: "delivered", number: number)
    case .refused(let number, let error):
      self.init(
        result: "refused", number: number, attError: error.rawValue, reason: "\(error)")
    case .gone(let number, let departure):
      self.init(result: "gone", number: number, reason: departure.rawValue)
    case .expired(let number): self.init(result: "expired", number: number)
    case .removed(let number): self.init(result: "removed", number: number)
    case .action(let number, let action, let revision, let isStale):
      self.init(result: "action", number: number, action: action)
      (rev, stale) = (revision, revision.map { _ in isStale })
    case .outcomeUnknown(let number): self.init(result: "unknown", number: number)
    case .full, .storeFull, .synced, .diverged, .newSource: return nil
    }
  }

  /// The document as a line of NDJSON.
  var lineBytes: [UInt8] {
    Array((Output.record(self) + "\n").utf8)
  }

  func at(_ line: Int?) -> ForwardDocument {
    var document = self
    document.line = line
    return document
  }
}

extension ForwardingRejection {
  /// Whether the same line can be accepted later.
  var isFull: Bool {
    switch self {
    case .full, .keysFull: true
    case .unknownNumber, .journalFailed, .stopped: false
    }
  }
}

/// An event of the connection or of the whole outbox.
struct ForwardEvent: Encodable, Sendable {
  /// `connecting`, `up`, `suspect`, `down`, `ended`, `full`, `storeFull`, `synced`, `diverged` or
  /// `newSource`.
  var event: String
  var port: String?
  var deviceID: String?
  var bootID: String?
  var reason: String?
  var rounds: Int?
  var source: UInt32?

  init(event: String) {
    self.event = event
  }

  init(_ change: ConnectionChange) {
    switch change.state {
    case .connecting(let port):
      self.init(event: "connecting")
      self.port = port
    case .up(let port, let info):
      self.init(event: "up")
      self.port = port
      deviceID = info.deviceID
      let digits = String(info.bootID, radix: 16)
      bootID = String(repeating: "0", count: 8 - digits.count) + digits
    case .suspect: self.init(event: "suspect")
    case .down: self.init(event: "down")
    case .ended: self.init(event: "ended")
    }
    reason = change.reason.description
  }

  init?(_ report: ForwardingReport) {
    switch report {
    case .full(let limit):
      self.init(event: "full")
      reason = "the outbox holds \(limit) notifications, queued or on the display"
    case .storeFull: self.init(event: "storeFull")
    case .synced(let rounds):
      self.init(event: "synced")
      self.rounds = rounds
    case .diverged: self.init(event: "diverged")
    case .newSource(let source):
      self.init(event: "newSource")
      self.source = source
    case .queued, .rejected, .duplicate, .delivered, .refused, .gone, .expired, .removed, .action,
      .outcomeUnknown:
      return nil
    }
  }

  /// As text, safe to print.
  var text: String {
    let place = port.map { " \($0.printable)" } ?? ""
    switch event {
    case "full":
      return "\((reason ?? "").printable): others wait until some leave it; see --entries-limit"
    case "storeFull": return "the device's store is full; queued notifications are sent when it has room"
    case "synced": return (rounds ?? 0) == 0 ? "in sync with the device" : "in sync with the device again"
    case "diverged": return "the device's notifications differ from the sent ones; continuing"
    case "newSource": return "another outbox wrote to the device last; continuing under a new identity"
    case _: return "\(event)\(place): \((reason ?? "").printable)"
    }
  }
}
