import NotibotProtocol
import SuiteWire

/// The counters of a receiver: each input of a table, and its effect on the counters.
extension Suite {
  static let framingCounters = chapter(.framing) {
    Case(
      "FRM-12/candidates",
      "A complete candidate is counted by its kind: frame, echo, CRC error, malformed or text",
      also: ["FRM-2", "FRM-4", "FRM-5", "FRM-6", "FRM-7", "FRM-11"], needs: [.control]
    ) { _, bench in
      try await bench.awaitReceiver()
      let abc = Array("abc".utf8)
      let long = [UInt8](repeating: 0x55, count: 300)
      var inputs: [Input] = [
        ("zeros", [0, 0, 0, 0], DecoderCounters()),
        ("a frame", udata(abc), DecoderCounters(frames: 1)),
        (
          "two frames with one zero between them", udata(abc) + udata(long).dropFirst(),
          DecoderCounters(frames: 2)
        ),
        ("an echo", udata(long, sender: .device), DecoderCounters(echoes: 1)),
        ("text", candidate(Array("hello\r\nworld".utf8)), text(12)),
      ]
      for sender in [.host, .device] as [WireFrame.Sender] {
        for payload in [abc, long] {
          let frame = corrupted(udata(payload, sender: sender))
          inputs.append(("a wrong CRC from the \(sender)", frame, crcError(frame)))
        }
        let type: UInt8 = sender == .host ? 0x71 : 0x79
        for wrong in [2, 4, 300] {
          let frame = Wire.sealed(header(type: type, length: wrong) + abc)
          inputs.append(("length \(wrong) for 3 from the \(sender)", frame, malformed(frame)))
          let both = corrupted(frame)
          inputs.append(("length \(wrong) for 3 and a wrong CRC from the \(sender)", both, malformed(both)))
        }
      }
      // 1 byte, which is a code alone, to 11 decoded bytes.
      for count in [0, 1, 2, 3, 8, 11] {
        let short = candidate(
          Wire.stuffed(Array(header(length: 3).prefix(count) + abc.prefix(max(0, count - 8)))))
        inputs.append(("\(count) decoded bytes", short, malformed(short)))
      }
      let cut = candidate([20, 0x71, 3, 1, 1, 1, 1, 1])
      inputs.append(("a block that ends too early", cut, malformed(cut)))
      for (sender, type) in impossibleTypes {
        let frame = Wire.sealed(header(type: type | (sender == .device ? 8 : 0), length: 3) + abc)
        inputs.append(("type \(type >> 4) from the \(sender), with its CRC", frame, text(frame.count - 2)))
      }
      let tooLong = Wire.sealed(header(length: 529) + abc)
      inputs.append(("a payload length of 529", tooLong, text(tooLong.count - 2)))
      try await expectChanges(inputs, on: bench)
    }

    Case(
      "FRM-12/at-once", "Text is counted as soon as it is decided, without a zero or a line end",
      also: ["FRM-7", "FRM-10"], needs: [.control]
    ) { _, bench in
      try await bench.awaitReceiver()
      var inputs: [Input] = []
      for (sender, type) in impossibleTypes {
        let first = type | (sender == .device ? 8 : 0)
        // A code of 1 means a zero at that position.
        let bytes: [UInt8] = first == 0 ? [1, 5] : [5, first]
        inputs.append(("type \(type >> 4) from the \(sender)", [0] + bytes, text(2)))
        inputs.append(("the same followed by text", [0] + bytes + Array("abc".utf8), text(5)))
      }
      for length in [529, 530, 600, 767, 768, 784, 4112, 0xFFFF] {
        let bytes = Array(Wire.stuffed(header(length: length)).prefix(4))
        inputs.append(("a payload length of \(length)", [0] + bytes, text(4)))
      }
      for length in [0, 1, 255, 256, 512, 528] {
        let bytes = Array(Wire.stuffed(header(length: length)).prefix(5))
        inputs.append(("a payload length of \(length)", [0] + bytes, text(0)))
      }
      for type in [0x20, 0x40, 0x48, 0x58, 0x98, 0xA8, 0xB8, 0xB0, 0x18, 0x38] as [UInt8] {
        inputs.append(("a first byte of \(Wire.hex([type]))", [0, 5, type], text(0)))
      }
      try await expectChanges(inputs, on: bench)
      // After text without a zero everything is text, and a zero ends it.
      try await expectChange(("text", Array("no frame".utf8), text(8)), on: bench)
      try await expectChange(
        ("a frame without its first zero", Array(udata([1]).dropFirst()), text(udata([1]).count - 2)),
        on: bench
      )
      try await expectChange(("a frame after that", udata([1]), DecoderCounters(frames: 1)), on: bench)
    }

    Case(
      "FRM-12/overruns", "An overrun is counted with its 544th byte, and each byte of it is text",
      also: ["FRM-6", "FRM-8", "FRM-13"], needs: [.control]
    ) { _, bench in
      try await bench.awaitReceiver()
      let possible: [UInt8] = [0xFF, 0x71, 0x10, 0x01] + [UInt8](repeating: 0x55, count: 800)
      let overrun = { (count: Int) in DecoderCounters(textBytes: UInt64(count), overruns: 1) }
      try await expectChanges(
        [
          ("543 bytes", [0] + possible.prefix(543), DecoderCounters()),
          ("544 bytes", [0] + possible.prefix(544), overrun(544)),
          ("545 bytes", [0] + possible.prefix(545), overrun(545)),
          ("800 bytes and a zero", [0] + possible.prefix(800) + [0], overrun(800)),
          (
            "800 bytes and a frame", [0] + possible.prefix(800) + udata([1]),
            overrun(800) + DecoderCounters(frames: 1)
          ),
          (
            "543 bytes and a zero", [0] + possible.prefix(543) + [0],
            DecoderCounters(malformed: 1, textBytes: 543)
          ),
          // Text from its header on: it can no longer overrun.
          ("800 bytes of text", [0] + [UInt8](repeating: 0x65, count: 800) + [0], text(800)),
        ], on: bench)
    }

    Case(
      "FRM-12/silence", "Bytes that silence has turned into text are counted as text only",
      also: ["FRM-6", "FRM-9", "FRM-10"], needs: [.control]
    ) { _, bench in
      try await bench.awaitReceiver()
      let frame = udata(Array("abc".utf8))
      for count in bench.hasVirtualTime ? [1, 5, frame.count - 2] : [5] {
        let begun = [0] + Array(frame.dropFirst().prefix(count))
        try await expectChange(
          ("\(count) bytes and silence", begun, text(count)), on: bench, wait: .seconds(2.2))
        try await expectChange(("text after silence", [0x55, 0x55], text(2)), on: bench)
      }
      try await expectChange(("a frame after silence", frame, DecoderCounters(frames: 1)), on: bench)
      // Silence between candidates has no effect.
      try await expectChange(("silence", [0], DecoderCounters()), on: bench, wait: .seconds(2.2))
    }

    Case(
      "FRM-12/every-byte", "Of noise between frames every byte that is not a zero is counted as text, once",
      also: ["FRM-6"], needs: [.control]
    ) { _, bench in
      try await bench.awaitReceiver()
      let probe = bench.probe
      for round in 1...20 {
        let noise = (0..<300).map { _ in UInt8(truncatingIfNeeded: probe.random.next() >> 24) }
        let bytes = udata([1]) + noise + udata([2]) + udata([3], sender: .device)
        let expected = [UInt64(noise.count { $0 != 0 }), 2, 1]
        let counts = { (change: DecoderCounters) in [change.textBytes, change.frames, change.echoes] }
        let change = try await change(by: bytes, on: bench) { counts($0) == expected }
        probe.expect("text bytes, frames and echoes of round \(round)", counts(change), is: expected)
      }
    }
  }

