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
      Opens the port exclusively. Reconnects when the device restarts, and over ble: and att: when the connection \
      is lost.

      EXIT CODES HERE
        14: the port was removed, or 6 attempts to connect again failed.
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
    let hasText = text
    Output.endWithReader()
    try await Interruption.cancelling { [options] in
      try await BoardAccess.keeping(
        port, options: options, refused: [("--text", hasText, "a connection carries no console text")],
        onLoss: { reason in
          var line = EventDocument(event: "disconnected")
          line.reason = reason
          try Self.show(line, json: json)
        }
      ) { device, isAgain in
        try await device.subscribe()
        if isAgain { try Self.show(EventDocument(event: "reconnected"), json: json) }
        // A client reads the count after it has subscribed (PROTOCOL.md ATT-17).
        try Self.show(EventDocument(event: "count", count: try await device.count()), json: json)
        var console = ConsoleLines()
        for try await event in device.events {
          if case .text(let bytes) = event {
            for text in console.lines(in: bytes) {
              try Self.show(EventDocument(event: "text", data: text), json: json)
            }
          } else if let line = EventDocument(event) {
            try Self.show(line, json: json)
          }
        }
      }
    }
  }

  private static func show(_ line: EventDocument, json: Bool) throws {
    if json {
      try Output.json(line)
    } else {
      Output.data(line.text)
    }
  }
}
