import Testing

@testable import SerialLink

@Suite struct TelnetTests {
  static let streams: [(name: String, bytes: [UInt8], events: [TelnetEvent])] = [
    ("data", [0x61, 0x00, 0x0D, 0x62], [.data([0x61, 0x00, 0x0D, 0x62])]),
    ("doubled IAC", [0x61, 0xFF, 0xFF, 0xFF, 0xFF, 0x62], [.data([0x61, 0xFF, 0xFF, 0x62])]),
    (
      "a negotiation in data", [0x61, 0xFF, 0xFB, 0x2C, 0x62],
      [.data([0x61]), .negotiation(.will, option: 44), .data([0x62])]
    ),
    (
      "a rate of 230400", [0xFF, 0xFA, 0x2C, 0x65, 0x00, 0x03, 0x84, 0x00, 0xFF, 0xF0],
      [.subnegotiation([0x2C, 0x65, 0x00, 0x03, 0x84, 0x00])]
    ),
    (
      "an IAC in a subnegotiation", [0xFF, 0xFA, 0x2C, 0x6B, 0xFF, 0xFF, 0xFF, 0xF0],
      [.subnegotiation([0x2C, 0x6B, 0xFF])]
    ),
    ("an end without a beginning", [0xFF, 0xF0, 0x61], [.command(0xF0), .data([0x61])]),
    (
      "a subnegotiation that a verb interrupts", [0xFF, 0xFA, 0x2C, 0xFF, 0xFD, 0x00, 0x61],
      [.negotiation(.do, option: 0), .data([0x61])]
    ),
    (
      "a subnegotiation in another", [0xFF, 0xFA, 0x2C, 0x01, 0xFF, 0xFA, 0x2C, 0x02, 0xFF, 0xF0],
      [.subnegotiation([0x2C, 0x02])]
    ),
    ("no operation", [0xFF, 0xF1], [.command(0xF1)]),
    ("an option of IAC", [0xFF, 0xFD, 0xFF, 0x61], [.negotiation(.do, option: 0xFF), .data([0x61])]),
    (
      "a subnegotiation of 257 bytes",
      [0xFF, 0xFA] + [UInt8](repeating: 1, count: 257) + [0xFF, 0xF0, 0x61], [.oversized, .data([0x61])]
    ),
  ]

  @Test(arguments: streams.indices)
  func `a stream has the same events wherever it is split`(index: Int) {
    let stream = Self.streams[index]
    for split in 0...stream.bytes.count {
      var decoder = TelnetDecoder()
      let events =
        decoder.decode(Array(stream.bytes[..<split])) + decoder.decode(Array(stream.bytes[split...]))
      #expect(joined(events) == stream.events, "\(stream.name), split at \(split)")
    }
    var decoder = TelnetDecoder()
    let events = stream.bytes.flatMap { decoder.decode([$0]) }
    #expect(joined(events) == stream.events, "\(stream.name), byte by byte")
  }

  @Test func `an endless subnegotiation takes at most its limit`() {
    var decoder = TelnetDecoder()
    _ = decoder.decode([0xFF, 0xFA])
    for _ in 0..<1000 { #expect(decoder.decode([UInt8](repeating: 7, count: 1000)) == []) }
    #expect(MemoryLayout.size(ofValue: decoder) < 64)
    #expect(decoder.decode([0xFF, 0xF0, 0x61]) == [.oversized, .data([0x61])])
  }

  @Test func `every byte comes through escaping and back`() {
    let all = (UInt8.min...UInt8.max).flatMap { [$0, 0xFF, $0] as [UInt8] }
    var decoder = TelnetDecoder()
    #expect(decoder.decode(Telnet.escaped(all)) == [.data(all)])
    #expect(Telnet.escaped([0x61, 0xFF]) == [0x61, 0xFF, 0xFF])
  }

  @Test func `messages of the COM port match RFC 2217`() {
    let rate = ComPortMessage(.baudRate, ComPortMessage.bytes(of: 0xFF00), isFromServer: false)
    #expect(rate.encoded == [0xFF, 0xFA, 0x2C, 0x01, 0x00, 0x00, 0xFF, 0xFF, 0x00, 0xFF, 0xF0])
    let answer = ComPortMessage([0x2C, 0x65, 0x00, 0x00, 0x25, 0x80])
    #expect(answer == ComPortMessage(.baudRate, [0, 0, 0x25, 0x80], isFromServer: true))
    #expect(answer?.number == 9600)
    #expect(ComPortMessage([0x2C]) == nil)
    #expect(ComPortMessage([0x01, 0x01]) == nil)
    #expect(ComPortMessage([0x2C, 99]) == nil)
  }

  /// Adjacent data as one event, because a split divides it.
  private func joined(_ events: [TelnetEvent]) -> [TelnetEvent] {
    events.reduce(into: []) { result, event in
      if case .data(let more) = event, case .data(let before)? = result.last {
        result[result.count - 1] = .data(before + more)
      } else {
        result.append(event)
      }
    }
  }
}
