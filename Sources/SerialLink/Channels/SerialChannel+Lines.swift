package import NIOCore

/// What a channel's line can do besides carrying bytes.
extension SerialChannel {
  /// Does something to the line of an open channel, and returns when it is done.
  ///
  /// - Throws: `.notATTY` for a channel that is no serial port, `.noModemLines` for modem lines on a port that has none, as a
  ///   PTY; `.unconfirmed` when a server does not say that it is done; `.deviceGone`; what the driver says.
  package static func perform(_ command: LineCommand, on channel: any Channel) async throws(PortError) {
    do {
      try await channel.eventLoop.flatSubmit { startOnLoop(command, on: channel) }.get()
    } catch {
      throw (error as? PortError) ?? PortError(.deviceGone, port: "port", operation: command.operation)
    }
  }

  /// The same on the channel's event loop, where the caller must be. On a port of this machine it is done when this
  /// returns; behind a server it comes before all that is written later, and the future tells when it is done.
  package static func startOnLoop(_ command: LineCommand, on channel: any Channel) -> EventLoopFuture<Void> {
    if let remote = try? channel.pipeline.syncOperations.handler(type: RFC2217Handler.self) {
      return remote.perform(command)
    }
    return channel.eventLoop.makeCompletedFuture { try performOnLoop(command, on: channel) }
  }

  /// The same for a port of this machine, where it is done when this returns.
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
    if let remote = try? channel.pipeline.syncOperations.handler(type: RFC2217Handler.self) {
      return remote.lines
    }
    let handler = try channel.pipeline.syncOperations.handler(type: PortLifetimeHandler.self)
    return try handler.lines()
  }
}
