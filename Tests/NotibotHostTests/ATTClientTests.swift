import NotibotProtocol
import Testing

@testable import NotibotHost

/// The request pipeline of the attribute client. Source: PROTOCOL.md ATT-5...ATT-8, ATT-17, and its
/// section 5.
struct ATTClientTests {
  private let json = Array(#"{"app":"A","title":"B","text":"C","timestamp":1}"#.utf8)

  /// PDUs that the host sent since the last call.
  private func pdus(_ device: inout ScriptedDevice) -> [[UInt8]] {
    device.drainSent().filter { $0.header.type == .data }.map(\.payload)
  }

  // MARK: Pipeline

  @Test func `requests in flight reach the limit of both sides, and answers are in order`() {
    var device = ScriptedDevice.makeReady()
    let ids = (0..<10).map { _ in device.submit(.readCount) }
    #expect(pdus(&device).count == 8)
    device.receive(ScriptedDevice.pdu([0x0B, 1, 0], sequence: 1, ack: 9))
    #expect(device.drainActions() == [.completed(ids[0], .count(1))])
    #expect(pdus(&device).count == 1)
  }

  @Test func `without the feature one request is in flight at a time`() {
    var device = ScriptedDevice.makeReady(features: [.framedLog])
    device.submit(.readCount)
    device.submit(.readCount)
    #expect(pdus(&device).count == 1)
    device.receive(ScriptedDevice.pdu([0x0B, 1, 0], sequence: 1, ack: 2))
    #expect(pdus(&device).count == 1)
  }

  @Test func `a failed request does not stop later ones`() {
    var device = ScriptedDevice.makeReady()
    let refused = device.submit(.sendEncoded(json))
    let accepted = device.submit(.sendEncoded(json))
    device.receive(
      ScriptedDevice.pdu([0x01, 0x12, 6, 0, 0x11], sequence: 1, ack: 3),
      ScriptedDevice.pdu([0x13], sequence: 2, ack: 3))
    #expect(
      device.drainActions() == [
        .completed(refused, .refused(.insufficientResources)), .completed(accepted, .accepted),
      ])
  }

  @Test(arguments: [[UInt8(0x02), 0x17, 0], [0x16, 6, 0, 0, 0, 0x41], [0x18, 1]])
  func `a barrier waits for earlier requests, and later requests wait for it`(barrier: [UInt8]) {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    device.submit(.rawATT(barrier))
    device.submit(.readCount)
    #expect(pdus(&device) == [[0x0A, 3, 0]])
    device.receive(ScriptedDevice.pdu([0x0B, 1, 0], sequence: 1, ack: 2))
    #expect(pdus(&device) == [barrier])
    device.receive(ScriptedDevice.pdu([0x01, barrier[0], 0, 0, 0x06], sequence: 2, ack: 3))
    #expect(pdus(&device) == [[0x0A, 3, 0]])
  }

  @Test func `a raw request returns its answer unchanged`() {
    var device = ScriptedDevice.makeReady()
    let read = device.submit(.rawATT([0x0A, 9, 0]))
    let command = device.submit(.rawATT([0x52, 6, 0, 0x41]))
    #expect(device.drainActions() == [.completed(command, .sent)])
    device.receive(ScriptedDevice.pdu([0x01, 0x0A, 9, 0, 0x01], sequence: 1, ack: 3))
    #expect(device.drainActions() == [.completed(read, .response([0x01, 0x0A, 9, 0, 0x01]))])
  }

  @Test func `a thousand unanswered commands stay within the queues`() {
    var device = ScriptedDevice.makeReady(credit: 1)
    for _ in 0..<3000 { device.submit(.rawATT([0x52, 6, 0, 0x41])) }
    let results = device.drainActions()
    let full = results.filter { if case .completed(_, .failed(.queueFull)) = $0 { true } else { false } }
    #expect(results.count - full.count == 1 + SendWindow.waitingLimitFrames)
    #expect(full.count == 3000 - 1 - SendWindow.waitingLimitFrames - 1024)
  }

