import Console
import NIOCore
import NotibotHost
import NotibotProtocol
import SerialLink

/// The machine and its outputs; used by one task.
struct MonitorSession {
  enum Ending {
    case success(reason: String, match: String?)
    case failure(reason: String, match: String?, Failure)
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
  private var reset: MonitorOptions.Reset
  /// In bits per second.
  var rate: UInt32
  private var search: RateSearch
  private var notices: ConsoleNotices
  private let unlockedUsers = UnlockedUsers()
  /// Whether the port has been open.
  private var hasOpened = false
  /// Whether a record has decided the end.
  private var isDecided = false
  /// Bytes that were received after that.
  private var ignoredBytes = 0
  /// What is being decoded, the oldest first; it is printed then.
  private var undecoded: [CrashDecoder.Question] = []
  /// A device that crashes again and again does not fill the memory.
  private static let undecodedLimit = 8
  /// Addresses of lines that belong to no report, and are not being decoded yet; none twice.
  private var addresses: [UInt32] = []
  private var isDecodingAddresses = false
  private static let addressesLimit = 1024
  private let decode: @Sendable (CrashDecoder.Question) -> Void
  private var timer = DriverTimer()

  init(
    _ options: MonitorOptions, _ judge: MonitorJudge, _ monitor: PortMonitor, _ log: MonitorLog,
    _ loop: any EventLoop, until end: ContinuousClock.Instant?,
    decode: @escaping @Sendable (CrashDecoder.Question) -> Void,
    emit: @escaping @Sendable (MonitorRun.Input) -> Void
  ) {
    (self.options, self.judge, self.monitor, self.log, self.loop) = (options, judge, monitor, log, loop)
    (self.end, self.decode, self.emit) = (end, decode, emit)
    rate = options.serial.bitsPerSecond
    search = RateSearch(rate: rate, maySearch: options.searchesRate)
    (linesToSend, reset) = (options.linesToSend, options.reset)
    printer = MonitorPrinter(options)
    notices = ConsoleNotices(options)
    Output.text(printer.opening(at: .current))
  }

  /// Handles an event; returns the reason if it ends the run.
  mutating func handle(_ input: MonitorRun.Input, at now: Instant) -> Ending? {
    var ending: Ending?
    switch input {
    case .port(let event): ending = handle(event, at: now)
    case .decoded(let decoded): printOldest(decoded)
    case .portEnded(let error):
      machine.finish(now: now)
      let failure =
        error.map(Failure.init)
        ?? Failure(
          .linkLost, "\(port): the device was disconnected", remedy: "check the cable and the power supply")
      ending = .failure(reason: error == nil ? "lost" : "notOpened", match: nil, failure)
    case .keys(.keys(let bytes)): monitor.write(bytes)
    case .keys(.command(.leave)): ending = .success(reason: "keys", match: nil)
    case .keys(.command(.flash)) where !options.images.isEmpty: ending = .flash
    case .keys(.command(let command)): perform(command)
    case .keys(.unknown): printNote("there is no such command: Ctrl-T h shows them")
    case .note(let words): printNote(words)
    case .saveFailed(let failure): ending = .failure(reason: "save", match: nil, failure)
    case .resetFailed(let failure): ending = .failure(reason: "reset", match: nil, failure)
    case .timeout: ending = timedOut()
    case .tick:
      if timer.fires(on: loop) { machine.handleTimeout(now: now) }
    }
    let decided = isDecided ? nil : show()
    arm()
    return decided ?? ending
  }

