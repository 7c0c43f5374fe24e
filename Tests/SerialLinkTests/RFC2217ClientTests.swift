import Testing

@testable import SerialLink

@Suite struct RFC2217ClientTests {
  /// The answers of a server that agrees to everything: DO COM-PORT, rate 115200, 8N1.
  static let agreement: [UInt8] = [0xFF, 0xFD, 0x2C]
  static let configuration: [UInt8] =
    [0xFF, 0xFA, 0x2C, 0x65, 0x00, 0x01, 0xC2, 0x00, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x66, 0x08, 0xFF, 0xF0]
    + [0xFF, 0xFA, 0x2C, 0x67, 0x01, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x68, 0x01, 0xFF, 0xF0]

  @Test func `a port is requested, configured and open, and its modem lines are not changed`() {
    var client = makeClient()
    client.start(now: .zero)
    #expect(
      client.drainActions() == [
        .write([
          0xFF, 0xFB, 0x00, 0xFF, 0xFD, 0x00, 0xFF, 0xFB, 0x03, 0xFF, 0xFD, 0x03, 0xFF, 0xFB, 0x2C,
        ])
      ])
    client.receive(Self.agreement, now: .zero)
    #expect(
      client.drainActions() == [
        .write(
          [
            0xFF, 0xFA, 0x2C, 0x01, 0x00, 0x01, 0xC2, 0x00, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x02, 0x08, 0xFF,
            0xF0,
          ]
            + [0xFF, 0xFA, 0x2C, 0x03, 0x01, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x04, 0x01, 0xFF, 0xF0]
            + [0xFF, 0xFA, 0x2C, 0x05, 0x01, 0xFF, 0xF0])
      ])
    client.receive(Self.configuration, now: .zero)
    #expect(client.drainActions() == [.opened])
    #expect(client.nextDeadline == nil)
  }

  @Test func `the opening does not depend on how its answers are split`() {
    let stream = [0x41] + Self.agreement + Self.configuration + [0x42, 0xFF, 0xFF]
    var whole = makeClient()
    whole.start(now: .zero)
    whole.receive(stream, now: .zero)
    let expected = whole.drainActions()
    #expect(expected.suffix(3) == [.opened, .deliver([0x41]), .deliver([0x42, 0xFF])])
    for split in 1..<stream.count {
      var client = makeClient()
      client.start(now: .zero)
      client.receive(Array(stream[..<split]), now: .zero)
      client.receive(Array(stream[split...]), now: .zero)
      let delivered = client.drainActions().reduce(into: [UInt8]()) {
        if case .deliver(let bytes) = $1 { $0 += bytes }
      }
      #expect(client.isOpen && delivered == [0x41, 0x42, 0xFF], "split at \(split)")
    }
  }

  static let refusals: [(name: String, answer: [UInt8], refusal: RFC2217Client.Refusal)] = [
    ("DONT COM-PORT", [0xFF, 0xFE, 0x2C], .notOffered),
    (
      "another rate", agreement + [0xFF, 0xFA, 0x2C, 0x65, 0x00, 0x00, 0x25, 0x80, 0xFF, 0xF0],
      .rateRefused(offered: 9600)
    ),
    ("seven bits", agreement + [0xFF, 0xFA, 0x2C, 0x66, 0x07, 0xFF, 0xF0], .formatRefused),
  ]

  @Test(arguments: refusals.indices)
  func `a server without the required features is refused`(index: Int) {
    let (name, answer, refusal) = Self.refusals[index]
    var client = makeClient()
    client.start(now: .zero)
    client.receive(answer, now: .zero)
    #expect(client.drainActions().last == .refuse(refusal), "\(name)")
    #expect(client.nextDeadline == nil)
  }

  @Test func `a silent server is given up after the timeout, and not before`() {
    var client = makeClient()
    client.start(now: .seconds(10))
    _ = client.drainActions()
    client.receive([0x41, 0x42], now: .seconds(10))
    #expect(client.nextDeadline == .seconds(12))
    client.handleTimeout(now: .milliseconds(11_999))
    #expect(client.drainActions() == [])
    client.handleTimeout(now: .seconds(12))
    #expect(client.drainActions() == [.refuse(.notNegotiated(dataBytes: 2))])
  }

  @Test func `a server that agrees but sets nothing is given up`() {
    var client = makeClient()
    client.start(now: .zero)
    client.receive(Self.agreement, now: .seconds(1))
    _ = client.drainActions()
    client.handleTimeout(now: .seconds(3))
    #expect(client.drainActions() == [.refuse(.notConfigured)])
  }

  @Test func `the last text of a server before it hangs up is reported`() {
    var client = makeClient()
    client.start(now: .zero)
    _ = client.drainActions()
    client.receive(Array("Port already in use\r\n".utf8), now: .zero)
    client.end()
    #expect(client.drainActions() == [.refuse(.ended(said: Array("Port already in use\r\n".utf8)))])
  }

  @Test func `both lines are sent together, and are done when both are confirmed`() {
    var client = makeOpenClient()
    client.submit(.lines(ModemLines(dtr: true, rts: false)), id: 7, now: .zero)
    #expect(
      client.drainActions() == [
        .write([0xFF, 0xFA, 0x2C, 0x05, 0x08, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x05, 0x0C, 0xFF, 0xF0])
      ])
    client.receive([0xFF, 0xFA, 0x2C, 0x69, 0x08, 0xFF, 0xF0], now: .zero)
    #expect(client.drainActions() == [])
    client.receive([0xFF, 0xFA, 0x2C, 0x69, 0x0C, 0xFF, 0xF0], now: .zero)
    #expect(client.drainActions() == [.completed(7)])
  }

  @Test func `no order of lines passes through an unrequested reset`() {
    let all = [false, true].flatMap { dtr in [false, true].map { ModemLines(dtr: dtr, rts: $0) } }
    let reset = ModemLines(dtr: false, rts: true)
    for from in all {
      for target in all where target != reset && from != reset {
        var lines = from
        for request in LineCommand.lines(target).requests {
          switch ComPortControl(rawValue: request.value[0]) {
          case .dtrOn?: lines.dtr = true
          case .dtrOff?: lines.dtr = false
          case .rtsOn?: lines.rts = true
          case .rtsOff?: lines.rts = false
          case let other: Issue.record("\(String(describing: other)) sets no line")
          }
          #expect(lines != reset, "from \(from) to \(target)")
        }
        #expect(lines == target)
      }
    }
  }

  @Test func `commands of one kind are confirmed in their order`() {
    var client = makeOpenClient()
    client.submit(.rate(9600), id: 1, now: .zero)
    client.submit(.rate(230_400), id: 2, now: .zero)
    _ = client.drainActions()
    client.receive([0xFF, 0xFA, 0x2C, 0x65, 0x00, 0x00, 0x25, 0x80, 0xFF, 0xF0], now: .zero)
    #expect(client.drainActions() == [.completed(1)])
    client.receive([0xFF, 0xFA, 0x2C, 0x65, 0x00, 0x00, 0x25, 0x80, 0xFF, 0xF0], now: .zero)
    #expect(client.drainActions() == [.failed(2, .rateRefused(offered: 9600))])
  }

  @Test func `a server that does not confirm lines fails the first command in time, and later ones at once`()
  {
    var client = makeOpenClient()
    client.submit(.lines(ModemLines(dtr: true, rts: true)), id: 1, now: .zero)
    _ = client.drainActions()
    client.receive([0x41], now: .seconds(1))
    #expect(client.drainActions() == [.deliver([0x41])])
    client.handleTimeout(now: .seconds(2))
    #expect(client.drainActions() == [.failed(1, .unconfirmed)])
    client.submit(.breakState(isOn: true), id: 2, now: .seconds(2))
    #expect(client.drainActions() == [.failed(2, .unsupported)])
    client.submit(.rate(9600), id: 3, now: .seconds(2))
    #expect(client.drainActions().count == 1)
    client.receive([0xFF, 0xFA, 0x2C, 0x69, 0x08, 0xFF, 0xF0], now: .seconds(3))
    client.submit(.breakState(isOn: true), id: 4, now: .seconds(3))
    #expect(client.drainActions() == [.write([0xFF, 0xFA, 0x2C, 0x05, 0x05, 0xFF, 0xF0])])
  }

  @Test func `with ign_set_control lines are done when they are sent`() {
    var client = makeOpenClient(RFC2217Options(confirmsControl: false))
    client.submit(.breakState(isOn: false), id: 1, now: .zero)
    #expect(client.drainActions() == [.write([0xFF, 0xFA, 0x2C, 0x05, 0x06, 0xFF, 0xF0]), .completed(1)])
    #expect(client.nextDeadline == nil)
  }

  @Test func `bytes sent before the input was purged are not delivered`() {
    var client = makeOpenClient()
    client.submit(.purgeInput, id: 1, now: .zero)
    #expect(client.drainActions() == [.write([0xFF, 0xFA, 0x2C, 0x0C, 0x01, 0xFF, 0xF0])])
    client.receive([0x41, 0x42, 0xFF, 0xFA, 0x2C, 0x70, 0x01, 0xFF, 0xF0, 0x43], now: .zero)
    #expect(client.drainActions() == [.completed(1), .deliver([0x43])])
  }

  @Test func `purging the output discards unwritten bytes`() {
    var client = makeOpenClient()
    client.submit(.purgeOutput, id: 1, now: .zero)
    #expect(client.drainActions() == [.discardOutput, .write([0xFF, 0xFA, 0x2C, 0x0C, 0x02, 0xFF, 0xF0])])
  }

  @Test func `a server can suspend and resume the flow`() {
    var client = makeOpenClient()
    client.receive([0xFF, 0xFA, 0x2C, 0x6C, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x6C, 0xFF, 0xF0], now: .zero)
    #expect(client.drainActions() == [.suspended])
    client.receive([0xFF, 0xFA, 0x2C, 0x6D, 0xFF, 0xF0], now: .zero)
    #expect(client.drainActions() == [.resumed])
  }

  @Test func `the modem state is kept, and answers without a request are ignored`() {
    var client = makeOpenClient()
    client.receive(
      [0xFF, 0xFA, 0x2C, 0x6B, 0xB0, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x69, 0x08, 0xFF, 0xF0]
        + [0xFF, 0xFA, 0x18, 0x01, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x6B, 0xFF, 0xF0], now: .zero)
    #expect(client.drainActions() == [])
    #expect(client.modemState == 0xB0)
  }

  @Test func `each option request is answered once`() {
    var client = makeOpenClient()
    for _ in 0..<10_000 {
      client.receive([0xFF, 0xFD, 0x18, 0xFF, 0xFB, 0x18, 0xFF, 0xFB, 0x01], now: .zero)
    }
    #expect(
      client.drainActions() == [
        .write([0xFF, 0xFC, 0x18]), .write([0xFF, 0xFE, 0x18]), .write([0xFF, 0xFD, 0x01]),
      ])
  }

  @Test func `a flood of every command in every state is bounded`() {
    for opening in [[], Self.agreement, Self.agreement + Self.configuration] {
      var client = makeClient()
      client.start(now: .zero)
      client.receive(opening, now: .zero)
      _ = client.drainActions()
      for _ in 0..<100 {
        for option in UInt8.min...UInt8.max {
          for verb in UInt8(250)...255 { client.receive([0xFF, verb, option], now: .zero) }
          client.receive([0xFF, 0xFA, 0x2C, option, option, 0xFF, 0xF0], now: .zero)
        }
      }
      #expect(client.drainActions().filter { if case .deliver = $0 { false } else { true } }.count < 1200)
    }
  }

  @Test func `a port that is never configured keeps at most its limit`() {
    var client = makeClient()
    client.start(now: .zero)
    _ = client.drainActions()
    for _ in 0..<65 { client.receive([UInt8](repeating: 0x41, count: 1024), now: .zero) }
    #expect(client.drainActions() == [.refuse(.notNegotiated(dataBytes: 66_560))])
  }

  @Test func `a command is refused if too many are pending, and if the port is not open`() {
    var client = makeClient()
    client.submit(.purgeInput, id: 1, now: .zero)
    #expect(client.drainActions() == [.failed(1, .notOpen)])
    client = makeOpenClient()
    for id in 0..<RFC2217Client.pendingLimit { client.submit(.purgeInput, id: id, now: .zero) }
    _ = client.drainActions()
    client.submit(.rate(9600), id: 99, now: .zero)
    #expect(client.drainActions() == [.failed(99, .tooMany)])
    client.end()
    client.submit(.rate(9600), id: 100, now: .zero)
    #expect(client.drainActions() == [.failed(100, .notOpen)])
  }

  private func makeClient(_ options: RFC2217Options = RFC2217Options()) -> RFC2217Client {
    RFC2217Client(bitsPerSecond: 115_200, options: options)
  }

  private func makeOpenClient(_ options: RFC2217Options = RFC2217Options()) -> RFC2217Client {
    var client = makeClient(options)
    client.start(now: .zero)
    client.receive(Self.agreement + Self.configuration, now: .zero)
    _ = client.drainActions()
    return client
  }
}

extension RFC2217Client {
  fileprivate mutating func drainActions() -> [Action] {
    var taken: [Action] = []
    while let action = nextAction() { taken.append(action) }
    return taken
  }
}
