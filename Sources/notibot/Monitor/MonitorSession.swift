import NIOCore
import NotibotHost
import NotibotProtocol
import SerialLink

/// The machine and its outputs; used by one task.
struct MonitorSession {
  enum Ending {
    case success(reason: String, match: String?)
    case failure(reason: String, match: String?, CommandFailure)
    /// The port is needed for the images of --flash; the monitor continues afterwards.
    case flash
  }

  private let options: MonitorOptions
  private let judge: MonitorJudge
  let monitor: PortMonitor
  let log: MonitorLog
  let emit: @Sendable (MonitorRun.Input) -> Void
  private let loop: any EventLoop
  /// The end of the time limit.
  private let end: ContinuousClock.Instant?
  private var machine = MonitorMachine()
  var printer: MonitorPrinter
  private var linesToSend: [String]
  /// In bits per second.
  var rate: UInt32
  private var search: RateSearch
  private var notices: ConsoleNotices
  private let unlockedUsers = UnlockedUsers()
  /// Whether the port has been open.
  private var hasOpened = false
  /// Whether a record has decided the end.
  private var isDecided = false
  private var timer = DriverTimer()

  init(
    _ options: MonitorOptions, _ judge: MonitorJudge, _ monitor: PortMonitor, _ log: MonitorLog,
    _ loop: any EventLoop, until end: ContinuousClock.Instant?,
    emit: @escaping @Sendable (MonitorRun.Input) -> Void
  ) {
    (self.options, self.judge, self.monitor, self.log, self.loop) = (options, judge, monitor, log, loop)
    self.end = end
    self.emit = emit
    rate = options.serial.bitsPerSecond
    search = RateSearch(rate: rate, maySearch: options.searchesRate)
    linesToSend = options.linesToSend
    printer = MonitorPrinter(options)
    notices = ConsoleNotices(options)
    Output.text(printer.opening(at: .current))
  }

  /// Handles an event; returns the reason if it ends the run.
  mutating func take(_ input: MonitorRun.Input, at now: Instant) -> Ending? {
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
    case .keys(.command(.leave)): ending = .success(reason: "keys", match: nil)
    case .keys(.command(.flash)) where !options.images.isEmpty: ending = .flash
    case .keys(.command(let command)): perform(command)
    case .keys(.unknown): note("there is no such command: Ctrl-T h shows them")
    case .note(let words): note(words)
    case .saveFailed(let failure): ending = .failure(reason: "save", match: nil, failure)
    case .timeout: ending = timedOut()
    case .tick:
      if timer.fires(on: loop) { machine.handleTimeout(now: now) }
    }
    let decided = show()
    arm()
    return decided ?? ending
  }

  /// Prints the remaining records and ends. Returns whether to write the images of --flash.
  mutating func end(_ ending: Ending) throws -> Bool {
    timer.cancel()
    let now = Instant.current
    var ending = ending
    machine.finish(now: now)
    // Records that are still in the machine can change the decision; after a line that decided
    // they are dropped.
    if !isDecided, let decided = show() { ending = decided }
    switch ending {
    case .flash:
      Output.text(printer.lineBreak())
      return true
    case .success(let reason, let match):
      Output.text(printer.closing(reason, match: match, counts: machine.counts, at: now))
      return false
    case .failure(let reason, let match, let failure):
      Output.text(printer.closing(reason, match: match, counts: machine.counts, at: now))
      throw failure
    }
  }

  private var port: String { options.port.description.printable }

  private mutating func take(_ event: PortMonitor.Event, at now: Instant) {
    switch event {
    case .opened(let port):
      hasOpened = true
      machine.portOpened(port, now: now)
      let leaving =
        options.takesKeys
        ? "Ctrl-] exits, Ctrl-T h shows commands, other keys go to the device" : "press Ctrl-C to exit"
      note("\(port.printable) is open at \(rate) baud; \(leaving)")
      if let warning = unlockedUsers.warning(for: port) { note(warning) }
      linesToSend.forEach { monitor.write(Array("\($0)\n".utf8)) }
      linesToSend = []
    case .bytes(let bytes):
      machine.receive(bytes, now: now)
      if let step = search.receive(bytes, frames: UInt64(machine.counts.frames)) { take(step) }
      monitor.noteTaken(bytes.count)
    case .lost(let reason):
      machine.portLost(reason: reason, now: now)
      note("\(port): \(reason)\(options.reconnects ? "; waiting for it to return" : "")")
    case .waiting(let reason): note(reason)
    }
  }

  mutating func note(_ words: String) {
    Output.text(printer.lineBreak())
    Output.note(words)
  }

  private mutating func take(_ step: RateSearch.Step) {
    switch step {
    case .doubt:
      note(
        "most of this is not text: check the rate, now \(rate) baud; ESP32 chips print boot text at 115200 "
          + "(-b 115200), with a 26 MHz crystal at 74880")
    case .attempt(let next):
      note("most of this is not text at \(rate) baud; trying \(next)")
      set(rate: next)
    case .found(let found): note("this is text: continuing at \(found) baud (-b \(found))")
    case .giveUp(let first):
      note("no common rate gives text; continuing at \(first) baud")
      set(rate: first)
    }
  }

  mutating func set(rate next: UInt32) {
    rate = next
    monitor.setRate(next) { [emit] in emit(.note($0.description)) }
  }

  private func timedOut() -> Ending {
    guard hasOpened else {
      let failure = CommandFailure(
        .noAnswer, "\(port): not open within the time limit",
        remedy: "check what serves this port, or increase --timeout")
      return .failure(reason: "timeout", match: nil, failure)
    }
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
      if case .crash(let crash) = record.content, let decoder = options.decoder {
        // What the device has printed is not lost if the decoding is interrupted.
        Output.text(output)
        output = ""
        decode(crash, decoder)
      }
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

  private mutating func decode(_ crash: Crash, _ decoder: CrashDecoder) {
    let decoded = decoder.frames(of: crash, until: end)
    printer.crashFrames = decoded.frames
    if let warning = decoded.warning { Output.note(warning) }
  }

  private mutating func arm() {
    guard let deadline = machine.nextDeadline else { return }
    let at = NIODeadline.uptimeNanoseconds(UInt64(clamping: deadline.nanoseconds))
    timer.arm(for: at, on: loop) { [emit] in emit(.tick) }
  }
}
