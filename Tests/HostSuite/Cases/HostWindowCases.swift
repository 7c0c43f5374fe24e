import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// Flow control of the host, and its timers.
extension HostSuite {
  static let hostWindows = Suite.chapter(.link) {
    Case.ofHost(
      "LNK-41/host-limit",
      "The host sends no DATA beyond its credit, which never decreases and is 64 at most", also: ["LNK-40"]
    ) { device, probe in
      try await device.open()
      // Everything that the host has sent so far was handled: the limit is 16 beyond it.
      let used = probe.session.expectedSeq
      probe.session.credit = 0
      try await probe.write(probe.frame(.ack))
      for index in 0..<40 { _ = device.submit(.rawATT([0x52, 6, 0, UInt8(index)])) }
      let first = try await probe.frames(for: .milliseconds(50)).filter { $0.kind == .data }
      probe.expect("numbers within the limit of 16", first.map(\.seq), is: (0..<16).map { used &+ $0 })
      probe.session.expectedSeq = used &+ 16
      probe.session.credit = 3
      try await probe.write(probe.frame(.ack))
      let more = try await probe.frames(for: .milliseconds(50)).filter { $0.kind == .data }
      probe.expect("frames for 3 credits more", more.count, is: 3)
    }

    Case.ofHost(
      "LNK-42/host-byte-limit", "The bytes of frames not yet handled stay within the device's limit",
      also: ["ATT-6"]
    ) { device, probe in
      try await device.open { device.synAckTLVs(nonce: $0, frames: 16, requests: 8, bytes: 1080) }
      _ = try await probe.frames(for: .milliseconds(50))
      for index in 0..<8 { _ = device.submit(.sendEncoded(Sample.json(length: 300 + index))) }
      var frames = try await probe.frames(for: .milliseconds(50)).filter { $0.kind == .data }
      // 300 + 3 bytes of PDU + 12: three fit in 1080, four do not.
      probe.expect("frames at once", frames.count, is: 3)
      // Acknowledged, not handled: the sum of ack and credit stays the same.
      let handled = probe.session.expectedSeq
      probe.session.expectedSeq &+= 3
      probe.session.credit = 16 - 3
      try await probe.write(probe.frame(.ack))
      frames = try await probe.frames(for: .milliseconds(50)).filter { $0.kind == .data }
      probe.expect("frames after an ACK without credit", frames.count, is: 0)
      probe.session.credit = 16 - 2
      try await probe.write(probe.frame(.ack))
      frames = try await probe.frames(for: .milliseconds(50)).filter { $0.kind == .data }
      probe.expect("frames after one was handled", frames.map(\.seq), is: [handled &+ 3])
    }

    Case.ofHost(
      "LNK-6/host-default-limits", "A SYNACK without LIMITS and FEATURES: one request at a time, MTU 23",
      also: ["ATT-6", "ATT-8"]
    ) { device, probe in
      try await device.open(credit: 4) { nonce in
        [.magic, .nonce(nonce), .version(1), .profileHash(0x7D92_E27D), .bootID(device.bootID)]
      }
      for _ in 0..<3 { _ = device.submit(.readCount) }
      let first = try await probe.frames(for: .milliseconds(50)).filter { $0.kind == .data }
      probe.expect("requests at once", first.count, is: 1)
      probe.expect(first.allSatisfy { $0.payload.count <= 23 }, "a PDU is longer than 23 bytes")
    }

    Case.ofHost(
      "LNK-50/host-acknowledges", "The host acknowledges one frame within 10 ms and the second one at once"
    ) { device, probe in
      try await device.open()
      _ = try await probe.frames(for: .milliseconds(50))
      var start = probe.now
      try await probe.sendData(Wire.literal("1b 0300 0100"))
      _ = try await probe.awaitFrame("ACK of one") { $0.ack == probe.session.nextSeq }
      let single = (probe.now - start).inMilliseconds
      probe.expect(single <= 10, "one frame was acknowledged after \(single) ms")
      start = probe.now
      try await probe.sendData(Wire.literal("1b 0300 0200"))
      try await probe.sendData(Wire.literal("1b 0300 0300"))
      _ = try await probe.awaitFrame("ACK of two") { $0.ack == probe.session.nextSeq }
      probe.expect("time to the ACK of two", (probe.now - start).inMilliseconds, is: 0)
    }

    Case.ofHost(
      "LNK-44/host-reads-while-shut", "A host that waits for credit still acknowledges and grants"
    ) { device, probe in
      try await device.open(credit: 2)
      for _ in 0..<20 { _ = device.submit(.readCount) }
      _ = try await probe.frames(for: .milliseconds(20))
      for _ in 0..<200 {
        try await probe.sendData(Wire.literal("1b 0300 0100"))
        try await probe.expectTaken("a notification while requests wait for credit")
      }
      try await probe.write(probe.frame(.ping))
      let pong = try await probe.awaitFrame(.pong)
      probe.expect("handled", pong.payload.first, is: probe.session.nextSeq)
    }

    Case.ofHost(
      "LNK-51/host-resend-timer",
      "The host retransmits after 100 to 500 ms, then doubles while nothing is received, up to 2 s",
      also: ["LNK-35"]
    ) { device, probe in
      try await device.open()
      _ = device.submit(.readCount)
      let first = try await probe.awaitFrame(.data)
      var last = probe.now
      let end = last + .milliseconds(4500)
      var gaps: [Double] = []
      while let frame = try await probe.nextFrame(until: end) {
        guard frame.kind == .data else { continue }
        probe.expect("seq", frame.seq, is: first.seq)
        probe.expect("payload", frame.payload, is: first.payload)
        gaps.append((probe.now - last).inMilliseconds)
        last = probe.now
      }
      probe.expect(
        gaps.count >= 3 && (100...500).contains(gaps.first ?? 0), "retransmissions after \(gaps) ms")
      for (gap, next) in zip(gaps, gaps.dropFirst()) {
        let due = min(gap * 2, 2000)
        probe.expect(abs(next - due) <= due * 0.05, "retransmissions after \(gaps) ms: not doubling")
      }
    }

    Case.ofHost(
      "LNK-52/host-pings", "The host sends PING after 1 s without input, answers PING at once and PONG never"
    ) { device, probe in
      try await device.open()
      _ = try await probe.frames(for: .milliseconds(20))
      try await probe.write(probe.frame(.ping))
      var start = probe.now
      let pong = try await probe.awaitFrame(.pong)
      probe.expect("time to the PONG", (probe.now - start).inMilliseconds, is: 0)
      probe.expect("handled", pong.payload.first, is: probe.session.nextSeq)
      try await probe.write(probe.frame(.pong, payload: [0]))
      start = probe.now
      let ping = try await probe.awaitFrame("next frame") { _ in true }
      let passed = (probe.now - start).inMilliseconds
      probe.expect("the next frame", ping.kind, is: .ping)
      probe.expect((500...2000).contains(passed), "the PING came after \(passed) ms")
    }

    Case.ofHost(
      "LNK-53/host-down", "Suspect after 3 s, down after 5 s with nothing received, although PINGs are sent"
    ) { device, probe in
      try await device.open()
      _ = try await probe.frames(for: .milliseconds(2690))
      probe.expect("events after 2.69 s", device.host.events, is: [])
      _ = try await probe.frames(for: .milliseconds(620))
      probe.expect("events after 3.31 s", device.host.events, is: [.suspected])
      _ = try await probe.frames(for: .milliseconds(1180))
      probe.expect("ends after 4.49 s", device.host.ends, is: [])
      try await probe.write(probe.frame(.pong, payload: [0]))
      probe.expect("events after a frame", device.host.events, is: [.suspected, .recovered])
      _ = try await probe.frames(for: .milliseconds(5510))
      probe.expect("ends after 5.51 s of silence", device.host.ends, is: [.silent])
    }

    Case.ofHost(
      "LNK-54/host-stalled", "PONGs without progress for 10 s while a request waits: stalled, not lost"
    ) { device, probe in
      try await device.open()
      let id = device.submit(.readCount)
      _ = try await probe.awaitFrame(.data)
      probe.session.expectedSeq &+= 1
      let handled = probe.session.expectedSeq &- 1
      // Acknowledged, never handled; the link answers every PING.
      probe.session.credit = 15
      try await probe.write(probe.frame(.ack))
      let end = probe.now + .milliseconds(8900)
      _ = try await Self.answerPings(probe, handled: handled, until: end)
      probe.expect("ends after 8.9 s", device.host.ends, is: [])
      let others = try await Self.answerPings(probe, handled: handled, until: end + .milliseconds(2200))
      probe.expect("FINs", others.filter { $0.kind == .fin }.count, is: 1)
      probe.expect("ends after 11.1 s", device.host.ends, is: [.applicationStalled])
      probe.expect("the result", device.host.results[id], is: .failed(.outcomeUnknown(.applicationStalled)))
    }
  }

  private static func answerPings(
    _ probe: Probe, handled: UInt8, until end: Instant
  ) async throws -> [WireFrame] {
    var others: [WireFrame] = []
    while let frame = try await probe.nextFrame(until: end) {
      guard frame.kind == .ping else {
        others.append(frame)
        continue
      }
      try await probe.write(probe.frame(.pong, payload: [handled]))
    }
    return others
  }
}
