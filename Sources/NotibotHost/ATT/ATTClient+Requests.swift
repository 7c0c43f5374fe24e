import NotibotProtocol

// Outgoing PDUs and their order: pipeline and barriers. Source: PROTOCOL.md ATT-6.
extension ATTClient {
  /// Opcode and handle of a Write Request.
  static let writeOverheadBytes = 3

  /// The next PDU that can be sent now, or `nil`.
  mutating func nextOutgoing(now: Instant) -> Outgoing? {
    while let next = waiting.first {
      switch (state, next.operation) {
      case (.down, _), (.preparing, .message): return nil
      case (.preparing, _) where next.id != nil: return nil
      case (.ready, .message(let payload)):
        waiting.removeFirst()
        return .message(payload)
      case (.preparing, _), (.ready, _): break
      }
      guard outstanding.count < bearer.requestsLimit, outstanding.last?.isBarrier != true else { return nil }
      guard let (operation, pdu) = prepare(next.operation) else {
        waiting.removeFirst()
        complete(next.id, .failed(.unsupported))
        continue
      }
      let opcode = pdu[0]
      let isBarrier = Self.isBarrier(opcode)
      if isBarrier, !outstanding.isEmpty { return nil }
      waiting.removeFirst()
      statistics.requests += 1
      if Self.isAnswered(opcode) {
        outstanding.append(
          Outstanding(id: next.id, operation: operation, opcode: opcode, isBarrier: isBarrier, sentAt: now))
      } else {
        complete(next.id, .sent)
      }
      return .pdu(pdu)
    }
    return nil
  }

  /// The operation in its next state, and its next PDU; `nil` if the device lacks an attribute that
  /// it needs.
  private func prepare(_ operation: Operation) -> (Operation, [UInt8])? {
    switch (operation, state) {
    case (.exchangeMTU, _): return (operation, ATTPDU.exchangeMTURequest(mtu: bearer.mtu).encoded())
    case (.discover(let discovery), _): return (operation, discovery.request.encoded())
    case (.raw(let pdu), _): return (operation, pdu)
    case (.writeLong(let write), _): return (operation, write.request.encoded())
    case (.readCount, .ready(let handles)):
      return (operation, ATTPDU.readRequest(handle: handles.count).encoded())
    case (.write(let pdu), .ready(let handles)):
      guard pdu.count <= mtu else {
        let value = Array(pdu[Self.writeOverheadBytes...])
        let write = LongWrite(handle: handles.data, value: value, mtu: mtu)
        return (.writeLong(write), write.request.encoded())
      }
      // Used once: the link keeps the bytes until they are acknowledged.
      guard handles.data != NotibotProfile.Handle.data else { return (.write(pdu: []), pdu) }
      let value = Array(pdu[Self.writeOverheadBytes...])
      return (.write(pdu: []), ATTPDU.writeRequest(handle: handles.data, value: value).encoded())
    case (.subscribe(let subscriptions), .ready(let handles)):
      let cccd = subscriptions.contains(.count) ? handles.countCCCD : handles.dataCCCD
      return cccd.map { (operation, ATTPDU.writeRequest(handle: $0, value: [1, 0]).encoded()) }
    case (.readCount, _), (.write, _), (.subscribe, _), (.message, _): return nil
    }
  }

  /// The requests that are sent alone.
  private static func isBarrier(_ opcode: UInt8) -> Bool {
    switch ATTOpcode(rawValue: opcode) {
    case .exchangeMTURequest, .prepareWriteRequest, .executeWriteRequest: true
    default: false
    }
  }

  /// Whether a server answers this opcode: requests are even, and bit 6 marks commands. The
  /// confirmation is even, but not a request.
  private static func isAnswered(_ opcode: UInt8) -> Bool {
    opcode & 0x41 == 0 && opcode != ATTOpcode.handleValueConfirmation.rawValue
  }
}
