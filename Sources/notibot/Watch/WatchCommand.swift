import ArgumentParser
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// `notibot watch`: prints count changes and device events until interrupted.
struct WatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch", abstract: "Print count changes and notification events until interrupted.",
    discussion: """
      Opens the port exclusively. Reconnects when the device restarts.

      EXIT CODES HERE
        14: the port was removed.
      """)

  @OptionGroup var port: PortOptions

  @Flag(help: "Print NDJSON: one document per event.")
  var json = false

  @Flag(help: "Print the device's console text as well, one line at a time.")
  var text = false

  func run() async throws {
    let (port, json) = (port, json)
    var options = DeviceOptions()
    options.reconnection = .always
    options.includesText = text
    try await Interruption.cancelling { [options] in
      try await BoardAccess.with(port, options: options) { device in
        try await device.subscribe()
        // A client reads the count after it has subscribed (PROTOCOL.md ATT-17).
        try Self.show(Line(event: "count", count: try await device.count()), json: json)
        var console = ConsoleLines()
        for try await event in device.events {
          if case .text(let bytes) = event {
            for text in console.lines(in: bytes) {
              try Self.show(Line(event: "text", data: text), json: json)
            }
          } else if let line = Line(event) {
            try Self.show(line, json: json)
          }
        }
      }
    }
  }

  private static func show(_ line: Line, json: Bool) throws {
    if json {
      try Output.json(line)
    } else {
      Output.data(line.text)
    }
  }

  /// One event, as it is printed.
  private struct Line: Encodable {
    var event: String
    var count: Int?
    var item: UInt32?
    var action: UInt32?
    var rev: UInt16?
    /// Why the session ended.
    var reason: String?
    var bootID: String?
    /// Console text, or an event that this host does not know; sanitised.
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
        // With a line break in it a device could forge the next event.
        data = TerminalText.sanitised(bytes).printable
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

    /// As text: the event, then its details.
    var text: String {
      let details: [String?] = [
        count.map { "\($0)" }, item.map { "item \($0)" }, action.map { "action \($0)" },
        rev.map { "rev \($0)" }, reason, bootID.map { "boot \($0)" }, data,
      ]
      return ([event] + details.compactMap(\.self)).joined(separator: " ")
    }
  }
}
