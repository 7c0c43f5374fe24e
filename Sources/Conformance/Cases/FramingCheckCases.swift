import NotibotProtocol
import SuiteWire

/// Frames of each kind whose CRC or length field is wrong: in value, in range or in form.
extension Suite {
  static let framingChecks = chapter(.framing) {
    Case(
      "FRM-3/wrong-crc",
      "A frame of any kind is dropped if a bit of its CRC is wrong, or it covers other bytes", also: ["FRM-6"]
    ) { _, bench in
      try await expectDropped(bench, "a wrong CRC") { $0.withWrongChecksums }
    }

    Case("FRM-5/length-disagrees", "A frame of any kind with a wrong length field is dropped") { _, bench in
      try await expectDropped(bench, "a wrong length") { frame in
        let right = UInt16(frame.payload.count)
        // Of the whole frame, with header or CRC, of one byte more or less, of 8 bits.
        let few = [0, 1, 2, 12, 255, 256, 257, 259, 512, 528, right ^ 0x0100, right + 1, right &- 1]
        let likely = few + [right + 4, right + 8, right + 12]
        let fields = bench.hasExactTime && frame.kind == .ping ? Array(0...540) : Set(likely).sorted()
        return fields.filter { $0 != right }.map { Wire.sealed(frame.decoded.replacingLength($0)) }
      }
    }
  }

  /// Spoils frames of each kind that a device answers, and notes a finding for each that has an
  /// effect.
  private static func expectDropped(
    _ bench: Bench, _ flaw: String, _ spoiled: (WireFrame) -> [[UInt8]]
  ) async throws {
    let probe = bench.probe
    try await probe.open()
    let padding = { [UInt8](repeating: 0x55, count: $0) }
    let next = { probe.data($0, channel: $1, seq: probe.session.nextSeq) }
    let frames: [() -> WireFrame] =
      [0, 3, 12, 255, 256, 300, 528].map { length in { probe.frame(.ping, payload: padding(length)) } } + [
        { probe.frame(.ping, payload: [1, 0, 2, 0, 0, 3]) },
        { probe.frame(.ping).with(session: probe.session.id &+ 1000) },
        { next([0x0A, 0x77, 0x77], 4) }, { next([0x55], 2) }, { next(padding(300), 2) },
        { next(padding(528), 2) },
        { next(Sync(probe.makeSource()).bytes, 0) },
        { probe.syn(Probe.synTLVs(nonce: probe.makeNonce())) }, { probe.frame(.fin) },
      ]
    for make in frames {
      let frame = make()
      for bytes in spoiled(frame) { try await probe.write(bytes) }
      // On a slow line they are a second without a frame of the session (LNK-52).
      let answers = try await probe.requestFence().filter { $0.kind != .ping }
      probe.expect("answers to \(FrameText.line(of: frame)) with \(flaw)", answers, is: [])
    }
    // A NAK brings an answer again, unless an ACK has shown that it was received.
    try await probe.open()
    let start = probe.now
    let numbers = try await probe.unacknowledgedAnswers(1).map(\.seq)
    let acks = [probe.frame(.ack), probe.frame(.pong, payload: [1]), probe.frame(.data, payload: [0x55])]
    for frame in [probe.frame(.nak)] + acks.map({ $0.with(ack: probe.session.expectedSeq &+ 1) }) {
      for bytes in spoiled(frame) { try await probe.write(bytes) }
    }
    let early = try await probe.fence().filter { $0.kind == .data }
    // On a slow line the resend timer sends it again (LNK-51).
    if probe.now - start < .milliseconds(90) {
      probe.expect("numbers sent again for NAKs with \(flaw)", early.map(\.seq), is: [])
    }
    try await probe.write(probe.frame(.nak))
    let again = try await probe.fence().filter { $0.kind == .data }
    probe.expect("numbers sent again after ACKs with \(flaw)", Set(again.map(\.seq)), is: Set(numbers))
  }
}

extension WireFrame {
  /// This frame with CRCs that are wrong: a bit flipped, of other bytes, or in another form.
  fileprivate var withWrongChecksums: [[UInt8]] {
    let body = decoded
    let right = Wire.crc(body)
    let header = Array(body[..<8])
    // The CRC without some bytes of the header.
    let without = { (range: Range<Int>) in
      Wire.crc(Array(body[..<range.lowerBound]) + body[range.upperBound...])
    }
    // CRC-32 with the initial value 0: the CRC of the same bytes behind four bytes that leave 0.
    let fromZero = Wire.crc([0xFF, 0xFF, 0xFF, 0xFF] + body)
    // The last block of the encoding contains the CRC.
    let encoded = Wire.crc(Array(Wire.stuffed(body + [0xFF, 0xFF, 0xFF, 0xFF]).dropLast(4)))
    var sums: [(String, UInt32)] = [
      ("of the payload", Wire.crc(payload)), ("of the header", Wire.crc(header)),
      ("without the type", without(0..<1)),
      ("without the length", without(1..<3)),
      ("without type and length", without(0..<3)),
      ("without the session", without(3..<5)),
      ("without seq, ack and credit", without(5..<8)),
      ("without ack and credit", without(6..<8)),
      ("without the last byte", Wire.crc(Array(body.dropLast()))),
      ("of payload and header", Wire.crc(payload + header)),
      ("of 255 bytes", Wire.crc(Array(body.prefix(255)))),
      ("of 256 bytes", Wire.crc(Array(body.prefix(256)))),
      ("of a length of 8 bits", Wire.crc(Array(body.prefix(body.count & 0xFF)))),
      ("with a CRC of 0", Wire.crc(body + [0, 0, 0, 0])), ("with a zero", Wire.crc([0] + body)),
      ("with a zero behind", Wire.crc(body + [0])), ("of the encoding", Wire.crc(Wire.stuffed(body))),
      ("of the encoding before it", encoded),
      ("big-endian", right.byteSwapped), ("without the final XOR", ~right), ("from 0", fromZero),
      ("from 0 without the final XOR", ~fromZero), ("0", 0), ("FFFFFFFF", .max),
    ]
    // Of long frames one bit: they take time on a line.
    for bit in payload.count < 40 ? 0..<32 : 20..<21 {
      sums.append(("with bit \(bit) flipped", right ^ 1 << UInt32(bit)))
    }
    return sums.filter { $0.1 != right }.map { [0] + Wire.stuffed(body + Wire.u32($0.1)) + [0] }
  }
}
