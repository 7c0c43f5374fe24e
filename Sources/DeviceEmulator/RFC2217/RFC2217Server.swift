import DequeModule
package import SerialLink

/// The remote end of a telnet connection that carries a serial port: answers the client's commands
/// and passes them on.
///
/// Every command of RFC 2217 is answered with the setting in use, which is 8N1 without flow control
/// whatever was requested. Inputs: `receive`; commands: `start`, `setModemState`; output:
/// `nextAction`. Each answer is as long as its request or shorter than 12 bytes, and the driver
/// stops reading while answers are not taken. Source: RFC 2217.
package struct RFC2217Server: Equatable, Sendable {
  /// The actions for the driver, in this order.
  package enum Action: Equatable, Sendable {
    case write([UInt8])
    /// Bytes for the device.
    case deliver([UInt8])
    /// The client changes the line; the answer follows.
    case perform(LineCommand)
    /// Whether the client accepts no bytes for now.
    case suspend(Bool)
  }

  /// The signature that a client gets on request.
  static let signature = "Notibot emulator"
  /// The options that this side accepts.
  private static let offered: Set<UInt8> = [Telnet.binary, Telnet.suppressGoAhead, Telnet.comPort]

  /// The lines as the client drives them; a driver that opens a port asserts both.
  package private(set) var lines = ModemLines(dtr: true, rts: true)
  private var decoder = TelnetDecoder()
  private var actions: Deque<Action> = []
  private var bitsPerSecond: UInt32
  private var isBreaking = false
  private var isComPort = false
  private var modemState: UInt8
  private var modemStateMask: UInt8 = 255
  /// Options that were already negotiated, with the answer to each.
  private var sent: Set<UInt16> = []

  /// - Parameters:
  ///   - bitsPerSecond: the initial rate. 1 or more.
  ///   - modemState: the lines that the device drives, as in NOTIFY-MODEMSTATE: bit 7 CD, 6 RI, 5
  ///     DSR, 4 CTS.
  package init(bitsPerSecond: UInt32, modemState: UInt8) {
    self.bitsPerSecond = bitsPerSecond
    self.modemState = modemState & 0xF0
  }

  // MARK: Inputs

  /// Takes bytes from the client.
  package mutating func receive(_ bytes: [UInt8]) {
    for event in decoder.decode(bytes) {
      switch event {
      case .data(let data): actions.append(.deliver(data))
      case .negotiation(let verb, let option): negotiate(verb, option)
      case .subnegotiation(let content):
        guard let message = ComPortMessage(content), !message.isFromServer else { break }
        answer(message)
      case .oversized, .command: break
      }
    }
  }

  // MARK: Commands

  /// A client has connected.
  package mutating func start() {
    for (verb, option): (TelnetVerb, UInt8) in [
      (.will, Telnet.binary), (.do, Telnet.binary), (.will, Telnet.suppressGoAhead),
      (.do, Telnet.suppressGoAhead), (.do, Telnet.comPort),
    ] { sendOnce(verb, option) }
  }

  /// Sets the device's modem lines; the client is notified of the changes that its mask selects.
  package mutating func setModemState(_ state: UInt8) {
    let changes = (state ^ modemState) & 0xF0
    modemState = state & 0xF0
    guard changes & modemStateMask != 0, isComPort else { return }
    notify(deltas: changes >> 4)
  }

  // MARK: Outputs

  /// The next action; nil if there is none.
  package mutating func nextAction() -> Action? {
    actions.popFirst()
  }

  // MARK: Options

  private mutating func negotiate(_ verb: TelnetVerb, _ option: UInt8) {
    let isOffered = Self.offered.contains(option)
    switch verb {
    case .do: sendOnce(isOffered ? .will : .wont, option)
    case .will: sendOnce(isOffered ? .do : .dont, option)
    // A client is free to give up an option; nothing here depends on it.
    case .dont, .wont: break
    }
    guard option == Telnet.comPort, verb == .will || verb == .do, !isComPort else { return }
    isComPort = true
    notify(deltas: 0)
  }

  /// Sends a negotiation once, so that a client that repeats its request causes no traffic.
  private mutating func sendOnce(_ verb: TelnetVerb, _ option: UInt8) {
    guard sent.insert(UInt16(verb.rawValue) << 8 | UInt16(option)).inserted else { return }
    actions.append(.write(Telnet.negotiation(verb, option)))
  }

  private mutating func notify(deltas: UInt8) {
    reply(.modemState, [(modemState | deltas) & modemStateMask])
  }

  private mutating func reply(_ topic: ComPortMessage.Topic, _ value: [UInt8]) {
    actions.append(.write(ComPortMessage(topic, value, isFromServer: true).encoded))
  }

  // MARK: The COM port

  private mutating func answer(_ message: ComPortMessage) {
    switch message.topic {
    case .signature:
      if message.value.isEmpty { reply(.signature, Array(Self.signature.utf8)) }
    case .baudRate:
      if let rate = message.number, rate > 0 {
        bitsPerSecond = rate
        actions.append(.perform(.rate(rate)))
      }
      reply(.baudRate, ComPortMessage.bytes(of: bitsPerSecond))
    case .dataSize: reply(.dataSize, [8])
    case .parity, .stopSize: reply(message.topic, [1])
    case .control: control(message.value.first)
    case .flowControlSuspend: actions.append(.suspend(true))
    case .flowControlResume: actions.append(.suspend(false))
    case .lineStateMask: reply(.lineStateMask, Array(message.value.prefix(1)))
    case .modemStateMask:
      modemStateMask = message.value.first ?? modemStateMask
      reply(.modemStateMask, [modemStateMask])
    case .purge: purge(message.value.first)
    case .lineState, .modemState: break
    }
  }

  private mutating func control(_ value: UInt8?) {
    guard let value, let request = ComPortControl(rawValue: value) else { return }
    switch request {
    case .breakOn, .breakOff:
      isBreaking = request == .breakOn
      actions.append(.perform(.breakState(isOn: isBreaking)))
    case .dtrOn, .dtrOff: drive(ModemLines(dtr: request == .dtrOn, rts: lines.rts))
    case .rtsOn, .rtsOff: drive(ModemLines(dtr: lines.dtr, rts: request == .rtsOn))
    case .requestFlow, .noFlow, .softwareFlow, .hardwareFlow, .requestBreak, .requestDTR, .requestRTS,
      .requestInboundFlow, .noInboundFlow, .softwareInboundFlow, .hardwareInboundFlow, .dcdFlow,
      .dtrInboundFlow, .dsrFlow:
      break
    }
    let state: ComPortControl =
      switch request.subject {
      case .flow: .noFlow
      case .inboundFlow: .noInboundFlow
      case .breakState: isBreaking ? .breakOn : .breakOff
      case .dtr: lines.dtr ? .dtrOn : .dtrOff
      case .rts: lines.rts ? .rtsOn : .rtsOff
      }
    reply(.control, [state.rawValue])
  }

  private mutating func drive(_ new: ModemLines) {
    lines = new
    actions.append(.perform(.lines(new)))
  }

  private mutating func purge(_ value: UInt8?) {
    guard let value, let purge = ComPortPurge(rawValue: value) else { return }
    switch purge {
    case .received: actions.append(.perform(.purgeInput))
    case .unsent: actions.append(.perform(.purgeOutput))
    case .both: actions += [.perform(.purgeInput), .perform(.purgeOutput)]
    }
    reply(.purge, [value])
  }
}
