import NIOCore
import NIOPosix
import NotibotHost
import NotibotProtocol
import SerialLink

/// One run of `notibot monitor`: what comes from port, keyboard and clock passes through one stream, in order.
struct MonitorRun: Sendable {
  private enum Input: Sendable {
    case port(PortMonitor.Event)
    /// The port is open no more, and will not be again; the error is that of the first attempt.
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

  /// Watches until there is a reason to end; throws `CommandFailure` unless it is a good one.
  func perform() async throws {
    let judge = try MonitorJudge(options)
    let save = try options.save.map { try OutputFile(path: $0) }
    if let limit = options.timeout { Interruption.end(after: limit, with: timeoutFailure) }
    let (inputs, sink) = AsyncStream<Timed>.makeStream()
    let tell: @Sendable (Input) -> Void = { sink.yield(Timed(at: .current, input: $0)) }
    let monitor = PortMonitor(
      options.port, options: options.serial,
      keep: { if let failure = save?.write($0) { tell(.saveFailed(failure)) } },
      report: { tell(.port($0)) })
    let keys = options.takesKeys ? MonitorKeys { tell(.keys($0)) } : nil
    defer { keys?.end() }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let end = options.timeout.map { ContinuousClock.now + $0 }
    let timeout = options.timeout.map { limit in
      loop.scheduleTask(in: TimeAmount(limit)) { tell(.timeout) }
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
        // An interruption closes the port too, and is no loss of it.
        if !Task.isCancelled { tell(.portEnded(failure)) }
      }
      defer { group.cancelAll() }
      var session = Session(options, judge, monitor, loop) { tell(.tick) }
      for await input in inputs {
        if let ending = session.take(input.input, at: input.at) { return try session.end(ending) }
        // What a device that sends without a pause has put in front of the signal or the timeout is not waited for.
        if Task.isCancelled { break }
        if let end, ContinuousClock.now >= end, let ending = session.take(.timeout, at: .current) {
          return try session.end(ending)
        }
      }
      // Interrupted.
      try session.end(.success(reason: "interrupted", match: nil))
    }
  }

  /// What the end of the time means; `nil`: nothing was waited for.
  private var timeoutFailure: CommandFailure? {
    options.until.map { until in
      CommandFailure(
        .noAnswer,
        "\(options.port.description.printable): nothing that matches "
          + "'\(until.prefix(80).description.printable)' came in time",
        remedy: "see what came, or wait longer with --timeout")
    }
  }

  /// The machine and those who hang on it; one task's own.
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
    /// Whether a record has said how this ends.
    private var isDecided = false
    private var armed: (deadline: Instant, timer: Scheduled<Void>)?

    init(
      _ options: MonitorOptions, _ judge: MonitorJudge, _ monitor: PortMonitor, _ loop: any EventLoop,
      tick: @escaping @Sendable () -> Void
    ) {
      (self.options, self.judge, self.monitor, self.loop) = (options, judge, monitor, loop)
      self.tick = tick
      linesToSend = options.linesToSend
      printer = MonitorPrinter(options)
      Output.text(printer.opening(at: .current))
    }

    /// Takes what happened; returns why that is the end, if it is.
    mutating func take(_ input: Input, at now: Instant) -> Ending? {
      var ending: Ending?
      switch input {
      case .port(let event): take(event, at: now)
      case .portEnded(let error):
        machine.finish(now: now)
        let failure =
          error.map(CommandFailure.init)
          ?? CommandFailure(
            .linkLost, "\(port): the device went away", remedy: "check the cable and the supply")
        ending = .failure(reason: error == nil ? "lost" : "notOpened", match: nil, failure)
      case .keys(.keys(let bytes)): monitor.write(bytes)
      case .keys(.leave): ending = .success(reason: "keys", match: nil)
      case .saveFailed(let failure): ending = .failure(reason: "save", match: nil, failure)
      case .timeout: ending = timedOut()
      case .tick:
        armed = nil
        machine.handleTimeout(now: now)
      }
      let decided = show()
      arm()
      return decided ?? ending
    }

    /// Hands out the rest and ends.
    mutating func end(_ ending: Ending) throws {
      armed?.timer.cancel()
      let now = Instant.current
      var ending = ending
      machine.finish(now: now)
      // What waits in the machine may decide otherwise; what came after a line that decided was not waited for.
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
        let leaving = options.takesKeys ? "Ctrl-] leaves, all other keys go to the device" : "Ctrl-C ends it"
        note("\(port.printable) is open at \(options.serial.bitsPerSecond) baud; \(leaving)")
        linesToSend.forEach { monitor.write(Array("\($0)\n".utf8)) }
        linesToSend = []
      case .bytes(let bytes):
        machine.receive(bytes, now: now)
        if doubt.receive(bytes, frames: UInt64(machine.counts.frames)) {
          note(
            "most of this is not text: check the rate, which is \(options.serial.bitsPerSecond) baud; boot text of "
              + "ESP32 chips comes at 115200 (-b 115200), at 74880 with a 26 MHz crystal")
        }
        monitor.noteTaken(bytes.count)
      case .lost(let reason):
        machine.portLost(reason: reason, now: now)
        note("\(port): \(reason)\(options.reconnects ? "; waiting for it" : "")")
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

    /// Prints what the machine has; what decides is the last that is printed.
    private mutating func show() -> Ending? {
      var output = ""
      defer { Output.text(output) }
      while let record = machine.nextRecord() {
        output += printer.output(for: record)
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

    private mutating func arm() {
      guard let deadline = machine.nextDeadline else { return }
      // One that fires early finds nothing due, which costs less than a change at each line.
      if let armed, armed.deadline <= deadline { return }
      armed?.timer.cancel()
      let at = NIODeadline.uptimeNanoseconds(UInt64(max(0, deadline.nanoseconds)))
      armed = (deadline, loop.scheduleTask(deadline: at) { [tick] in tick() })
    }
  }
}
