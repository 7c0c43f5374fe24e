import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Events that start a timer, and events that must not.
extension Suite {
  static let linkTiming = chapter(.link) {
    Case(
      "LNK-52/while-sending", "Frames that a device sends do not postpone its PING: only received ones count",
      also: ["LNK-53"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await control.perform(.fill(0))
      try await probe.open()
      try await probe.request(Wire.literal("12 0400 0100"))
      _ = try await probe.fence()
      let start = probe.now
      var seen: [WireFrame] = []
      for others in 1...8 where !seen.contains(where: { $0.kind == .ping }) {
        // A notification of Count each time, none acknowledged.
        try await control.perform(.fill(others))
        seen += try await probe.frames(for: .milliseconds(300))
      }
      let passed = (probe.now - start).inMilliseconds
      probe.expect(seen.contains { $0.kind == .data }, "no notification of Count")
      probe.expect(
        seen.contains { $0.kind == .ping },
        "no PING in \(passed) ms without a frame of the host, while the device sends")
      if bench.hasExactTime { probe.expect(passed <= 2100, "the PING came after \(passed) ms") }
      try await control.perform(.fill(0))
    }

    Case(
      "LNK-52/one-for-each", "Each PING has its own PONG, even if several are sent in one piece"
    ) { probe, _ in
      try await probe.open()
      _ = try await probe.fence()
      for count in [1, 2, 5, 16] {
        try await probe.write((0..<count).flatMap { _ in probe.frame(.ping).bytes })
        for index in 1...count {
          _ = try await probe.awaitFrame("PONG \(index) of \(count)") { $0.kind == .pong }
        }
        try await probe.expectNone("PONG") { $0.kind == .pong }
      }
    }

    Case(
      "LNK-51/no-sample", "While a retransmission is unacknowledged no round trip is measured",
      also: ["LNK-34", "LNK-55"]
    ) { probe, _ in
      for (bits, count) in [(1, 2), (2, 3), (3, 3)] as [(UInt64, Int)] {
        try await probe.open()
        guard probe.session.peerRequests >= 3 else {
          throw CaseEnd.skip("the device takes fewer than 3 requests at once")
        }
        _ = try await probe.unacknowledgedAnswers(count)
        // All frames except those in the bitmap are sent again, up to the highest that it names.
        try await probe.write(probe.frame(.nak, payload: Wire.u64(bits)))
        _ = try await probe.awaitFrame("the first answer again") { $0.kind == .data && $0.seq == 0 }
        _ = try await probe.fence()
        probe.session.expectedSeq = UInt8(count)
        try await probe.write(probe.frame(.ack))
        _ = try await probe.fence()
        // The first resend time, 200 ms at least, still applies; a measured one would be 100.
        _ = try await probe.unacknowledgedAnswers(1)
        let start = probe.now
        _ = try await probe.awaitFrame("the next answer again") { $0.kind == .data }
        let passed = (probe.now - start).inMilliseconds
        probe.expect(passed >= 195, "sent again after \(passed) ms, with bitmap \(bits)")
      }
    }
  }
}
