import Console
import NIOCore
import NIOPosix
import NotibotHost
import NotibotProtocol
import SerialLink

/// One run of `notibot monitor`: the events of port, keyboard and clock pass through one stream, in
/// order.
struct MonitorRun: Sendable {
  enum Input: Sendable {
    case port(PortMonitor.Event)
    /// The oldest question that had no answer yet.
    case decoded(CrashDecoder.Decoded?)
    /// The port is closed for good; the error is that of the first attempt.
    case portEnded(PortError?)
    case keys(MonitorKeys.Event)
    case saveFailed(Failure)
    /// That of --reset.
    case resetFailed(Failure)
    /// Something for the user.
    case note(String)
    case timeout
    /// The machine's deadline.
    case tick
  }

  private struct Timed: Sendable {
    var at: Instant
    var input: Input
  }

  let options: MonitorOptions

  /// Runs until there is a reason to end; throws `Failure` unless that is a success. Returns
  /// whether it is to be continued after writing the images of --flash.
  func perform() async throws -> Bool {
    let judge = try MonitorJudge(options)
    let save = try options.save.map { try OutputFile(path: $0, from: options.isContinued ? .end : .empty) }
    let log = MonitorLog()
    if let limit = options.timeout { Interruption.end(after: limit, with: timeoutFailure) }
    let (inputs, sink) = AsyncStream<Timed>.makeStream()
    let emit: @Sendable (Input) -> Void = { sink.yield(Timed(at: .current, input: $0)) }
    let (questions, decoding) = AsyncStream<CrashDecoder.Question>.makeStream()
    let monitor = PortMonitor(
      options.port, options: options.serial,
      keep: { bytes in
        if let failure = save?.write(bytes) { emit(.saveFailed(failure)) }
        if let failure = log.write(bytes) { emit(.note(failure.description)) }
      },
      report: { emit(.port($0)) })
    let keys = options.takesKeys ? MonitorKeys { emit(.keys($0)) } : nil
    defer { keys?.end() }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let end = options.timeout.map { ContinuousClock.now + $0 }
    let timeout = options.timeout.map { limit in
      loop.scheduleTask(in: TimeAmount(limit)) { emit(.timeout) }
    }
    defer { timeout?.cancel() }
    return try await withThrowingTaskGroup(of: Void.self) { [options] group in
      group.addTask {
        var failure: PortError?
        do throws(PortError) {
          try await monitor.run(reconnects: options.reconnects)
        } catch {
          failure = error
        }
        // An interruption closes the port too, and does not count as a loss.
        if !Task.isCancelled { emit(.portEnded(failure)) }
      }
      group.addTask {
        for await question in questions {
          let decoded = try? await NIOThreadPool.singleton.runIfActive {
            options.decoder?.answer(question, until: end)
          }
          emit(.decoded(decoded ?? nil))
        }
      }
      defer { group.cancelAll() }
      var session = MonitorSession(
        options, judge, monitor, log, loop, until: end, decode: { decoding.yield($0) }, emit: emit)
      for await input in inputs {
        if let ending = session.handle(input.input, at: input.at) { return try session.end(ending) }
        // Does not process the backlog of a device that sends without a pause before the signal or
        // the timeout.
        if Task.isCancelled { break }
        if let end, ContinuousClock.now >= end, let ending = session.handle(.timeout, at: .current) {
          return try session.end(ending)
        }
      }
      // Interrupted.
      return try session.end(.success(reason: "interrupted", match: nil))
    }
  }

  /// The failure at the end of the time; `nil` without `--until`.
  var timeoutFailure: Failure? {
    options.until.map { until in
      Failure(
        .noAnswer,
        "\(options.port.description.printable): no line matched "
          + "'\(until.prefix(80).description.printable)' within the time limit",
        remedy: "check the output above, or increase --timeout")
    }
  }
}