  /// An input, and its effect on the counters.
  private typealias Input = (what: String, bytes: [UInt8], change: DecoderCounters)

  /// A valid header: UDATA from the host, session 0, channel 1.
  private static func header(type: UInt8 = 0x71, length: Int) -> [UInt8] {
    [type] + Wire.u16(UInt16(length)) + [0, 0, 0, 0, 0]
  }

  private static func udata(_ payload: [UInt8], sender: WireFrame.Sender = .host) -> [UInt8] {
    WireFrame(kind: .udata, sender: sender, channel: 1, payload: payload).bytes
  }

  /// The bytes between two zeros.
  private static func candidate(_ bytes: [UInt8]) -> [UInt8] { [0] + bytes + [0] }

  /// The same frame with a CRC that is wrong.
  private static func corrupted(_ frame: [UInt8]) -> [UInt8] {
    let decoded = Wire.unstuffed(frame.filter { $0 != 0 }) ?? []
    // No byte of it changes to or from 0, so that its encoding has the same length.
    let last = decoded[decoded.count - 1]
    return candidate(Wire.stuffed(decoded.dropLast() + [last == 1 || last == 0 ? last ^ 2 : last ^ 1]))
  }

  private static func text(_ count: Int) -> DecoderCounters { DecoderCounters(textBytes: UInt64(count)) }

