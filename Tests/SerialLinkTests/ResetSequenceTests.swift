import NIOCore
import Testing

@testable import SerialLink

@Suite struct ResetSequenceTests {
  /// `DR` at milliseconds, from lines that an open has asserted.
  private func plan(_ sequence: ResetSequence, from start: ModemLines = ModemLines(dtr: true, rts: true))
    -> [String]
  {
    let (changes, length) = sequence.changes(from: start)
    return changes.map { change in
      "\(milliseconds(change.offset)) \(change.lines.dtr ? 1 : 0)\(change.lines.rts ? 1 : 0)"
    } + ["\(milliseconds(length))"]
  }

  private func milliseconds(_ duration: Duration) -> Int64 {
    duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
  }

  // Expected by hand from esptool's reset.py.
  @Test(arguments: [
    (ResetStrategy.hard, ["0 01", "100 00", "100"]),
    (.usbHard, ["0 00", "0 01", "200 00", "400"]),
    (.tight, ["0 00", "0 11", "0 01", "100 10", "150 00", "150"]),
    (.tightLong, ["0 00", "0 11", "0 01", "100 10", "650 00", "650"]),
    (.classic, ["0 01", "0 01", "100 11", "100 10", "150 00", "150"]),
    (.classicLong, ["0 01", "0 01", "100 11", "100 10", "650 00", "650"]),
    (.usbJTAG, ["0 00", "100 10", "200 11", "200 01", "300 00", "300"]),
    (.cp2102c, ["0 01", "100 10", "150"]),
    (.cp2102cLong, ["0 01", "100 10", "650"]),
  ])
  func `each strategy drives the lines as esptool does`(strategy: ResetStrategy, expected: [String]) {
    #expect(plan(strategy.sequence) == expected)
    #expect(strategy.sequence.name == strategy.rawValue)
  }

  @Test func `a line that is not given keeps its state`() throws {
    let sequence = try ResetSequence(parsing: "R0|W1|D0")
    #expect(plan(sequence) == ["0 10", "1000 00", "1000"])
    #expect(plan(sequence, from: ModemLines(dtr: false, rts: false)) == ["0 00", "1000 00", "1000"])
  }

  @Test func `the classic sequence as a text is the classic sequence`() throws {
    let sequence = try ResetSequence(parsing: "D0|R1|W0.1|D1|R0|W0.05|D0")
    #expect(sequence.steps == ResetStrategy.classic.sequence.steps)
    #expect(sequence.name == "custom")
  }

  @Test func `both lines of one step change at once`() throws {
    #expect(plan(try ResetSequence(parsing: "U0,1|W0.000250|U1,0")) == ["0 01", "0 10", "0"])
  }

  @Test(arguments: [
    "", "|", "D0|", "d0", "D2", "D", "D01", "U1", "U0,2", "U0,1,1", "W", "W.5", "W1.", "W-1", "W1e3",
    "W0.1.1",
    "W10.000001", "W1234567", "D0 |R1", "X1", "W1", "D0\u{0}", "W１",
  ])
  func `an invalid sequence is refused`(text: String) {
    #expect(throws: Failure.self) { try ResetSequence(parsing: text) }
  }

  @Test func `a sequence has limits`() throws {
    let steps = Array(repeating: "D0", count: ResetSequence.stepsLimit)
    #expect(try ResetSequence(parsing: steps.joined(separator: "|")).steps.count == 64)
    #expect(throws: Failure(.usage, "a sequence has at most 64 steps")) {
      try ResetSequence(parsing: (steps + ["D1"]).joined(separator: "|"))
    }
    #expect(throws: Failure(.usage, "a sequence has at most 256 bytes")) {
      try ResetSequence(parsing: String(repeating: "W10.000000|", count: 24))
    }
    _ = try ResetSequence(parsing: "D0|W10|W10|W10")
    #expect(throws: Failure(.usage, "a sequence takes at most 30 seconds")) {
      try ResetSequence(parsing: "D0|W10|W10|W10|W0.000001")
    }
  }

  @Test(arguments: [
    (0x10C4, 0xEA60, "cp210x", ResetStrategy.Wiring.bridge), (0x10C4, 0xEA64, "cp210x", .cp2102c),
    (0x1A86, 0x7523, "ch341", .bridge), (0x1A86, 0x55D4, "cdc_acm", .bridge),
    (0x303A, 0x1001, "cdc_acm", .chip), (0x303A, 0x1002, "cdc_acm", .bridge),
    (0x303A, 0x0009, "cdc_acm", .chip), (0x1209, 0x0001, "cdc_acm", .chip),
    (0x1209, 0x0001, "ftdi_sio", .bridge),
  ])
  func `vendor, product and driver decide how a board is wired`(
    vendor: UInt16, product: UInt16, driver: String, expected: ResetStrategy.Wiring
  ) {
    #expect(ResetStrategy.Wiring(id: USBID(vendor: vendor, product: product), driver: driver) == expected)
  }

  @Test func `a port without USB is wired as a bridge`() {
    #expect(ResetStrategy.Wiring(id: nil, driver: "serial8250") == .bridge)
  }

  @Test func `the loader is tried in esptool's order`() {
    #expect(
      ResetStrategy.attempts(into: .loader, over: .bridge) == [.tight, .tightLong, .classic, .classicLong])
    #expect(ResetStrategy.attempts(into: .loader, over: .remote) == [.classic, .classicLong])
    #expect(ResetStrategy.attempts(into: .loader, over: .chip) == [.usbJTAG])
    #expect(ResetStrategy.attempts(into: .loader, over: .cp2102c) == [.cp2102c, .cp2102cLong])
    for target in ResetTarget.allCases {
      for wiring in [ResetStrategy.Wiring.bridge, .cp2102c, .chip, .remote] {
        #expect(ResetStrategy.attempts(into: target, over: wiring).allSatisfy { $0.target == target })
      }
    }
  }

  @Test func `a pseudo-terminal has no lines for a sequence, and stays open`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let directory = try TemporaryDirectory()
    let host = try await Recording {
      try await SerialChannel.open(path: path, options: directory.options, on: testLoop, initializer: $0)
    }
    let channel = host.channel
    await #expect(
      throws: PortError(.noModemLines, port: path, operation: "drive the modem lines of")
    ) { try await SerialChannel.play(.hard, on: channel) }
    #expect(channel.isActive)
    try await channel.close()
    await #expect(
      throws: PortError(.deviceGone, port: "port", operation: "drive the modem lines of")
    ) { try await SerialChannel.play(.hard, on: channel) }
  }
}