  /// Prints the remaining records and ends. Returns whether to write the images of --flash.
  mutating func end(_ ending: Ending) throws -> Bool {
    timer.cancel()
    let now = Instant.current
    var ending = ending
    machine.finish(now: now)
    // Records that are still in the machine can change the decision, but not that of a line; what
    // was received before that is printed.
    if let decided = show() { ending = decided }
    // One limit for all of them.
    let limit = min(self.end ?? .now + CrashDecoder.limit, .now + CrashDecoder.limit)
    while let question = undecoded.first { printOldest(options.decoder?.answer(question, until: limit)) }
    if printer.hiddenLines > 0, !options.isJSON { printNote("\(printer.hiddenLines) lines were not printed") }
    switch ending {
    case .flash:
      Output.text(printer.lineBreak())
      return true
    case .success(let reason, let match):
      Output.text(
        printer.closing(reason, match: match, counts: machine.counts, ignoredBytes: ignoredBytes, at: now))
      return false
    case .failure(let reason, let match, let failure):
      Output.text(
        printer.closing(reason, match: match, counts: machine.counts, ignoredBytes: ignoredBytes, at: now))
      throw failure
    }
  }

  private var port: String { options.port.description.printable }

  private mutating func handle(_ event: PortMonitor.Event, at now: Instant) -> Ending? {
    switch event {
    case .opened(let port):
      hasOpened = true
      machine.portOpened(port, now: now)
      let leaving =
        options.takesKeys
        ? "Ctrl-] exits, Ctrl-T h shows commands, other keys go to the device" : "press Ctrl-C to exit"
      printNote("\(port.printable) is open at \(rate) baud; \(leaving)")
      if let warning = unlockedUsers.warning(for: port) { printNote(warning) }
      if reset != .none { reset(into: .app, isRequired: reset == .required) }
      reset = .none
      linesToSend.forEach { monitor.write(Array("\($0)\n".utf8)) }
      linesToSend = []
    case .bytes(let bytes):
      defer { monitor.markConsumed(bytes.count) }
      if let ending = read(bytes, at: now) { return ending }
      if let step = search.receive(bytes, isUnderstood: machine.isUnderstood) { handle(step) }
    case .lost(let reason):
      machine.portLost(reason: reason, now: now)
      printNote("\(port): \(reason)\(options.reconnects ? "; waiting for it to return" : "")")
    case .waiting(let reason): printNote(reason)
    }
    return nil
  }

