import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// The boundaries of windows and limits, and events that must not change them.
extension Suite {
  static let linkLimits = chapter(.link) {
    Case(
      "LNK-13/while-busy",
      "The same SYN gets the same SYNACK, first credit included, while the application is busy",
      needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
      let first = try await probe.openSession(tlvs)
      try await control.perform(.stall)
      for _ in 0..<2 { try await probe.sendData([0x55], channel: 2) }
      _ = try await probe.fence()
      try await probe.write(probe.syn(tlvs))
      let again = try await probe.awaitFrame(.synAck)
      probe.expect(
        "session, seq, ack, credit",
        [again.session, UInt16(again.seq), UInt16(again.ack), UInt16(again.credit)],
        is: [first.session, 0, 0, UInt16(first.credit)])
      try await control.perform(.resume)
    }

    Case(
      "LNK-14/old-nonce-after-fin", "Repeating the SYN of a session that FIN has ended opens nothing",
      also: ["LNK-24"]
    ) { probe, _ in
      let tlvs = Probe.synTLVs(nonce: probe.makeNonce())
      try await probe.open(tlvs)
      try await probe.write(probe.frame(.fin))
      _ = try await probe.awaitFrame(.ack)
      for _ in 0..<3 { try await probe.write(probe.syn(tlvs)) }
      let answers = try await probe.frames(for: .milliseconds(50))
      probe.expect("answers to the old SYN", answers.filter { $0.kind == .synAck }, is: [])
      try await probe.open()
      _ = try await probe.readCount()
    }

    Case(
      "LNK-20/any-second", "There are ten RSTs in any second, not only in each one that a clock begins",
      needs: [.longWaits], alsoAtWrap: .milliseconds(1200)
    ) { probe, _ in
      try await probe.open()
      var times: [Instant] = []
      for _ in 0..<100 {
        var stray = probe.frame(.ping)
        stray.session = probe.session.id &+ 1000
        try await probe.write(stray)
        for frame in try await probe.frames(for: .milliseconds(25)) where frame.kind == .rst {
          times.append(probe.now)
        }
      }
      probe.expect(!times.isEmpty, "no RST in 2.5 s")
      probe.expectTenASecond(times)
    }

    Case(
      "LNK-31/credit-of-a-bad-ack", "The credit of a frame with an impossible ack is ignored",
      also: ["LNK-41"]
    ) { probe, _ in
      try await probe.openShut()
      try await probe.sendData([0x0A, 3, 0])
      _ = try await probe.fence()
      for ack in [1, 77, 255] as [UInt8] {
        var wrong = probe.frame(.ack)
        (wrong.ack, wrong.credit) = (ack, 64)
        try await probe.write(wrong)
        let sent = try await probe.fence() + probe.frames(for: probe.settleTime)
        probe.expect("DATA after ack \(ack)", sent.filter { $0.kind == .data }, is: [])
      }
      probe.session.credit = 1
      try await probe.write(probe.frame(.ack))
      _ = try await probe.awaitFrame(.data)
    }

    Case(
      "LNK-32/edge-of-the-window",
      "frames − 1 above the expected number is out of order, the next number outside the window",
      also: ["LNK-33"]
    ) { probe, bench in
      try await probe.open()
      _ = try await probe.readCount()
      _ = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 100 : 30))
      let edge = probe.session.nextSeq &+ UInt8(probe.session.peerFrames)
      try await probe.write(probe.data([0x55], channel: 2, seq: edge))
      let beyond = try await probe.frames(for: .milliseconds(60)).map(\.kind)
      probe.expect("answers to the number beyond the window", Set(beyond), is: [.ack])
      try await probe.write(probe.data([0x55], channel: 2, seq: edge &- 1))
      let inside = try await probe.awaitFrame("NAK for the last number of the window") { $0.kind == .nak }
      probe.expect("ack of the NAK", inside.ack, is: probe.session.nextSeq)
    }

    Case(
      "LNK-32/beyond-the-bytes", "DATA beyond the granted bytes is dropped, and answered with an ACK",
      also: ["LNK-8", "LNK-42"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open()
      let (frames, bytes) = (probe.session.peerFrames, probe.session.peerBytes)
      let size = min(bytes / frames + 1, 540)
      let fitting = bytes / size
      guard size > 12, fitting < frames else {
        throw CaseEnd.skip("\(frames) frames of any length fit in \(bytes) bytes")
      }
      let payload = [UInt8](repeating: 0x55, count: size - 12)
      try await control.perform(.stall)
      for _ in 0..<fitting { try await probe.sendData(payload, channel: 2) }
      try await probe.expectTaken("\(fitting) frames of \(size) bytes in \(bytes)")
      _ = try await probe.frames(for: .milliseconds(100))
      try await probe.write(probe.data(payload, channel: 2, seq: UInt8(fitting)))
      let answer = try await probe.awaitFrame("answer beyond the bytes") { $0.kind != .ping }
      probe.expect("kind and ack of the answer", "\(answer.kind) \(answer.ack)", is: "ACK \(fitting)")
      if fitting + 1 < frames {
        // One ACK in 20 ms is enough.
        _ = try await probe.frames(for: .milliseconds(50))
        try await probe.write(probe.data(payload, channel: 2, seq: UInt8(fitting + 1)))
        let answer = try await probe.awaitFrame("answer beyond bytes and hole") { $0.kind != .ping }
        probe.expect("kind and ack beyond a hole", "\(answer.kind) \(answer.ack)", is: "ACK \(fitting)")
      }
      try await control.perform(.resume)
      _ = try await probe.awaitFrame("credit again") { Int($0.credit) == frames }
      try await probe.sendData(payload, channel: 2)
      try await probe.expectTaken("the dropped frame")
    }

    Case(
      "LNK-32/just-the-bytes", "Frames that fill the granted bytes exactly are accepted",
      also: ["LNK-8", "LNK-42"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      for isLongFirst in [true, false] {
        try await probe.open()
        let (frames, bytes) = (probe.session.peerFrames, probe.session.peerBytes)
        guard let lengths = probe.payloadsFillingBytes else {
          throw CaseEnd.skip("\(frames) frames of any length fit in \(bytes) bytes")
        }
        try await control.perform(.stall)
        for length in isLongFirst ? lengths : lengths.reversed() {
          try await probe.sendData([UInt8](repeating: 0x55, count: length), channel: 2)
        }
        try await probe.expectTaken("\(lengths.count) frames of \(bytes) bytes together")
        _ = try await probe.frames(for: .milliseconds(100))
        try await probe.write(probe.data([0x55], channel: 2, seq: probe.session.nextSeq))
        let answer = try await probe.awaitFrame("answer beyond the bytes") { $0.kind != .ping }
        probe.expect(
          "kind and ack of the answer", "\(answer.kind) \(answer.ack)", is: "ACK \(probe.session.nextSeq)")
        try await control.perform(.resume)
        _ = try await probe.awaitFrame("credit again") { Int($0.credit) == frames }
        try await probe.sendData([0x55], channel: 2)
        try await probe.expectTaken("the dropped frame")
      }
    }

    Case(
      "LNK-34/nak-outside", "A NAK with an impossible ack makes the device send nothing again",
      also: ["LNK-31"]
    ) { probe, _ in
      try await probe.open()
      _ = try await probe.unacknowledgedAnswers(2)
      for ack in [3, 100, 255] as [UInt8] {
        var wrong = probe.frame(.nak)
        wrong.ack = ack
        try await probe.write(wrong)
      }
      let again = try await probe.fence().filter { $0.kind == .data }
      probe.expect("frames sent again", again, is: [])
    }

    Case(
      "LNK-3/half-a-bitmap", "A NAK with half a bitmap is dropped: nothing is sent again for it",
      also: ["LNK-34"]
    ) { probe, _ in
      try await probe.open()
      _ = try await probe.unacknowledgedAnswers(2)
      for length in [1, 4, 7] {
        try await probe.write(probe.frame(.nak, payload: [UInt8](repeating: 0, count: length)))
      }
      let again = try await probe.fence().filter { $0.kind == .data }
      probe.expect("frames sent again", again, is: [])
    }

    Case(
      "LNK-42/byte-limit", "The unhandled bytes of the device's frames stay within the host's limit",
      also: ["LNK-8"]
    ) { probe, _ in
      try await probe.openWide(Probe.synTLVs(nonce: probe.makeNonce(), bytes: 1080))
      guard probe.session.peerMTU >= 345 else {
        throw CaseEnd.skip("the device's MTU takes no part of 340 bytes")
      }
      // An echo of 340 bytes is a frame of 357: three fit in 1080. The answer to the fourth part
      // does not.
      let base = probe.session.expectedSeq
      for index in 0..<4 {
        let part = Wire.literal("0600") + Wire.u16(UInt16(340 * index)) + [UInt8](repeating: 0x20, count: 340)
        try await probe.sendData([0x16] + part)
        guard index < 3 else { break }
        _ = try await probe.awaitFurther("echo \(index)") {
          $0.kind == .data && $0.seq == base &+ UInt8(index)
        }
      }
      let held = try await probe.fence() + probe.frames(for: probe.settleTime)
      probe.expect(
        "numbers beyond 1080 bytes", held.filter { $0.kind == .data && $0.seq == base &+ 3 }, is: [])
      probe.session.expectedSeq = base &+ 3
      try await probe.write(probe.frame(.ack))
      _ = try await probe.awaitFrame("the fourth answer") { $0.kind == .data && $0.seq == base &+ 3 }
    }

    Case(
      "LNK-50/credit-at-once", "When credit grows from 0, an ACK reports it at once", also: ["LNK-40"],
      needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open()
      let frames = probe.session.peerFrames
      try await control.perform(.stall)
      for _ in 0..<frames { try await probe.sendData([0x55], channel: 2) }
      _ = try await probe.awaitFrame("ACK without credit") { $0.ack == UInt8(frames) && $0.credit == 0 }
      _ = try await probe.frames(for: .milliseconds(100))
      try await control.perform(.resume)
      let start = probe.now
      _ = try await probe.awaitFrame("credit") { $0.credit > 0 && $0.kind != .synAck }
      let passed = (probe.now - start).inMilliseconds
      probe.expect(passed <= (bench.hasExactTime ? 0 : 500), "reported after \(passed) ms")
    }
  }
}

extension Probe {
  /// Lengths of payloads that fill the bytes of the peer's limit exactly, in at most its frames;
  /// the longest frames come first. Nil if all its frames leave bytes over.
  var payloadsFillingBytes: [Int]? {
    var sizes = [Int](repeating: 540, count: session.peerBytes / 540)
    let rest = session.peerBytes - 540 * sizes.count
    if rest > 0 { sizes.append(rest) }
    // A frame has at least 13 bytes: the previous one gives some away.
    if let last = sizes.last, last < 13, sizes.count > 1 {
      sizes[sizes.count - 2] -= 13
      sizes[sizes.count - 1] += 13
    }
    return sizes.count <= session.peerFrames ? sizes.map { $0 - 12 } : nil
  }
}

extension Instant {
  /// Milliseconds since the clock's origin.
  fileprivate var inMilliseconds: Double { Double(nanoseconds) / 1_000_000 }
}
