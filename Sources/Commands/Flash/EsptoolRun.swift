import FirmwareImages
import NIOCore
import NIOPosix
import SerialLink

/// Runs esptool once, as a child process that never outlives this one, and reads its output.
struct EsptoolRun: Sendable {
  /// How it ended.
  struct Ending: Sendable {
    var output: EsptoolOutput
    /// `nil` if a signal ended it.
    var exitCode: Int32?
    /// The end of its standard error. Sanitise before printing.
    var errors: String
    /// Whether it was killed because it printed nothing for too long.
    var wasSilent = false
  }

  /// How long esptool can print nothing. It has time limits of its own; some versions have none
  /// where a stub does not start. The longest silence is the digest of 16 MB: 8 s per MB.
  private static let connectingLimit = Duration.seconds(60)
  private static let silenceLimit = Duration.seconds(180)
  /// How often the silence is checked.
  private static let tick = TimeAmount.seconds(5)
  /// Bytes of standard output; a program that prints more is killed. esptool prints a line of 300
  /// bytes for each 16 KiB.
  fileprivate static let outputLimitBytes = 1 << 20

  fileprivate enum Event: Sendable {
    case bytes([UInt8])
    /// More than `outputLimitBytes`; nothing more is read.
    case tooMuch
    case outputEnded
    case processEnded
    case tick
  }

  let program: EsptoolProgram

  /// - Parameters:
  ///   - words: its arguments.
  ///   - connecting: how long it can print nothing before it is connected.
  ///   - goesOn: gets the output after each change of it; `false` kills esptool.
  /// - Throws: `PortError` when it cannot be started; `CancellationError`, after it is killed.
  func run(
    _ words: [String], connecting: Duration = connectingLimit, goesOn: (EsptoolOutput) -> Bool = { _ in true }
  ) async throws -> Ending {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let (events, sink) = AsyncStream<Event>.makeStream()
    let settings = ["PYTHONUNBUFFERED=1", "NO_COLOR=1", "TERM=dumb", "COLUMNS=400"]
    let (channel, process) = try await UnixSocket.pair(on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(OutputReader(sink: sink))
    } _: { end throws(PortError) in
      try await TiedProcess.start("/usr/bin/env", arguments: settings + [program.path] + words, output: end)
    }
    process.ended.whenComplete { _ in sink.yield(.processEnded) }
    let clock = loop.scheduleRepeatedTask(initialDelay: Self.tick, delay: Self.tick) { _ in
      sink.yield(.tick)
    }
    var ending = Ending(output: EsptoolOutput(), exitCode: nil, errors: "")
    await follow(events, &ending, connecting, goesOn) { await process.stop() }
    clock.cancel()
    sink.finish()
    if Task.isCancelled { await process.stop() }
    ending.exitCode = await process.exitCode(within: Self.connectingLimit)
    ending.errors = (try? await process.ended.get()) ?? ""
    try? await channel.close()
    try Task.checkCancellation()
    return ending
  }

  /// Takes events until esptool has ended and its output is read, or until this task is cancelled.
  private func follow(
    _ events: AsyncStream<Event>, _ ending: inout Ending, _ connecting: Duration,
    _ goesOn: (EsptoolOutput) -> Bool,
    stop: () async -> Void
  ) async {
    var (isOutputOpen, isRunning, last) = (true, true, ContinuousClock.now)
    for await event in events {
      switch event {
      case .bytes(let bytes):
        last = .now
        ending.output.receive(bytes)
        if !goesOn(ending.output) { await stop() }
      case .tooMuch: await stop()
      case .outputEnded: isOutputOpen = false
      case .processEnded: isRunning = false
      case .tick:
        let limit = ending.output.phase == .connecting ? connecting : Self.silenceLimit
        guard ContinuousClock.now - last > limit else { break }
        // A program that it has started can keep its output.
        guard isRunning else { return }
        ending.wasSilent = true
        await stop()
      }
      if !isOutputOpen, !isRunning { return }
    }
  }
}

/// Passes the output of a program on.
private final class OutputReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let sink: AsyncStream<EsptoolRun.Event>.Continuation
  private var room = EsptoolRun.outputLimitBytes

  init(sink: AsyncStream<EsptoolRun.Event>.Continuation) { self.sink = sink }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = Array(unwrapInboundIn(data).readableBytesView)
    room -= bytes.count
    guard room >= 0 else {
      sink.yield(.tooMuch)
      return context.close(promise: nil)
    }
    sink.yield(.bytes(bytes))
  }

  func channelInactive(context: ChannelHandlerContext) {
    sink.yield(.outputEnded)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
