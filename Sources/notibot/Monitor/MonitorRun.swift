import NIOCore
import NIOPosix
import NotibotHost
import NotibotProtocol
import SerialLink

/// One run of `notibot monitor`: the events of port, keyboard and clock pass through one stream, in
/// order.
struct MonitorRun: Sendable {
  private enum Input: Sendable {
    case port(PortMonitor.Event)
    /// The port is closed for good; the error is that of the first attempt.
    case portEnded(PortError?)
    case keys(MonitorKeys.Event)
    case saveFailed(CommandFailure)
    case timeout
    /// The machine's deadline.
    case tick
  }

  private struct Timed: Sendable {
    var at: Instant
    var input: Input
  }

  private enum Ending {
    case success(reason: String, match: String?)
    case failure(reason: String, match: String?, CommandFailure)
  }

  let options: MonitorOptions

  /// Runs until there is a reason to end; throws `CommandFailure` unless that is a success.
  func perform() async throws {
    let judge = try MonitorJudge(options)
    let save = try options.save.map { try OutputFile(path: $0) }
    if let limit = options.timeout { Interruption.end(after: limit, with: timeoutFailure) }
    let (inputs, sink) = AsyncStream<Timed>.makeStream()
    let emit: @Sendable (Input) -> Void = { sink.yield(Timed(at: .current, input: $0)) }
    let monitor = PortMonitor(
      options.port, options: options.serial,
      keep: { if let failure = save?.write($0) { emit(.saveFailed(failure)) } },
      report: { emit(.port($0)) })
    let keys = options.takesKeys ? MonitorKeys { emit(.keys($0)) } : nil
    defer { keys?.end() }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let end = options.timeout.map { ContinuousClock.now + $0 }
    let timeout = options.timeout.map { limit in
      loop.scheduleTask(in: TimeAmount(limit)) { emit(.timeout) }
    }
    defer { timeout?.cancel() }
    try await withThrowingTaskGroup(of: Void.self) { [options] group in
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
      defer { group.cancelAll() }
      var session = Session(options, judge, monitor, loop) { emit(.tick) }
      for await input in inputs {
        if let ending = session.take(input.input, at: input.at) { return try session.end(ending) }
        // Does not process the backlog of a device that sends without a pause before the signal or
        // the timeout.
        if Task.isCancelled { break }
        if let end, ContinuousClock.now >= end, let ending = session.take(.timeout, at: .current) {
          return try session.end(ending)
        }
      }
      // Interrupted.
      try session.end(.success(reason: "interrupted", match: nil))
    }
  }

  /// The failure at the end of the time; `nil` without `--until`.
  private var timeoutFailure: CommandFailure? {
    options.until.map { until in
      CommandFailure(
        .noAnswer,
        "\(options.port.description.printable): no line matched "
          + "'\(until.prefix(80).description.printable)' within the time limit",
        remedy: "check the output above, or increase --timeout")
    }
  }

  /// The machine and its outputs; used by one task.
  private struct Session {
    private let options: MonitorOptions
    private let judge: MonitorJudge
    private let monitor: PortMonitor
    private let loop: any EventLoop
    private let tick: @Sendable () -> Void
    private var machine = MonitorMachine()
    private var printer: MonitorPrinter
    private var linesToSend: [String]
    private var doubt = RateDoubt()
    private var notices: ConsoleNotices
    private let unlockedUsers = UnlockedUsers()
    /// Whether a record has decided the end.
    private var isDecided = false
    private var timer = DriverTimer()

    init(
      _ options: MonitorOptions, _ judge: MonitorJudge, _ monitor: PortMonitor, _ loop: any EventLoop,
      tick: @escaping @Sendable () -> Void
    ) {
      (self.options, self.judge, self.monitor, self.loop) = (options, judge, monitor, loop)
      self.tick = tick
      linesToSend = options.linesToSend
      printer = MonitorPrinter(options)
      notices = ConsoleNotices(options)
      Output.text(printer.opening(at: .current))
    }

