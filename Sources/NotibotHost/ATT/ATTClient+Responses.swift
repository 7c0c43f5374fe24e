import DequeModule
import NotibotProtocol

// Incoming PDUs: answers, matched to their requests, and notifications. Source: PROTOCOL.md ATT-5,
// ATT-17, section 5.
extension ATTClient {
  /// Takes one PDU from the device.
  mutating func receive(_ pdu: [UInt8], now: Instant) {
    if case .down = state {
      statistics.ignored += 1
      return
    }
    guard let opcode = pdu.first else {
      statistics.ignored += 1
      return
    }
    if opcode == ATTOpcode.handleValueNotification.rawValue { return receiveNotification(pdu) }
    guard Self.isAnswer(opcode), let request = outstanding.first else {
      statistics.ignored += 1
      return
    }
    // An Error Response names its request, any other answer is the request's opcode + 1 (ATT-5).
    let isError = opcode == ATTOpcode.errorResponse.rawValue
    let answered = isError ? (pdu.count > 1 ? pdu[1] : 0) : opcode - 1
    guard answered == request.opcode else {
      let fault = BearerFault.answersAnotherRequest(expected: request.opcode, seen: answered)
      actions.append(.failed(.bearerBroken(fault)))
      return
    }
    guard let answer = try? ATTPDU(parsing: pdu) else { return breakBearer(request) }
    outstanding.removeFirst()
    respondedAt = now
    if isError { statistics.errorResponses += 1 } else { statistics.responses += 1 }
    receive(answer, pdu: pdu, to: request)
  }

  private mutating func receive(_ answer: ATTPDU, pdu: [UInt8], to request: Outstanding) {
    switch request.operation {
    case .raw: complete(request.id, .response(pdu))
    case .exchangeMTU: finishExchangeMTU(answer)
    case .discover(var discovery):
      switch discovery.receive(answer) {
      case .more: waiting.prepend(Waiting(id: nil, operation: .discover(discovery)))
      case .found(let handles): becomeReady(handles)
      case .missing: actions.append(.failed(.profileMissing))
      case .malformed: breakBearer(request)
      case .endless:
        actions.append(.failed(.bearerBroken(.endlessDiscovery(requests: Discovery.requestsLimit))))
      }
    case .writeLong(var write):
      switch write.receive(answer) {
      case .more: waiting.prepend(Waiting(id: request.id, operation: .writeLong(write)))
      case .finished(let result): complete(request.id, result)
      case .malformed:
        outstanding.prepend(request)
        breakBearer(request)
      }
    case .write, .readCount, .subscribe, .message: finish(request, answer)
    }
  }

  private mutating func finish(_ request: Outstanding, _ answer: ATTPDU) {
    switch (request.operation, answer) {
    case (_, .errorResponse(_, _, let error)): complete(request.id, .refused(error))
    case (.write, .writeResponse): complete(request.id, .accepted)
    case (.subscribe(let subscriptions), .writeResponse):
      // One CCCD after the other: Count first.
      let remaining = subscriptions.contains(.count) ? subscriptions.subtracting(.count) : []
      if remaining.isEmpty {
        complete(request.id, .accepted)
      } else {
        waiting.prepend(Waiting(id: request.id, operation: .subscribe(remaining)))
      }
    case (.readCount, .readResponse(let value)) where value.count == 2:
      complete(request.id, .count(UInt16(value[0]) | UInt16(value[1]) << 8))
    case _:
      outstanding.prepend(request)
      breakBearer(request)
    }
  }

  private mutating func finishExchangeMTU(_ answer: ATTPDU) {
    // A server without Exchange MTU keeps the default MTU.
    if case .exchangeMTUResponse(let serverMTU) = answer {
      mtu = max(Int(NotibotProfile.firstMTU), Int(min(serverMTU, bearer.mtu)))
    }
    if bearer.isProfileKnown {
      becomeReady(.fixed)
    } else {
      waiting.prepend(Waiting(id: nil, operation: .discover(Discovery())))
    }
  }

  private mutating func becomeReady(_ handles: AttributeHandles) {
    state = .ready(handles)
    actions.append(.ready)
  }

  private mutating func receiveNotification(_ pdu: [UInt8]) {
    guard case .ready(let handles) = state,
      case .handleValueNotification(let handle, let value)? = try? ATTPDU(parsing: pdu)
    else {
      statistics.ignored += 1
      return
    }
    switch handle {
    case handles.count where value.count == 2:
      actions.append(.event(.countChanged(UInt16(value[0]) | UInt16(value[1]) << 8)))
    case handles.data:
      actions.append(.event(.device(DeviceEvent(parsing: value))))
    case _:
      statistics.ignored += 1
      return
    }
    statistics.notifications += 1
  }

  private mutating func breakBearer(_ request: Outstanding) {
    actions.append(.failed(.bearerBroken(.malformedAnswer(opcode: request.opcode))))
  }

  /// Responses are odd; so are notification and indication, which are not answers.
  private static func isAnswer(_ opcode: UInt8) -> Bool {
    opcode & 0x41 == 1 && opcode != ATTOpcode.handleValueNotification.rawValue
      && opcode != ATTOpcode.handleValueIndication.rawValue
  }
}