  @Test(arguments: [0, 529])
  func `a raw PDU of an impossible length is refused here`(length: Int) {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.rawATT([UInt8](repeating: 0x0A, count: length)))
    #expect(device.drainActions() == [.completed(id, .failed(.badLength(bytes: length)))])
  }

  @Test func `a raw PDU that fills a frame is sent`() {
    var device = ScriptedDevice.makeReady()
    device.submit(.rawATT([UInt8](repeating: 0x0A, count: 528)))
    #expect(pdus(&device).map(\.count) == [528])
  }

  @Test func `messages have the same queue limit as requests`() {
    var client = ATTClient(waitingLimit: 2)
    client.expectBearer()
    let taken = (0..<3).map { _ in client.submitMessage([1]) }
    #expect(taken == [true, true, false])
  }

  @Test func `513 bytes of JSON are refused here`() {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.sendEncoded([UInt8](repeating: 0x20, count: 513)))
    #expect(device.drainActions() == [.completed(id, .failed(.badLength(bytes: 513)))])
  }

  // MARK: Wrong answers

  @Test func `an answer without a request is ignored and counted`() {
    var device = ScriptedDevice.makeReady()
    device.receive(ScriptedDevice.pdu([0x13], sequence: 1, ack: 1))
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.att.ignored == 1)
  }

  @Test func `a repeated answer ends its request once`() {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.sendEncoded(json))
    device.receive(
      ScriptedDevice.pdu([0x13], sequence: 1, ack: 2), ScriptedDevice.pdu([0x13], sequence: 2, ack: 2))
    #expect(device.drainActions() == [.completed(id, .accepted)])
    #expect(device.machine.statistics.att.ignored == 1)
  }

  @Test(arguments: [[UInt8(0x13)], [0x01, 0x12, 6, 0, 0x80]])
  func `an answer to a request other than the oldest breaks the bearer`(answer: [UInt8]) {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.readCount)
    _ = device.drainSent()
    device.receive(ScriptedDevice.pdu(answer, sequence: 1, ack: 2))
    let end = SessionEnd.bearerBroken(.answersAnotherRequest(expected: 0x0A, seen: 0x12))
    #expect(device.drainActions() == [.completed(id, .failed(.outcomeUnknown(end))), .ended(end)])
    #expect(device.drainSent().map(\.header.type) == [.fin])
  }

  @Test func `an Error Response that names no request breaks the bearer`() {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.readCount)
    _ = device.drainSent()
    device.receive(ScriptedDevice.pdu([0x01], sequence: 1, ack: 2))
    let end = SessionEnd.bearerBroken(.answersAnotherRequest(expected: 0x0A, seen: 0))
    #expect(device.drainActions() == [.completed(id, .failed(.outcomeUnknown(end))), .ended(end)])
  }

  @Test(arguments: [[UInt8(0x0B), 1], [0x0B, 1, 0, 0], [0x01, 0x0A, 3]])
  func `an answer that does not parse breaks the bearer`(answer: [UInt8]) {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    device.receive(ScriptedDevice.pdu(answer, sequence: 1, ack: 2))
    #expect(device.drainActions().last == .ended(.bearerBroken(.malformedAnswer(opcode: 0x0A))))
  }

  @Test(arguments: [
    [UInt8(0x02), 23, 0], [0x1D, 3, 0, 1, 0], [0x1E], [0x52, 6, 0], [0xFF], [0x1B, 3], [0x1B, 3, 0, 1],
  ])
  func `a PDU that a client cannot use is ignored, even with a request in flight`(pdu: [UInt8]) {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    device.receive(ScriptedDevice.pdu(pdu, sequence: 1, ack: 2))
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.att.ignored == 1)
  }

  // MARK: Time

  @Test(arguments: [Duration.zero, .milliseconds(3)])
  func `a request without an answer for 30 s ends the session, also if the timer fires late`(
    late: Duration
  ) {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.readCount)
    for second in 1...29 {
      device.pass(.seconds(1))
      // The device handles a frame each second, so it is not stalled.
      device.receive(ScriptedDevice.frame(.pong, ack: 2, payload: [UInt8(second)]))
    }
    #expect(device.drainActions().isEmpty)
    device.wake(after: .seconds(1) + late)
    #expect(
      device.drainActions() == [
        .completed(id, .failed(.outcomeUnknown(.transactionTimedOut))), .ended(.transactionTimedOut),
      ])
  }

  @Test func `PONGs do not count as an answer of a stalled application`() {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.readCount)
    device.receive(ScriptedDevice.frame(.ack, ack: 2))
    var seconds = 0
    var lastWords: [FrameType] = []
    while device.actions.isEmpty, seconds < 40 {
      device.pass(.seconds(1))
      seconds += 1
      lastWords = device.drainSent().map(\.header.type)
      if lastWords.contains(.ping) {
        device.receive(ScriptedDevice.frame(.pong, ack: 2, payload: [1]))
      }
    }
    #expect(seconds == 10)
    #expect(
      device.drainActions() == [
        .completed(id, .failed(.outcomeUnknown(.applicationStalled))), .ended(.applicationStalled),
      ])
    #expect(lastWords.last == .fin)
  }

  @Test func `a stalled application ends the session even if the timer fires late`() {
    var device = ScriptedDevice.makeReady()
    device.submit(.readCount)
    device.receive(ScriptedDevice.frame(.ack, ack: 2))
    for _ in 0..<10 {
      device.now = device.now + .seconds(1)
      device.receive(ScriptedDevice.frame(.pong, ack: 2, payload: [1]))
    }
    device.now = device.now + .milliseconds(500)
    device.machine.handleTimeout(now: device.now)
    device.drain()
    #expect(device.drainActions().last == .ended(.applicationStalled))
  }

  @Test func `a PONG from before the request does not show that the application stalls`() {
    var device = ScriptedDevice.makeReady()
    device.receive(ScriptedDevice.frame(.pong, ack: 1, payload: [1]))
    device.pass(.milliseconds(1))
    device.submit(.readCount)
    for _ in 0..<22 {
      device.pass(.milliseconds(500))
      device.receive(ScriptedDevice.frame(.ack, ack: 2))
    }
    #expect(device.drainActions().isEmpty)
  }

  @Test func `an idle session is never stalled`() {
    var device = ScriptedDevice.makeReady()
    for _ in 0..<60 {
      device.pass(.seconds(1))
      device.receive(ScriptedDevice.frame(.pong, ack: 1, payload: [1]))
    }
    #expect(device.drainActions().isEmpty)
  }

  // MARK: Notifications

  @Test func `notifications of the device become events`() {
    var device = ScriptedDevice.makeReady()
    let dismissed = Array(#"{"ev":"dismissed","item":17}"#.utf8)
    let garbage = Array("not JSON".utf8)
    device.receive(
      ScriptedDevice.pdu([0x1B, 3, 0, 0xFF, 0xFF], sequence: 1, ack: 1),
      ScriptedDevice.pdu([0x1B, 6, 0] + dismissed, sequence: 2, ack: 1),
      ScriptedDevice.pdu([0x1B, 6, 0] + garbage, sequence: 3, ack: 1))
    #expect(
      device.drainActions() == [
        .event(.countChanged(65535)), .event(.device(.dismissed(item: 17))),
        .event(.device(.unknown(garbage))),
      ])
  }

  @Test func `subscribing writes both CCCDs, and succeeds with the second`() {
    var device = ScriptedDevice.makeReady()
    let id = device.submit(.subscribe(.all))
    #expect(pdus(&device) == [[0x12, 4, 0, 1, 0]])
    device.receive(ScriptedDevice.pdu([0x13], sequence: 1, ack: 2))
    #expect(device.drainActions().isEmpty)
    #expect(pdus(&device) == [[0x12, 7, 0, 1, 0]])
    device.receive(ScriptedDevice.pdu([0x13], sequence: 2, ack: 3))
    #expect(device.drainActions() == [.completed(id, .accepted)])
  }

  // MARK: MTU

  @Test func `the smaller MTU of both sides is in force, and it is at least 23`() {
    for (server, expected) in [(UInt16(100), 100), (528, 517), (5, 23)] {
      var device = ScriptedDevice.makeLinked()
      _ = device.drainActions()
      var answer: [UInt8] = [0x03]
      answer.appendLittleEndian(server)
      device.receive(ScriptedDevice.pdu(answer, sequence: 0, ack: 1))
      guard case .opened(let info)? = device.drainActions().first else {
        Issue.record("not opened with \(server)")
        return
      }
      #expect(info.mtu == expected)
    }
  }

  @Test func `a server without Exchange MTU keeps 23`() {
    var device = ScriptedDevice.makeLinked()
    device.receive(ScriptedDevice.pdu([0x01, 0x02, 0, 0, 0x06], sequence: 0, ack: 1))
    guard case .opened(let info)? = device.drainActions().first else {
      Issue.record("not opened")
      return
    }
    #expect(info.mtu == 23)
  }

  @Test func `a value that does not fit the MTU is prepared in parts and executed`() {
    var device = ScriptedDevice.makeReady(mtu: 23)
    let value = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijkl".utf8)
    let id = device.submit(.sendEncoded(value))
    device.submit(.readCount)
    var sequence: UInt8 = 1
    for offset in [0, 18, 36] {
      let part = Array(value[offset..<min(offset + 18, value.count)])
      #expect(pdus(&device) == [[0x16, 6, 0, UInt8(offset), 0] + part])
      device.receive(
        ScriptedDevice.pdu([0x17, 6, 0, UInt8(offset), 0] + part, sequence: sequence, ack: sequence + 1))
      sequence += 1
    }
    #expect(pdus(&device) == [[0x18, 1]])
    device.receive(ScriptedDevice.pdu([0x19], sequence: sequence, ack: sequence + 1))
    #expect(device.drainActions() == [.completed(id, .accepted)])
    #expect(pdus(&device) == [[0x0A, 3, 0]])
  }

  @Test func `a value that fills the MTU is written by one request`() {
    var device = ScriptedDevice.makeReady(mtu: 23)
    let value = [UInt8](repeating: 0x41, count: 20)
    device.submit(.sendEncoded(value))
    #expect(pdus(&device) == [[0x12, 6, 0] + value])
  }

  @Test func `a refused part empties the queue and refuses the whole write`() {
    var device = ScriptedDevice.makeReady(mtu: 23)
    let id = device.submit(.sendEncoded([UInt8](repeating: 0x41, count: 30)))
    _ = device.drainSent()
    device.receive(ScriptedDevice.pdu([0x01, 0x16, 6, 0, 0x09], sequence: 1, ack: 2))
    #expect(pdus(&device) == [[0x18, 0]])
    device.receive(ScriptedDevice.pdu([0x19], sequence: 2, ack: 3))
    #expect(device.drainActions() == [.completed(id, .refused(.prepareQueueFull))])
  }

  @Test func `a part that is echoed with other bytes breaks the bearer`() {
    var device = ScriptedDevice.makeReady(mtu: 23)
    device.submit(.sendEncoded([UInt8](repeating: 0x41, count: 30)))
    device.receive(ScriptedDevice.pdu([0x17, 6, 0, 0, 0, 0x42], sequence: 1, ack: 2))
    #expect(device.drainActions().last == .ended(.bearerBroken(.malformedAnswer(opcode: 0x16))))
  }

  @Test func `a write that was begun in parts has an unknown outcome`() {
    var device = ScriptedDevice.makeReady(mtu: 23)
    let id = device.submit(.sendEncoded([UInt8](repeating: 0x41, count: 30)))
    device.machine.receiveEndOfStream(now: device.now)
    device.drain()
    #expect(device.drainActions().first == .completed(id, .failed(.outcomeUnknown(.portGone))))
  }

  @Test func `a write between two of its parts has an unknown outcome`() {
    var device = ScriptedDevice.makeReady(mtu: 23)
    let value = [UInt8](repeating: 0x41, count: 30)
    let id = device.submit(.sendEncoded(value))
    // One read contains both, so that the second part has not been sent.
    device.receive(
      ScriptedDevice.pdu([0x17, 6, 0, 0, 0] + value.prefix(18), sequence: 1, ack: 2),
      ScriptedDevice.hello(bootID: 2))
    #expect(
      device.drainActions().first == .completed(id, .failed(.outcomeUnknown(.deviceRestarted(bootID: 2)))))
  }

  @Test func `no more is queued beyond the limit, also when the exchange of the MTU is in front`() {
    var client = ATTClient(waitingLimit: 2)
    client.expectBearer()
    for number in 0..<2 { client.submit(.readCount, id: HostRequestID(rawValue: UInt64(number))) }
    client.open(ATTClient.Bearer(requestsLimit: 1, mtu: 517, isProfileKnown: true))
    #expect(client.nextAction() == nil)
    client.submit(.readCount, id: HostRequestID(rawValue: 2))
    #expect(client.nextAction() == .completed(HostRequestID(rawValue: 2), .failed(.queueFull)))
    #expect(client.submitMessage([1]) == false)
  }
}