    /// Handles an event; returns the reason if it ends the run.
    mutating func take(_ input: Input, at now: Instant) -> Ending? {
      var ending: Ending?
      switch input {
      case .port(let event): take(event, at: now)
      case .portEnded(let error):
        machine.finish(now: now)
        let failure =
          error.map(CommandFailure.init)
          ?? CommandFailure(
            .linkLost, "\(port): the device was disconnected", remedy: "check the cable and the power supply")
        ending = .failure(reason: error == nil ? "lost" : "notOpened", match: nil, failure)
      case .keys(.keys(let bytes)): monitor.write(bytes)
      case .keys(.leave): ending = .success(reason: "keys", match: nil)
      case .saveFailed(let failure): ending = .failure(reason: "save", match: nil, failure)
      case .timeout: ending = timedOut()
      case .tick:
        timer.noteFired()
        machine.handleTimeout(now: now)
      }
      let decided = show()
      arm()
      return decided ?? ending
    }

    /// Prints the remaining records and ends.
    mutating func end(_ ending: Ending) throws {
      timer.cancel()
      let now = Instant.current
      var ending = ending
      machine.finish(now: now)
      // Records that are still in the machine can change the decision; after a line that decided
      // they are dropped.
      if !isDecided, let decided = show() { ending = decided }
      switch ending {
      case .success(let reason, let match):
        Output.text(printer.closing(reason, match: match, counts: machine.counts, at: now))
      case .failure(let reason, let match, let failure):
        Output.text(printer.closing(reason, match: match, counts: machine.counts, at: now))
        throw failure
      }
    }

    private var port: String { options.port.description.printable }

    private mutating func take(_ event: PortMonitor.Event, at now: Instant) {
      switch event {
      case .opened(let port):
        machine.portOpened(port, now: now)
        let leaving =
          options.takesKeys ? "Ctrl-] exits, all other keys go to the device" : "press Ctrl-C to exit"
        note("\(port.printable) is open at \(options.serial.bitsPerSecond) baud; \(leaving)")
        if let warning = unlockedUsers.warning(for: port) { note(warning) }
        linesToSend.forEach { monitor.write(Array("\($0)\n".utf8)) }
        linesToSend = []
      case .bytes(let bytes):
        machine.receive(bytes, now: now)
        if doubt.receive(bytes, frames: UInt64(machine.counts.frames)) {
          note(
            "most of this is not text: check the rate, now \(options.serial.bitsPerSecond) baud; ESP32 chips print boot "
              + "text at 115200 (-b 115200), with a 26 MHz crystal at 74880")
        }
        monitor.noteTaken(bytes.count)
      case .lost(let reason):
        machine.portLost(reason: reason, now: now)
        note("\(port): \(reason)\(options.reconnects ? "; waiting for it to return" : "")")
      case .waiting(let reason): note(reason)
      }
    }

    private mutating func note(_ words: String) {
      Output.text(printer.lineBreak())
      Output.note(words)
    }

    private func timedOut() -> Ending {
      guard let failure = MonitorRun(options: options).timeoutFailure else {
        return .success(reason: "timeout", match: nil)
      }
      return .failure(reason: "timeout", match: nil, failure)
    }

    /// Prints the records of the machine, up to one that decides.
    private mutating func show() -> Ending? {
      var output = ""
      defer { Output.text(output) }
      while let record = machine.nextRecord() {
        decode(record)
        output += printer.output(for: record)
        if let notice = notices.note(on: record) { Output.note(notice) }
        switch judge.verdict(on: record) {
        case .done(let match)?:
          isDecided = true
          return .success(reason: "until", match: match)
        case .failed(let reason, let match, let failure)?:
          isDecided = true
          return .failure(reason: reason, match: match, failure)
        case nil: break
        }
      }
      return nil
    }

    private mutating func decode(_ record: MonitorRecord) {
      guard case .crash(let crash) = record.content, let decoder = options.decoder else { return }
      let decoded = decoder.frames(of: crash)
      printer.crashFrames = decoded.frames
      if let warning = decoded.warning { Output.note(warning) }
    }

    private mutating func arm() {
      guard let deadline = machine.nextDeadline else { return }
      let at = NIODeadline.uptimeNanoseconds(UInt64(clamping: deadline.nanoseconds))
      timer.arm(for: at, on: loop, fire: tick)
    }
  }
}
