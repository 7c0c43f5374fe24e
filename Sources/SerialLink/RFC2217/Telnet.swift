/// The verb of a telnet option command. Source: RFC 854.
package enum TelnetVerb: UInt8, Hashable, Sendable {
  /// The sender wants to use the option, or agrees to.
  case will = 251
  case wont = 252
  /// The receiver is asked or permitted to use the option.
  case `do` = 253
  case dont = 254
}

/// The bytes of telnet that a serial port behind one needs. Source: RFC 854, RFC 856, RFC 858, RFC
/// 2217.
package enum Telnet {
  /// Precedes every command; doubled, it is one byte of data.
  package static let iac: UInt8 = 255
  static let subnegotiationBegin: UInt8 = 250
  static let subnegotiationEnd: UInt8 = 240

  /// Eight-bit data, no translation of line ends.
  package static let binary: UInt8 = 0
  /// No half-duplex turns.
  package static let suppressGoAhead: UInt8 = 3
  package static let comPort: UInt8 = 44

  /// A request or an answer about an option.
  package static func negotiation(_ verb: TelnetVerb, _ option: UInt8) -> [UInt8] {
    [iac, verb.rawValue, option]
  }

  /// Data, encoded for the wire.
  package static func escaped(_ data: [UInt8]) -> [UInt8] {
    guard data.contains(iac) else { return data }
    var wire: [UInt8] = []
    wire.reserveCapacity(data.count + 8)
    for byte in data {
      wire.append(byte)
      if byte == iac { wire.append(iac) }
    }
    return wire
  }

  /// A subnegotiation, encoded for the wire. `content` begins with the option.
  package static func subnegotiation(_ content: [UInt8]) -> [UInt8] {
    [iac, subnegotiationBegin] + escaped(content) + [iac, subnegotiationEnd]
  }
}

/// An element of a telnet stream.
package enum TelnetEvent: Equatable, Sendable {
  /// Bytes of the line, one or more.
  case data([UInt8])
  case negotiation(TelnetVerb, option: UInt8)
  /// The option and its verb.
  case subnegotiation([UInt8])
  /// A subnegotiation that was too long, and was skipped.
  case oversized
  /// Any other command, such as NOP.
  case command(UInt8)
}

/// Splits a telnet stream into data and commands, regardless of read boundaries.
///
/// States: *data* → IAC → *command* → a verb → *option* → *data*; *command* → SB → *subnegotiation*
/// → IAC SE → *data*. A subnegotiation longer than `subnegotiationLimitBytes` is read to its end
/// and skipped; one that is interrupted by another command is skipped, too.
package struct TelnetDecoder: Equatable, Sendable {
  /// The longest accepted subnegotiation, in bytes; those of a COM port have at most 6, except for
  /// a signature.
  package static let subnegotiationLimitBytes = 256

  private enum State: Equatable, Sendable {
    case data
    case command
    case option(TelnetVerb)
    case subnegotiation
    case subnegotiationCommand
  }

  private var state = State.data
  private var content: [UInt8] = []
  private var isOversized = false

  package init() {}

  /// Whether the next byte is data, unless it is IAC.
  package var isBetweenCommands: Bool { state == .data }

  /// The events in the next bytes; at most one for each byte.
  package mutating func decode(_ bytes: [UInt8]) -> [TelnetEvent] {
    var events: [TelnetEvent] = []
    var data: [UInt8] = []
    var rest = bytes[...]
    while let byte = rest.first {
      guard state == .data else {
        rest = rest.dropFirst()
        receive(byte, &data, &events)
        continue
      }
      let end = rest.firstIndex(of: Telnet.iac) ?? rest.endIndex
      data += rest[..<end]
      rest = rest[end...].dropFirst()
      if end < bytes.endIndex { state = .command }
    }
    flush(&data, &events)
    return events
  }

  private mutating func receive(_ byte: UInt8, _ data: inout [UInt8], _ events: inout [TelnetEvent]) {
    switch state {
    case .data: data.append(byte)
    case .command:
      if byte == Telnet.iac {
        data.append(byte)
        state = .data
      } else {
        flush(&data, &events)
        begin(byte, &events)
      }
    case .option(let verb):
      events.append(.negotiation(verb, option: byte))
      state = .data
    case .subnegotiation:
      if byte == Telnet.iac { state = .subnegotiationCommand } else { collect(byte) }
    case .subnegotiationCommand:
      switch byte {
      case Telnet.iac:
        collect(byte)
        state = .subnegotiation
      case Telnet.subnegotiationEnd:
        events.append(isOversized ? .oversized : .subnegotiation(content))
        state = .data
      default: begin(byte, &events)
      }
    }
  }

  private mutating func begin(_ command: UInt8, _ events: inout [TelnetEvent]) {
    if let verb = TelnetVerb(rawValue: command) {
      state = .option(verb)
    } else if command == Telnet.subnegotiationBegin {
      content = []
      isOversized = false
      state = .subnegotiation
    } else {
      events.append(.command(command))
      state = .data
    }
  }

  private mutating func collect(_ byte: UInt8) {
    if content.count < Self.subnegotiationLimitBytes { content.append(byte) } else { isOversized = true }
  }

  private func flush(_ data: inout [UInt8], _ events: inout [TelnetEvent]) {
    guard !data.isEmpty else { return }
    events.append(.data(data))
    data = []
  }
}
