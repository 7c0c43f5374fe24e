package import NIOCore

/// An open port on which reset sequences can be played, and its output meanwhile.
package struct WatchedPort: Sendable {
  private let channel: any Channel
  private let watch: NIOLoopBound<BootWatch>

  /// Opens a port. Throws `PortError`.
  package static func open(
    _ address: PortAddress, options: SerialOptions, on loop: any EventLoop
  ) async throws(PortError) -> WatchedPort {
    let made = loop.makePromise(of: NIOLoopBound<BootWatch>.self)
    do throws(PortError) {
      let channel = try await SerialChannel.open(address, options: options, on: loop) { channel in
        let watch = BootWatch(loop: channel.eventLoop)
        try channel.pipeline.syncOperations.addHandler(watch)
        made.succeed(NIOLoopBound(watch, eventLoop: channel.eventLoop))
      }
      guard let watch = try? await made.futureResult.get() else {
        throw PortError(.deviceGone, port: address.description, operation: "open")
      }
      return WatchedPort(channel: channel, watch: watch)
    } catch {
      made.fail(error)
      throw error
    }
  }

  /// Plays a sequence; see `SerialChannel.play`. Earlier output of the port is discarded.
  package func play(_ sequence: ResetSequence) async throws(PortError) -> [PlayedChange] {
    let watch = watch
    _ = try? await channel.eventLoop.submit { watch.value.clear() }.get()
    return try await SerialChannel.play(sequence, on: channel)
  }

  /// Whether `condition` holds for the output since then, at once or within `limit`.
  package func receives(within limit: Duration, _ condition: @escaping @Sendable ([UInt8]) -> Bool) async
    -> Bool
  {
    let watch = watch
    let found = channel.eventLoop.flatSubmit { watch.value.wait(upTo: TimeAmount(limit), for: condition) }
    return (try? await found.get()) ?? false
  }

  /// The last output of the port since then.
  package func text() async -> [UInt8] {
    let watch = watch
    return (try? await channel.eventLoop.submit { watch.value.text }.get()) ?? []
  }

  /// Whether the port was disconnected meanwhile.
  package func isGone() async -> Bool {
    let watch = watch
    return (try? await channel.eventLoop.submit { watch.value.hasEnded }.get()) ?? true
  }

  /// Writes, as far as the port accepts it.
  package func write(_ bytes: [UInt8]) {
    channel.writeAndFlush(channel.allocator.buffer(bytes: bytes), promise: nil)
  }

  /// Closes the port, and returns when its locks are released.
  package func close() async {
    channel.close(promise: nil)
    try? await channel.closeFuture.get()
  }
}
