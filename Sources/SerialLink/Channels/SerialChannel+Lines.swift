package import NIOCore

/// The line commands of a channel.
extension SerialChannel {
  /// Executes a command on the line of an open channel, and returns when it is done.
  ///
  /// - Throws: `.notATTY` for a channel that is not a serial port, `.noModemLines` for modem lines
  ///   on a port without them, such as a PTY; `.unconfirmed` if a server does not confirm the
  ///   command; `.deviceGone`; errors of the driver.
  package static func perform(_ command: LineCommand, on channel: any Channel) async throws(PortError) {
    do {
      try await channel.eventLoop.flatSubmit { startOnLoop(command, on: channel) }.get()
    } catch {
      throw (error as? PortError) ?? PortError(.deviceGone, port: "port", operation: command.operation)
    }
  }

  /// The same on the channel's event loop, where the caller must be. On a local port it is done
  /// when this returns; on a server's port it precedes all later writes, and the future completes
  /// when it is done.
  package static func startOnLoop(_ command: LineCommand, on channel: any Channel) -> EventLoopFuture<Void> {
    if let remote = try? channel.pipeline.syncOperations.handler(type: RFC2217Handler.self) {
      return remote.perform(command)
    }
    return channel.eventLoop.makeCompletedFuture { try performOnLoop(command, on: channel) }
  }

  /// The same for a local port, where it is done when this returns.
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

  /// The state of the modem lines of an open channel. If it cannot be read, as on a network port,
  /// both are assumed asserted, as after an open. The caller must be on the channel's event loop.
  static func linesOnLoop(of channel: any Channel) throws -> ModemLines {
    if let remote = try? channel.pipeline.syncOperations.handler(type: RFC2217Handler.self) {
      return remote.lines
    }
    let handler = try channel.pipeline.syncOperations.handler(type: PortLifetimeHandler.self)
    return try handler.lines()
  }
}
