package import NIOCore

/// What a channel's line can do besides carrying bytes.
extension SerialChannel {
  /// Does something to the line of an open channel, and returns when it is done.
  ///
  /// - Throws: `.notATTY` for a channel that is no serial port, `.noModemLines` for modem lines on a port that has none, as a
  ///   PTY; `.deviceGone`; what the driver says.
  package static func perform(_ command: LineCommand, on channel: any Channel) async throws(PortError) {
    do {
      try await channel.eventLoop.submit { try performOnLoop(command, on: channel) }.get()
    } catch {
      throw (error as? PortError) ?? PortError(.deviceGone, port: "port", operation: command.operation)
    }
  }

  /// The same on the channel's event loop, where the caller must be.
  package static func performOnLoop(_ command: LineCommand, on channel: any Channel) throws {
    let handler = try channel.pipeline.syncOperations.handler(type: PortLifetimeHandler.self)
    try handler.perform(command)
  }

  /// The latency timer of an open channel's port; `nil` for a port that has none.
  package static func latency(of channel: any Channel) async -> LatencyTimer? {
    let found = channel.eventLoop.submit {
      try? channel.pipeline.syncOperations.handler(type: PortLifetimeHandler.self).latency
    }
    return (try? await found.get()) ?? nil
  }

  /// How the lines of an open channel are driven. What cannot be asked, as behind a network, is as an open leaves it: both on.
  /// The caller must be on the channel's event loop.
  static func linesOnLoop(of channel: any Channel) throws -> ModemLines {
    let handler = try channel.pipeline.syncOperations.handler(type: PortLifetimeHandler.self)
    return try handler.lines()
  }
}
