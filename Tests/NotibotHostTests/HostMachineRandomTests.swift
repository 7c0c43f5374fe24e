import NotibotProtocol
import Testing

@testable import NotibotHost

/// A hostile device, a bad line and a restless program, from a seed. A seed that fails becomes a
/// test of its own.
struct HostMachineRandomTests {
  private struct Run {
    var device = ScriptedDevice()
    var random: SeededGenerator
    var submitted: Set<HostRequestID> = []
    var completed: [HostRequestID: Int] = [:]

    init(seed: UInt64) {
      random = SeededGenerator(seed: seed)
    }

    mutating func number(below limit: Int) -> Int {
      Int(random.next() % UInt64(limit))
    }

    mutating func bytes(upTo limit: Int) -> [UInt8] {
      (0..<number(below: limit)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    }

    /// A PDU that may be an answer, of the right length or not.
    mutating func pdu() -> [UInt8] {
      let heads: [[UInt8]] = [
        [0x13], [0x0B, 1, 0], [0x03, 0x05, 0x02], [0x01, 0x12, 6, 0, 0x80], [0x01, 0x0A, 3, 0, 0x02],
        [0x1B, 3, 0, 1, 0], [0x1B, 6, 0, 0x7B, 0x7D], [0x11, 6, 1, 0, 5, 0, 0, 0x18], [0x17, 6, 0, 0, 0],
      ]
      let head = heads[number(below: heads.count)]
      return number(below: 4) == 0 ? bytes(upTo: 30) + [0] : head
    }

    /// What a good device would say to the last request that the host sent.
    func rightAnswer() -> Frame? {
      guard let last = device.sent.last, let request = device.sent.last(where: { $0.header.type == .data })
      else {
        return nil
      }
      let answers: [UInt8: [UInt8]] = [0x02: [0x03, 0x05, 0x02], 0x0A: [0x0B, 1, 0], 0x12: [0x13]]
      guard let answer = answers[request.payload[0]] else { return nil }
      return ScriptedDevice.pdu(answer, sequence: last.header.ack, ack: request.header.sequence &+ 1)
    }

    /// A valid frame whose fields are near what would be right.
    mutating func frame() -> Frame {
      let types = FrameType.allCases
      let type = types[number(below: types.count)]
      let session: UInt16 = number(below: 6) == 0 ? 9 : ScriptedDevice.session
      switch type {
      case .hello: return ScriptedDevice.hello(bootID: number(below: 9) == 0 ? 5 : ScriptedDevice.bootID)
      case .synack:
        let limits = LinkLimits(
          frames: UInt8(number(below: 256)), requests: UInt8(number(below: 256)),
          mtu: UInt16(number(below: 700)),
          bytes: UInt32(number(below: 9000)))
        return ScriptedDevice.synack(
          nonce: device.nonce(), limits: limits, credit: UInt8(number(below: 256)),
          profileHash: number(below: 3) == 0 ? 1 : NotibotProfile.hash)
      case .rst:
        return ScriptedDevice.rst(
          RSTReason(wire: UInt8(number(below: 6))), session: number(below: 9) == 0 ? session : 9)
      case .fin where number(below: 4) > 0, .syn: return ScriptedDevice.frame(.ack, ack: 0)
      case .data, .ack, .nak, .udata, .ping, .pong, .fin:
        // The right numbers are not known here; near the last sent ones they are often valid.
        let last = device.sent.last?.header
        let ack = (last?.sequence ?? 0) &+ UInt8(number(below: 3))
        let sequence = (last?.ack ?? 0) &+ UInt8(number(below: 3))
        return ScriptedDevice.frame(
          type, channel: number(below: 5) == 0 ? .rig : .att, session: session, sequence: sequence, ack: ack,
          credit: UInt8(number(below: 80)), payload: type == .data ? pdu() : bytes(upTo: 12))
      }
    }

    mutating func step() {
      switch number(below: 12) {
      case 0: device.connect()
      case 1...3: submit()
      case 4...5: device.receive(frame())
      case 6...7: if let answer = rightAnswer() { device.receive(answer) }
      case 8:
        var damaged = frame().encoded()
        damaged[number(below: damaged.count)] ^= UInt8(1 << number(below: 8))
        device.receive(damaged)
      case 9: device.receive(bytes(upTo: 700))
      case 10:
        device.machine.handleWritability(number(below: 3) > 0, now: device.now)
        device.pass(.milliseconds(number(below: 4000)))
      case _:
        if number(below: 20) == 0 {
          device.machine.receiveEndOfStream(now: device.now)
          device.drain()
        } else if number(below: 20) == 0 {
          device.close()
        } else {
          device.pass(.microseconds(number(below: 20_000)))
        }
      }
    }

    private mutating func submit() {
      let requests: [HostRequest] = [
        .readCount, .sendEncoded([0x7B, 0x7D]), .sendEncoded([UInt8](repeating: 0x41, count: 100)),
        .subscribe(.all), .rawATT(bytes(upTo: 40)),
      ]
      submitted.insert(device.submit(requests[number(below: requests.count)]))
    }

    mutating func collect() {
      for case .completed(let id, _) in device.drainActions() { completed[id, default: 0] += 1 }
      if device.sent.count > 50 { device.sent.removeFirst(device.sent.count - 10) }
    }
  }

  @Test(arguments: 0..<100 as Range<UInt64>)
  func `whatever comes, each request ends once and nothing piles up`(seed: UInt64) {
    var run = Run(seed: seed)
    for step in 0..<400 {
      run.step()
      run.collect()
      #expect(run.device.machine.openRequestsCount <= 1024 + 64, "seed \(seed), step \(step)")
      #expect(
        run.device.machine.openRequestsCount == run.submitted.count - run.completed.count,
        "seed \(seed), step \(step)")
    }
    run.device.machine.handleWritability(true, now: run.device.now)
    run.device.machine.receiveEndOfStream(now: run.device.now)
    run.device.drain()
    run.collect()
    #expect(Set(run.completed.keys) == run.submitted, "seed \(seed)")
    #expect(run.completed.values.allSatisfy { $0 == 1 }, "seed \(seed)")
    let counted = run.device.machine.statistics
    #expect(counted.bytesReceived >= Int(counted.decoder.textBytes), "seed \(seed)")
  }

  @Test func `the runs reach what they are for`() {
    var sessions = 0
    var accepted = 0
    var resent = 0
    for seed in 0..<100 as Range<UInt64> {
      var run = Run(seed: seed)
      for _ in 0..<400 {
        run.step()
        run.collect()
      }
      sessions += run.device.machine.statistics.link.sessions
      accepted += run.device.machine.statistics.att.responses
      resent += run.device.machine.statistics.link.resent
    }
    #expect(sessions > 100)
    #expect(accepted > 100)
    #expect(resent > 100)
  }
}