  /// Takes bytes line by line if a line can decide the end: what comes after it is not interpreted.
  private mutating func read(_ bytes: [UInt8], at now: Instant) -> Ending? {
    guard judge.canDecide else {
      machine.receive(bytes, now: now)
      return nil
    }
    var output = ""
    defer { Output.text(output) }
    var rest = bytes[...]
    while !rest.isEmpty {
      let end = rest.firstIndex { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") || $0 == 0 }
      let piece = rest[..<(end.map { $0 + 1 } ?? rest.endIndex)]
      machine.receive(Array(piece), now: now)
      rest = rest[piece.endIndex...]
      if let ending = show(&output) {
        ignoredBytes = rest.count
        return ending
      }
    }
    return nil
  }

  mutating func printNote(_ words: String) {
    Output.text(printer.lineBreak())
    Output.note(words)
  }

  private mutating func handle(_ step: RateSearch.Step) {
    switch step {
    case .doubt:
      printNote(
        "most of this is not text: check the rate, now \(rate) baud; ESP32 chips print boot text at 115200 "
          + "(-b 115200), with a 26 MHz crystal at 74880")
    case .otherEncoding:
      printNote("this is text in another encoding than UTF-8: bytes that are not ASCII are shown as numbers")
    case .attempt(let next):
      printNote("most of this is not text at \(rate) baud; trying \(next)")
      set(rate: next)
    case .found(let found): printNote("this is text: continuing at \(found) baud (-b \(found))")
    case .giveUp(let first):
      printNote("no common rate gives text; continuing at \(first) baud")
      set(rate: first)
    }
  }

  mutating func set(rate next: UInt32) {
    rate = next
    monitor.setRate(next) { [emit] in emit(.note($0.description)) }
  }

  private func timedOut() -> Ending {
    guard hasOpened else {
      let failure = Failure(
        .noAnswer, "\(port): not open within the time limit",
        remedy: "check what serves this port, or increase --timeout")
      return .failure(reason: "timeout", match: nil, failure)
    }
    guard let failure = MonitorRun(options: options).timeoutFailure else {
      return .success(reason: "timeout", match: nil)
    }
    return .failure(reason: "timeout", match: nil, failure)
  }

  /// Prints the records of the machine. Returns the first decision.
  private mutating func show() -> Ending? {
    var output = ""
    defer { Output.text(output) }
    return show(&output)
  }

  private mutating func show(_ output: inout String) -> Ending? {
    var ending: Ending?
    while let record = machine.nextRecord() {
      let decided = isDecided ? nil : self.ending(at: record)
      isDecided = isDecided || decided != nil
      ending = ending ?? decided
      if record.content.report != nil, let decoder = options.decoder {
        guard decided != nil || undecoded.count >= Self.undecodedLimit else {
          // The text behind it is not delayed.
          ask(.report(record))
          continue
        }
        // What the device has printed is not lost if the decoding is interrupted.
        Output.text(output)
        output = ""
        print(.report(record), decided == nil ? nil : decoder.answer(.report(record), until: end))
        continue
      }
      let text = printer.output(for: record)
      output += text
      if !text.isEmpty { askForAddresses(in: record) }
      if let notice = notices.notice(on: record) { Output.note(notice) }
    }
    return ending
  }

  private func ending(at record: MonitorRecord) -> Ending? {
    switch judge.verdict(on: record) {
    case .done(let match)?: .success(reason: "until", match: match)
    case .failed(let reason, let match, let failure)?: .failure(reason: reason, match: match, failure)
    case nil: nil
    }
  }

  // MARK: Functions

  private mutating func ask(_ question: CrashDecoder.Question) {
    undecoded.append(question)
    decode(question)
  }

  /// Those of a whole line that is no part of a report. What comes while others are being decoded
  /// is decoded next, all at once.
  private mutating func askForAddresses(in record: MonitorRecord) {
    guard options.decoder != nil, case .text(let line) = record.content, !line.isInCrash, line.end != .silence
    else { return }
    let wasFull = addresses.count == Self.addressesLimit
    for address in Crash.addresses(in: line.bytes)
    where !addresses.contains(address) && addresses.count < Self.addressesLimit {
      addresses.append(address)
    }
    if !wasFull, addresses.count == Self.addressesLimit {
      emit(.note("more than \(Self.addressesLimit) addresses wait to be decoded: not all of them are"))
    }
    askForNextAddresses(at: record.at)
  }

  private mutating func askForNextAddresses(at moment: Instant) {
    guard !isDecodingAddresses, !addresses.isEmpty else { return }
    isDecodingAddresses = true
    ask(.addresses(Array(addresses.prefix(Crash.addressesLimit)), at: moment))
    addresses.removeFirst(min(Crash.addressesLimit, addresses.count))
  }

  private mutating func printOldest(_ decoded: CrashDecoder.Decoded?) {
    guard !undecoded.isEmpty else { return }
    print(undecoded.removeFirst(), decoded)
  }

  /// Prints a report with its functions, or those of a line.
  private mutating func print(_ question: CrashDecoder.Question, _ decoded: CrashDecoder.Decoded?) {
    switch question {
    case .report(let record):
      printer.crashFrames = decoded?.frames ?? []
      if let warning = decoded?.warning { Output.note(warning) }
      Output.text(printer.output(for: record))
    case .addresses(_, let moment):
      Output.text(printer.functions(decoded?.frames ?? [], at: moment))
      isDecodingAddresses = false
      askForNextAddresses(at: moment)
    }
  }

  private mutating func arm() {
    guard let deadline = machine.nextDeadline else { return }
    let at = NIODeadline.uptimeNanoseconds(UInt64(clamping: deadline.nanoseconds))
    timer.arm(for: at, on: loop) { [emit] in emit(.tick) }
  }
}
