/// The client end of a serial port behind a telnet server: negotiates, configures the port, and
/// then passes data and commands.
///
/// States: *idle* → `start` → *negotiating* (asked for the COM port option) → *configuring* (rate
/// and format are set) → *open*; from these three to *closed* if the server refuses, is silent, or
/// the connection ends. Nothing is polled: a command is done when it is confirmed, and failed if it
/// is not confirmed within the timeout. Data does not wait for either. Time is a duration since an
/// arbitrary instant. Source: RFC 2217.
package struct RFC2217Client: Equatable, Sendable {
  /// Why a port could not be opened.
  package enum Refusal: Equatable, Sendable {
    /// The negotiation was not answered; this many bytes of data were received instead.
    case notNegotiated(dataBytes: Int)
    /// The server does not know the COM port option.
    case notOffered
    /// The rate or the format was not confirmed in time.
    case notConfigured
    /// The port does not support the rate; it runs at this one.
    case rateRefused(offered: UInt32?)
    /// The port does not support eight bits, no parity, one stop bit.
    case formatRefused
    /// The connection ended; the value is the server's last text, not sanitised.
    case ended(said: [UInt8])
  }

  /// Why a command was not executed.
  package enum Failure: Equatable, Sendable {
    /// The port is not open.
    case notOpen
    /// Too many commands wait for confirmation.
    case tooMany
    /// It was not confirmed in time.
    case unconfirmed
    /// An earlier command of this kind was not confirmed; this one was not sent.
    case unsupported
    /// The server confirmed a different value.
    case contradicted
    /// The port runs at this rate instead.
    case rateRefused(offered: UInt32?)
  }

  /// An action for the driver.
  package enum Action: Equatable, Sendable {
    case write([UInt8])
    /// Bytes from the device.
    case deliver([UInt8])
    case opened
    case refuse(Refusal)
    case completed(Int)
    case failed(Int, Failure)
    /// The server suspended the flow of data.
    case suspended
    case resumed
    /// Discard bytes that have not been written yet.
    case discardOutput
  }

  enum State: Equatable, Sendable {
    case idle
    case negotiating(deadline: Duration)
    case configuring
    case open
    case closed
  }

  /// An expected answer: its topic, subject and value.
  struct Expected: Equatable, Sendable {
    var topic: ComPortMessage.Topic
    var subject: ComPortControl.Subject?
    var value: [UInt8]
  }

  /// A request that waits for confirmations.
  struct Pending: Equatable, Sendable {
    enum Purpose: Equatable, Sendable {
      /// Rate and format of the port that is being opened.
      case configuration
      case command(LineCommand, id: Int)
    }

    var purpose: Purpose
    var expected: [Expected]
    var deadline: Duration
  }

  /// Whether the server confirms commands to modem lines and break.
  enum Control: Equatable, Sendable {
    case unknown
    case confirmed
    case silent
  }

  /// Commands that may wait for their confirmations.
  package static let pendingLimit = 64
  /// Bytes of the device kept until the port is open, at most.
  package static let earlyLimitBytes = 65_536
  /// Bytes kept of a server's last text, at most.
  static let lastWordsLimitBytes = 120
  let options: RFC2217Options
  let bitsPerSecond: UInt32
  var state = State.idle
  var decoder = TelnetDecoder()
  var pending: [Pending] = []
  var control = Control.unknown
  var actions: [Action] = []
  /// How many actions have been taken; they are removed together, because a flood causes thousands.
  private var takenCount = 0
  /// Bytes received before the port was open.
  var early: [UInt8] = []
  var isSuspended = false
  /// The options that were answered, so that each is answered once.
  var answered: Set<UInt16> = []
  /// The server's modem lines, as in NOTIFY-MODEMSTATE.
  package internal(set) var modemState: UInt8 = 0

  /// - Parameter bitsPerSecond: the rate set when the port is opened. 1 or more.
  package init(bitsPerSecond: UInt32, options: RFC2217Options) {
    self.bitsPerSecond = bitsPerSecond
    self.options = options
  }

  // MARK: Inputs

  /// Takes bytes from the server.
  package mutating func receive(_ bytes: [UInt8], now: Duration) {
    guard state != .closed, state != .idle else { return }
    for event in decoder.decode(bytes) {
      switch event {
      case .data(let data): receiveData(data)
      case .negotiation(let verb, let option): negotiate(verb, option, now: now)
      case .subnegotiation(let content):
        guard let message = ComPortMessage(content), message.isFromServer else { break }
        receive(message, now: now)
      case .oversized, .command: break
      }
    }
  }

  /// Takes the current time.
  package mutating func handleTimeout(now: Duration) {
    if case .negotiating(let deadline) = state, now >= deadline {
      refuse(.notNegotiated(dataBytes: early.count))
    }
    while let index = pending.firstIndex(where: { $0.deadline <= now }) {
      let late = pending.remove(at: index)
      switch late.purpose {
      case .configuration: refuse(.notConfigured)
      case .command(_, let id):
        if late.isControl, control == .unknown { control = .silent }
        actions.append(.failed(id, .unconfirmed))
      }
    }
  }

  /// The connection has ended.
  package mutating func end() {
    switch state {
    case .negotiating, .configuring: refuse(.ended(said: Array(early.prefix(Self.lastWordsLimitBytes))))
    case .idle, .open, .closed: state = .closed
    }
  }

  // MARK: Commands

  /// The connection is established: requests the options.
  package mutating func start(now: Duration) {
    guard state == .idle else { return }
    state = .negotiating(deadline: now + options.timeout)
    let wanted: [(TelnetVerb, UInt8)] = [
      (.will, Telnet.binary), (.do, Telnet.binary), (.will, Telnet.suppressGoAhead),
      (.do, Telnet.suppressGoAhead), (.will, Telnet.comPort),
    ]
    actions.append(.write(wanted.flatMap { Telnet.negotiation($0.0, $0.1) }))
    for (verb, option) in wanted { answered.insert(Self.key(verb, option)) }
  }

  /// Executes a line command; `.completed` or `.failed` with this id follows. `id` 0 or more.
  package mutating func submit(_ command: LineCommand, id: Int, now: Duration) {
    guard state == .open else { return actions.append(.failed(id, .notOpen)) }
    guard pending.count < Self.pendingLimit else { return actions.append(.failed(id, .tooMany)) }
    let requests = command.requests
    let isControl = requests.contains { $0.topic == .control }
    if isControl, options.confirmsControl, control == .silent {
      return actions.append(.failed(id, .unsupported))
    }
    if case .purgeOutput = command { actions.append(.discardOutput) }
    actions.append(.write(requests.flatMap(\.encoded)))
    guard !isControl || options.confirmsControl else { return actions.append(.completed(id)) }
    pending.append(
      Pending(
        purpose: .command(command, id: id), expected: requests.map(Expected.init),
        deadline: now + options.timeout))
  }

  // MARK: Outputs

  /// The next action; nil if nothing is due.
  package mutating func nextAction() -> Action? {
    guard takenCount < actions.count else {
      actions = []
      takenCount = 0
      return nil
    }
    takenCount += 1
    return actions[takenCount - 1]
  }

  /// When to call `handleTimeout`.
  package var nextDeadline: Duration? {
    var earliest = pending.map(\.deadline).min()
    if case .negotiating(let deadline) = state { earliest = min(earliest ?? deadline, deadline) }
    return earliest
  }

  // MARK: Queries

  package var isOpen: Bool { state == .open }

  /// Whether data passes unchanged as long as there is no IAC in it.
  package var isTransparent: Bool { state == .open && decoder.isBetweenCommands && !isPurging }

  /// Whether bytes received now were sent before the server discarded its buffer.
  var isPurging: Bool {
    pending.contains { waiting in
      switch waiting.purpose {
      case .command(.purgeInput, _): true
      case .command, .configuration: false
      }
    }
  }

  // MARK: Received commands

  private mutating func receiveData(_ data: [UInt8]) {
    switch state {
    case .open: if !isPurging { actions.append(.deliver(data)) }
    case .negotiating, .configuring:
      guard early.count + data.count <= Self.earlyLimitBytes else {
        return refuse(.notNegotiated(dataBytes: early.count + data.count))
      }
      early += data
    case .idle, .closed: break
    }
  }

  /// Each request is answered once, and a reply to our own request is not answered at all: so the
  /// two ends cannot loop.
  private mutating func negotiate(_ verb: TelnetVerb, _ option: UInt8, now: Duration) {
    if option == Telnet.comPort, case .negotiating = state {
      switch verb {
      case .do, .will: configure(now: now)
      case .dont: refuse(.notOffered)
      // We did not request it.
      case .wont: break
      }
    }
    let isWanted = [Telnet.binary, Telnet.suppressGoAhead, Telnet.comPort].contains(option)
    let answer: TelnetVerb =
      switch verb {
      case .do: isWanted ? .will : .wont
      case .will: isWanted || option == Self.echo ? .do : .dont
      case .dont: .wont
      case .wont: .dont
      }
    guard answered.insert(Self.key(answer, option)).inserted, state != .closed else { return }
    // Refusing an option that is not in use changes nothing.
    guard verb == .do || verb == .will else { return }
    actions.append(.write(Telnet.negotiation(answer, option)))
  }

  /// A server that echoes does so instead of a terminal; on a serial line this has no meaning, and
  /// some servers insist on it.
  private static let echo: UInt8 = 1

  private static func key(_ verb: TelnetVerb, _ option: UInt8) -> UInt16 {
    UInt16(verb.rawValue) << 8 | UInt16(option)
  }

  private mutating func configure(now: Duration) {
    state = .configuring
    let requests =
      LineCommand.rate(bitsPerSecond).requests + [
        ComPortMessage(.dataSize, [8], isFromServer: false),
        ComPortMessage(.parity, [1], isFromServer: false),
        ComPortMessage(.stopSize, [1], isFromServer: false),
      ]
    // The confirmation is not awaited: a server with a port without modem lines can ignore every
    // SET-CONTROL.
    let flow = ComPortMessage(.control, [ComPortControl.noFlow.rawValue], isFromServer: false)
    actions.append(.write((requests + [flow]).flatMap(\.encoded)))
    pending.append(
      Pending(
        purpose: .configuration, expected: requests.map(Expected.init), deadline: now + options.timeout))
  }

  private mutating func receive(_ message: ComPortMessage, now: Duration) {
    switch message.topic {
    case .baudRate, .dataSize, .parity, .stopSize, .control, .purge: settle(message)
    case .modemState: if let state = message.value.first { modemState = state }
    case .flowControlSuspend: suspend(true)
    case .flowControlResume: suspend(false)
    case .signature, .lineState, .lineStateMask, .modemStateMask: break
    }
  }

  private mutating func suspend(_ suspends: Bool) {
    guard suspends != isSuspended else { return }
    isSuspended = suspends
    actions.append(suspends ? .suspended : .resumed)
  }

  private mutating func settle(_ message: ComPortMessage) {
    let answer = Expected(message)
    if answer.topic == .control, answer.subject != .flow { control = .confirmed }
    func fits(_ expected: Expected) -> Bool {
      expected.topic == answer.topic && expected.subject == answer.subject
    }
    guard let index = pending.firstIndex(where: { $0.expected.contains(where: fits) }),
      let position = pending[index].expected.firstIndex(where: fits)
    else { return }
    let expected = pending[index].expected.remove(at: position)
    let isRate = message.topic == .baudRate
    switch (pending[index].purpose, expected.value == answer.value) {
    case (.configuration, false):
      refuse(isRate ? .rateRefused(offered: message.number) : .formatRefused)
    case (.command(_, let id), false):
      pending.remove(at: index)
      actions.append(.failed(id, isRate ? .rateRefused(offered: message.number) : .contradicted))
    case (.configuration, true) where pending[index].expected.isEmpty:
      pending.remove(at: index)
      open()
    case (.command(_, let id), true) where pending[index].expected.isEmpty:
      pending.remove(at: index)
      actions.append(.completed(id))
    case (_, true): break
    }
  }

  private mutating func open() {
    state = .open
    actions.append(.opened)
    if !early.isEmpty { actions.append(.deliver(early)) }
    early = []
  }

  private mutating func refuse(_ reason: Refusal) {
    state = .closed
    pending = []
    early = []
    actions.append(.refuse(reason))
  }
}

