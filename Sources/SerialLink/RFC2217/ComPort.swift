/// One message of the COM port option, in either direction. Source: RFC 2217, section 3.
package struct ComPortMessage: Hashable, Sendable {
  /// The kind of message.
  package enum Topic: UInt8, Hashable, Sendable, CaseIterable {
    case signature = 0
    case baudRate = 1
    case dataSize = 2
    case parity = 3
    case stopSize = 4
    case control = 5
    /// From the server only: the state of the line.
    case lineState = 6
    /// From the server only: the state of the modem lines.
    case modemState = 7
    case flowControlSuspend = 8
    case flowControlResume = 9
    case lineStateMask = 10
    case modemStateMask = 11
    case purge = 12
  }

  /// The sender; a server's codes are the client's plus this.
  static let serverOffset: UInt8 = 100

  package var isFromServer: Bool
  package var topic: Topic
  package var value: [UInt8]

  package init(_ topic: Topic, _ value: [UInt8], isFromServer: Bool) {
    self.topic = topic
    self.value = value
    self.isFromServer = isFromServer
  }

  /// Parses the content of a subnegotiation; nil if it has another option or an unknown topic.
  package init?(_ content: [UInt8]) {
    guard content.count >= 2, content[0] == Telnet.comPort else { return nil }
    let code = content[1]
    let isFromServer = code >= Self.serverOffset
    guard let topic = Topic(rawValue: isFromServer ? code - Self.serverOffset : code) else { return nil }
    self.init(topic, Array(content[2...]), isFromServer: isFromServer)
  }

  /// The whole subnegotiation, encoded for the wire.
  package var encoded: [UInt8] {
    let code = topic.rawValue + (isFromServer ? Self.serverOffset : 0)
    return Telnet.subnegotiation([Telnet.comPort, code] + value)
  }

  /// A big-endian number of four bytes; nil if the value is not one.
  package var number: UInt32? {
    guard value.count == 4 else { return nil }
    return value.reduce(0) { $0 << 8 | UInt32($1) }
  }

  /// The four bytes of a number, big-endian.
  package static func bytes(of number: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
  }
}

/// The values of SET-CONTROL. Source: RFC 2217, section 3, SET-CONTROL.
package enum ComPortControl: UInt8, Hashable, Sendable {
  case requestFlow = 0
  case noFlow = 1
  case softwareFlow = 2
  case hardwareFlow = 3
  case requestBreak = 4
  case breakOn = 5
  case breakOff = 6
  case requestDTR = 7
  case dtrOn = 8
  case dtrOff = 9
  case requestRTS = 10
  case rtsOn = 11
  case rtsOff = 12
  case requestInboundFlow = 13
  case noInboundFlow = 14
  case softwareInboundFlow = 15
  case hardwareInboundFlow = 16
  case dcdFlow = 17
  case dtrInboundFlow = 18
  case dsrFlow = 19

  /// The subject of a value: an answer has the same subject as its request, regardless of its
  /// value.
  package enum Subject: Hashable, Sendable {
    case flow
    case breakState
    case dtr
    case rts
    case inboundFlow
  }

  package var subject: Subject {
    switch self {
    case .requestFlow, .noFlow, .softwareFlow, .hardwareFlow, .dcdFlow, .dsrFlow: .flow
    case .requestBreak, .breakOn, .breakOff: .breakState
    case .requestDTR, .dtrOn, .dtrOff: .dtr
    case .requestRTS, .rtsOn, .rtsOff: .rts
    case .requestInboundFlow, .noInboundFlow, .softwareInboundFlow, .hardwareInboundFlow, .dtrInboundFlow:
      .inboundFlow
    }
  }
}

/// The values of PURGE-DATA. Source: RFC 2217, section 3, PURGE-DATA.
package enum ComPortPurge: UInt8, Hashable, Sendable {
  /// Bytes that the server has received and not passed on to the client.
  case received = 1
  /// Bytes that the server has not sent to the device yet.
  case unsent = 2
  case both = 3
}
