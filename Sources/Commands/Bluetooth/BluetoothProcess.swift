import Foundation
import NIOCore
import NIOPosix
import SerialLink

/// One role on a Bluetooth adapter: the module `notibot.ble` of the Python package, in a child
/// process that ends with this one. This program contains no Bluetooth itself.
final class BluetoothProcess: Sendable {
  /// A line of its output; python/notibot/ble/__main__.py lists them.
  struct Event: Decodable, Sendable {
    /// ready, connected, disconnected, found or failed.
    var event: String
    var name: String?
    var address: String?
    var peer: String?
    var reason: String?
    var rssi: Int?
    /// The interval of a connection, in milliseconds.
    var intervalMs: Double?
    var what: String?
    var fix: String?
    var exit: Int32?
    /// Of a failure: whether the process ends with it, instead of a link alone.
    var isFinal: Bool?

    var failure: Failure? {
      guard event == "failed" else { return nil }
      return Failure(
        exit.map { FailureKind(refusedWith: $0) } ?? .unfitEnvironment, what ?? "Bluetooth failed",
        remedy: fix ?? "")
    }
  }

  /// How long its end may take: it stops advertising and disconnects.
  private static let endLimit = Duration.seconds(5)
  /// Of the lines that nobody has read.
  private static let eventsLimit = 4096

  private let channel: any Channel
  private let process: TiedProcess
  private let events: AsyncStream<Event>
  private let sink: AsyncStream<Event>.Continuation

  /// Starts the module and waits until it is ready.
  ///
  /// - Parameters:
  ///   - role: the role and its options.
  ///   - adapter: as in docs/CLI.md, Bluetooth.
  /// - Returns: the process, and its first event.
  /// - Throws: `Failure`: no Python with the module (18), or no usable adapter.
  static func start(_ role: [String], on adapter: String) async throws -> (BluetoothProcess, Event) {
    let python = try await located()
    let (events, sink) = AsyncStream<Event>.makeStream(bufferingPolicy: .bufferingNewest(eventsLimit))
    let words = [python, "-m", "notibot.ble"] + role + ["--", adapter]
    let (channel, process) = try await UnixSocket.pair(on: MultiThreadedEventLoopGroup.singleton.next()) {
      try $0.pipeline.syncOperations.addHandler(DocumentReader(sink: sink))
    } _: { end throws(PortError) in
      try await TiedProcess.start("/usr/bin/env", arguments: words, input: end, output: end)
    }
    let started = BluetoothProcess(channel: channel, process: process, events: events, sink: sink)
    do {
      return (started, try await started.next())
    } catch {
      await started.stop()
      throw error
    }
  }

  private init(
    channel: any Channel, process: TiedProcess, events: AsyncStream<Event>,
    sink: AsyncStream<Event>.Continuation
  ) {
    (self.channel, self.process, self.events, self.sink) = (channel, process, events, sink)
  }

  /// The next event; for one task at a time. Throws `Failure` when the process reports a
  /// failure, or has ended.
  func next() async throws -> Event {
    guard let event = await nextEvent() else {
      try Task.checkCancellation()
      let words = ((try? await process.ended.get()) ?? "").split(separator: "\n").last.map(String.init)
      throw Failure(
        .unfitEnvironment, "the Bluetooth process ended: \(words ?? "it printed no reason")",
        remedy: "run this again")
    }
    if let failure = event.failure { throw failure }
    return event
  }

  /// The next event until `finishEvents` or the end of the process, then nil.
  func nextEvent() async -> Event? {
    for await event in events { return event }
    return nil
  }

  /// Ends the wait for events after `limit`.
  func finishEvents(after limit: Duration) {
    channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { [sink] in sink.finish() }
  }

  /// Ends it, and waits until it has left the air; also in a cancelled task.
  func stop() async {
    await Interruption.finishing(within: Self.endLimit) {
      try? await channel.close(mode: .output)
      // A task of its own is not cancelled with the caller's, which would kill the process.
      _ = await Task { await process.exitCode(within: Self.endLimit) }.value
      try? await channel.close()
    }
  }
}