  private static func crcError(_ frame: [UInt8]) -> DecoderCounters {
    DecoderCounters(crcErrors: 1, textBytes: UInt64(frame.count - 2))
  }

  private static func malformed(_ frame: [UInt8]) -> DecoderCounters {
    DecoderCounters(malformed: 1, textBytes: UInt64(frame.count - 2))
  }

  /// The high half of the first byte, and the direction in which it is impossible.
  private static let impossibleTypes: [(WireFrame.Sender, UInt8)] =
    [.host, .device].flatMap { sender in
      [0x00, 0xC0, 0xD0, 0xE0, 0xF0].map { (sender, $0) }
    } + [(.host, 0x10), (.host, 0x30), (.device, 0x20)]

  // MARK: Reading the counters

  private static func expectChanges(_ inputs: [Input], on bench: Bench) async throws {
    for input in inputs {
      try await expectChange(input, on: bench)
      // The rest of it must not be part of the next one.
      try await bench.probe.write([0])
      _ = try await bench.probe.frames(for: bench.arrivalTime)
    }
  }

  private static func expectChange(
    _ input: Input, on bench: Bench, wait: Duration? = nil, file: String = #fileID, line: Int = #line
  ) async throws {
    let change = try await change(by: input.bytes, on: bench, wait: wait) { $0 == input.change }
    bench.probe.expect("the counters for \(input.what)", change, is: input.change, file: file, line: line)
  }

  /// Reads the counters again while they are not as expected: a busy device takes bytes later.
  private static func change(
    by bytes: [UInt8], on bench: Bench, wait: Duration? = nil, isExpected: (DecoderCounters) -> Bool
  ) async throws -> DecoderCounters {
    let control = try bench.requireControl()
    let before = try await control.receiverCounters()
    try await bench.probe.write(bytes)
    _ = try await bench.probe.frames(for: wait ?? bench.arrivalTime)
    var change = try await control.receiverCounters() - before
    for _ in 0..<6 where !isExpected(change) {
      _ = try await bench.probe.frames(for: bench.arrivalTime)
      change = try await control.receiverCounters() - before
    }
    return change
  }
}

extension Bench {
  /// The time of bytes to the device on a slow line. Seven of it are below the silence of FRM-9.
  fileprivate var arrivalTime: Duration { .milliseconds(hasVirtualTime ? 70 : 50) }

  /// Waits until the device has started and receives.
  fileprivate func awaitReceiver() async throws {
    try await probe.open()
    _ = try await probe.fence()
  }
}

extension DecoderCounters {
  fileprivate static func + (left: Self, right: Self) -> Self { left - (DecoderCounters() - right) }
}