extension RFC2217Client.Pending {
  /// Whether it drives modem lines or break.
  var isControl: Bool { expected.contains { $0.topic == .control } }
}

extension RFC2217Client.Expected {
  /// The answer that confirms a request, or the same form of a received answer.
  init(_ message: ComPortMessage) {
    topic = message.topic
    value = message.value
    subject =
      message.topic == .control
      ? message.value.first.flatMap(ComPortControl.init).map(\.subject) : nil
  }
}

extension LineCommand {
  /// The requests for this command, in order. DTR comes first if it is to be asserted, and last if
  /// it is to be released: so RTS without DTR, which holds a board in reset, is never an
  /// intermediate state.
  var requests: [ComPortMessage] {
    func control(_ value: ComPortControl) -> ComPortMessage {
      ComPortMessage(.control, [value.rawValue], isFromServer: false)
    }
    func purge(_ value: ComPortPurge) -> ComPortMessage {
      ComPortMessage(.purge, [value.rawValue], isFromServer: false)
    }
    switch self {
    case .rate(let rate):
      return [ComPortMessage(.baudRate, ComPortMessage.bytes(of: rate), isFromServer: false)]
    case .lines(let lines):
      let dtr = control(lines.dtr ? .dtrOn : .dtrOff)
      let rts = control(lines.rts ? .rtsOn : .rtsOff)
      return lines.dtr ? [dtr, rts] : [rts, dtr]
    case .breakState(let isOn): return [control(isOn ? .breakOn : .breakOff)]
    case .purgeInput: return [purge(.received)]
    case .purgeOutput: return [purge(.unsent)]
    }
  }
}
