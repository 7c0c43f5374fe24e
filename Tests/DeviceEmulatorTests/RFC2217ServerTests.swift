import SerialLink
import Testing

@testable import DeviceEmulator

@Suite struct RFC2217ServerTests {
  @Test func `a server offers eight bits, full duplex and the COM port`() {
    var server = RFC2217Server(bitsPerSecond: 115_200, modemState: 0xB0)
    server.start()
    #expect(
      server.written() == [
        0xFF, 0xFB, 0x00, 0xFF, 0xFD, 0x00, 0xFF, 0xFB, 0x03, 0xFF, 0xFD, 0x03, 0xFF, 0xFD, 0x2C,
      ])
    // The requests and answers of pyserial 3.5, whose WILL COM-PORT makes the modem state known.
    server.receive([0xFF, 0xFD, 0x01, 0xFF, 0xFB, 0x03, 0xFF, 0xFD, 0x03, 0xFF, 0xFB, 0x2C, 0xFF, 0xFB, 0x00])
    #expect(server.written() == [0xFF, 0xFC, 0x01, 0xFF, 0xFA, 0x2C, 0x6B, 0xB0, 0xFF, 0xF0])
  }

  static let exchanges: [(name: String, request: [UInt8], answer: [UInt8], commands: [LineCommand])] = [
    ("signature", [0x00], [0x64] + Array("Notibot emulator".utf8), []),
    ("rate", [0x01, 0x00, 0x00, 0x25, 0x80], [0x65, 0x00, 0x00, 0x25, 0x80], [.rate(9600)]),
    ("rate?", [0x01, 0x00, 0x00, 0x00, 0x00], [0x65, 0x00, 0x01, 0xC2, 0x00], []),
    ("rate cut short", [0x01, 0x25, 0x80], [0x65, 0x00, 0x01, 0xC2, 0x00], []),
    ("eight bits", [0x02, 0x08], [0x66, 0x08], []),
    ("seven bits are not served", [0x02, 0x07], [0x66, 0x08], []),
    ("parity?", [0x03, 0x00], [0x67, 0x01], []),
    ("two stop bits are not served", [0x04, 0x02], [0x68, 0x01], []),
    ("no flow control", [0x05, 0x01], [0x69, 0x01], []),
    ("hardware flow control is not served", [0x05, 0x03], [0x69, 0x01], []),
    ("break on", [0x05, 0x05], [0x69, 0x05], [.breakState(isOn: true)]),
    ("break?", [0x05, 0x04], [0x69, 0x06], []),
    ("DTR?", [0x05, 0x07], [0x69, 0x08], []),
    ("DTR off", [0x05, 0x09], [0x69, 0x09], [.lines(ModemLines(dtr: false, rts: true))]),
    ("RTS off", [0x05, 0x0C], [0x69, 0x0C], [.lines(ModemLines(dtr: true, rts: false))]),
    ("inbound flow control", [0x05, 0x10], [0x69, 0x0E], []),
    ("line state mask", [0x0A, 0x10], [0x6E, 0x10], []),
    ("modem state mask", [0x0B, 0x0F], [0x6F, 0x0F], []),
    ("purge what was received", [0x0C, 0x01], [0x70, 0x01], [.purgeInput]),
    ("purge both", [0x0C, 0x03], [0x70, 0x03], [.purgeInput, .purgeOutput]),
  ]

  @Test(arguments: exchanges.indices)
  func `each command is answered with the setting in use`(index: Int) {
    let exchange = Self.exchanges[index]
    let request = [0xFF, 0xFA, 0x2C] + exchange.request + [0xFF, 0xF0]
    for split in 0..<request.count {
      var server = makeServer()
      server.receive(Array(request[..<split]))
      server.receive(Array(request[split...]))
      let (written, commands) = server.outcome()
      #expect(written == [0xFF, 0xFA, 0x2C] + exchange.answer + [0xFF, 0xF0], "\(exchange.name)")
      #expect(commands == exchange.commands, "\(exchange.name)")
    }
  }

  @Test func `data is unescaped, and stays in order between commands`() {
    var server = makeServer()
    server.receive([0x41, 0xFF, 0xFF, 0xFF, 0xFA, 0x2C, 0x05, 0x09, 0xFF, 0xF0, 0x42])
    #expect(server.nextAction() == .deliver([0x41, 0xFF]))
    #expect(server.nextAction() == .perform(.lines(ModemLines(dtr: false, rts: true))))
    #expect(server.nextAction() == .write([0xFF, 0xFA, 0x2C, 0x69, 0x09, 0xFF, 0xF0]))
    #expect(server.nextAction() == .deliver([0x42]))
    #expect(server.nextAction() == nil)
  }

  @Test func `a client can suspend the flow`() {
    var server = makeServer()
    server.receive([0xFF, 0xFA, 0x2C, 0x08, 0xFF, 0xF0, 0xFF, 0xFA, 0x2C, 0x09, 0xFF, 0xF0])
    #expect(server.nextAction() == .suspend(true))
    #expect(server.nextAction() == .suspend(false))
  }

  @Test func `a change of modem lines is reported with what changed, unless the mask excludes it`() {
    var server = makeServer()
    server.receive([0xFF, 0xFB, 0x2C])
    _ = server.outcome()
    server.setModemState(0xA0)
    #expect(server.written() == [0xFF, 0xFA, 0x2C, 0x6B, 0xA1, 0xFF, 0xF0])
    server.setModemState(0xA0)
    #expect(server.written() == [])
    server.receive([0xFF, 0xFA, 0x2C, 0x0B, 0x80, 0xFF, 0xF0])
    _ = server.outcome()
    server.setModemState(0xB0)
    #expect(server.written() == [])
  }

  @Test func `hostile telnet gets one answer per request, and is not stored`() {
    var server = makeServer()
    for _ in 0..<100 {
      for option in UInt8.min...UInt8.max {
        for verb in UInt8(251)...254 { server.receive([0xFF, verb, option]) }
        server.receive([0xFF, 0xF6, 0xFF, 0xFA, 0x18, option, 0xFF, 0xF0])
      }
    }
    let (written, commands) = server.outcome()
    #expect(written.count <= 512 * 3 + 7)
    #expect(commands == [])
    server.receive([0xFF, 0xFA, 0x2C] + [UInt8](repeating: 5, count: 100_000) + [0xFF, 0xF0, 0x41])
    #expect(server.nextAction() == .deliver([0x41]))
  }

  private func makeServer() -> RFC2217Server {
    var server = RFC2217Server(bitsPerSecond: 115_200, modemState: 0xB0)
    server.start()
    _ = server.outcome()
    return server
  }
}

extension RFC2217Server {
  /// The bytes and actions since the last call.
  fileprivate mutating func outcome() -> (written: [UInt8], commands: [LineCommand]) {
    var (written, commands): ([UInt8], [LineCommand]) = ([], [])
    while let action = nextAction() {
      switch action {
      case .write(let bytes): written += bytes
      case .perform(let command): commands.append(command)
      case .deliver, .suspend: break
      }
    }
    return (written, commands)
  }

  fileprivate mutating func written() -> [UInt8] { outcome().written }
}
