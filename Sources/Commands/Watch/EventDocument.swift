import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// One event, as `watch` prints it and `share` sends it.
struct EventDocument: Encodable {
  var event: String
  var count: Int?
  var item: UInt32?
  var action: UInt32?
  var rev: UInt16?
  /// Why the session ended.
  var reason: String?
  var bootID: String?
  /// Console text, or an event that this host does not know; not sanitised.
  var data: String?

  init(event: String, count: Int? = nil, data: String? = nil) {
    self.event = event
    self.count = count
    self.data = data
  }

  init?(_ event: Device.Event) {
    switch event {
    case .count(let count):
      self.init(event: "count", count: Int(count))
    case .dismissed(let item):
      self.init(event: "dismissed")
      self.item = item
    case .action(let item, let action, let revision):
      self.init(event: "action")
      (self.item, self.action, rev) = (item, action, revision)
    case .unknown(let bytes):
      self.init(event: "unknown")
      data = TerminalText.exact(bytes)
    case .disconnected(let error):
      let isRestart = error.code == .deviceRestarted
      self.init(event: isRestart ? "restarted" : "disconnected")
      if !isRestart { reason = error.reason }
    case .reconnected(let info):
      self.init(event: "reconnected")
      bootID = String(format: "%08x", info.bootID)
    case .text: return nil
    }
  }

  /// As text: the event, then its details. With a line break in it a device could forge the next
  /// event.
  var text: String {
    let data = data.map { TerminalText.sanitised($0.utf8) }
    let details: [String?] = [
      count.map { "\($0)" }, item.map { "item \($0)" }, action.map { "action \($0)" },
      rev.map { "rev \($0)" }, reason, bootID.map { "boot \($0)" },
      event == "text" ? data : data?.printable,
    ]
    return ([event] + details.compactMap(\.self)).joined(separator: " ")
  }
}
