import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// How the host opens, maintains and ends a session.
extension HostSuite {
  static let hostSession = Suite.chapter(.link) {
    Case.host(
      "LNK-6/host-syn",
      "The host's SYN: MAGIC first, a random nonce, versions, limits in range, zeros in the header",
      also: ["LNK-2", "LNK-8", "LNK-1", "LNK-5"]
    ) { _, bench in
      var nonces: Set<UInt64> = []
      for seed in 0..<3 as Range<UInt64> {
        let device = HostBench(
          configuration: HostConfiguration(), seed: bench.seed &+ seed, record: bench.record,
          wrapLine: bench.wrapLine)
        let probe = device.probe
        device.connect()
        let syn = try await probe.awaitFrame(.syn)
        let tlvs = try probe.require(TLV.parse(syn.payload), "the SYN's TLVs run past its end")
        probe.expect("session", syn.session, is: 0)
        probe.expect(
          "channel, seq, ack, credit", [syn.channel, syn.seq, syn.ack, syn.credit], is: [0, 0, 0, 0])
        probe.expect("first TLV", tlvs.first, is: .magic)
        probe.expect("VERSIONS", tlvs.value(of: 0x83), is: [1, 1])
        probe.expect(
          "TLVs that are listed for another frame or too short", TLV.strange(tlvs, in: .syn), is: [])
        let limits = tlvs.value(of: 0x06) ?? []
        probe.expect("length of LIMITS", limits.count, is: 8)
        if limits.count == 8 { PeerLimits(tlvs).expectInRange(probe) }
        let features = tlvs.number(of: 0x05) ?? 0
        probe.expect(features & 0b0110 != 0b0100, "FEATURES is \(features): bit 2 without bit 1")
        nonces.insert(tlvs.number(of: 0x82) ?? 0)
      }
      bench.probe.expect("different nonces", nonces.count, is: 3)
    }

    Case.ofHost(
      "LNK-11/syn-times",
      "An unanswered SYN is repeated after 250 ms, then every 500 ms, after 10 s every 2 s"
    ) { device, probe in
      device.connect()
      let first = try await probe.awaitFrame(.syn)
      let start = probe.now
      var times: [Double] = []
      let end = start + .seconds(20)
      while let frame = try await probe.nextFrame(until: end) {
        probe.expect(frame == first, "another SYN than the first: \(frame)")
        times.append((probe.now - start).inMilliseconds)
      }
      let gaps = zip(times, [0] + times).map { $0 - $1 }
      for (index, gap) in gaps.enumerated() {
        // The gap that spans the tenth second can be of either kind.
        let began = times[index] - gap
        let due: [Double] =
          index == 0 ? [250] : began >= 10_000 ? [2000] : times[index] > 10_000 ? [500, 2000] : [500]
        probe.expect(
          due.contains { abs(gap - $0) <= $0 * 0.2 }, "SYN \(index + 2) came \(gap) ms after the one before")
      }
      probe.expect((20...30).contains(times.count), "\(times.count) more SYNs in 20 s")
    }

    Case.ofHost(
      "LNK-15/other-nonce", "The host accepts only the SYNACK with its nonce, and sends an ACK at once"
    ) { device, probe in
      device.connect()
      let nonce = try await device.awaitSyn()
      let start = probe.now
      try await probe.write(device.synAck(device.synAckTLVs(nonce: nonce ^ 1)))
      let none = try await probe.frames(for: .milliseconds(100))
      probe.expect("frames after a SYNACK with another nonce", none, is: [])
      try await probe.write(device.synAck(device.synAckTLVs(nonce: nonce)))
      let ack = try await probe.awaitFrame(.ack)
      probe.expect("time to the ACK", (probe.now - start).inMilliseconds, is: 100)
      probe.expect("session of the ACK", ack.session, is: device.sessionID)
      probe.expect("ack", ack.ack, is: 0)
    }

    Case.ofHost(
      "LNK-17/hello-during-syn", "A HELLO while a SYN is unanswered triggers the same SYN at once"
    ) { device, probe in
      device.connect()
      let first = try await probe.awaitFrame(.syn)
      _ = try await probe.frames(for: .milliseconds(50))
      let start = probe.now
      try await probe.write(device.hello(bootID: 5))
      let again = try await probe.awaitFrame(.syn)
      probe.expect("time to the SYN", (probe.now - start).inMilliseconds, is: 0)
      probe.expect(again == first, "another SYN than the first")
    }

    Case.ofHost(
      "LNK-17/hello-of-open-session", "A HELLO with the boot id of the open session is ignored"
    ) { device, probe in
      try await device.open()
      _ = try await probe.frames(for: .milliseconds(50))
      try await probe.write(device.hello(bootID: device.bootID))
      let answers = try await probe.frames(for: .milliseconds(200))
      probe.expect("answers", answers, is: [])
      probe.expect("ends of the session", device.host.ends, is: [])
    }

    Case.ofHost(
      "LNK-19/malformed-answers",
      "Malformed HELLO, SYNACK and RST are dropped, and so is a SYNACK with a version that was not offered",
      also: ["LNK-7", "LNK-6"]
    ) { device, probe in
      device.connect()
      let nonce = try await device.awaitSyn()
      let good = device.synAckTLVs(nonce: nonce)
      let boot = good.last ?? .magic
      let payloads: [(String, WireFrame.Kind, [UInt8])] = [
        ("an empty SYNACK", .synAck, []), ("SYNACK without BOOT_ID", .synAck, good.dropLast().payload),
        ("SYNACK without VERSION", .synAck, [TLV.magic, .nonce(nonce), boot].payload),
        ("SYNACK with version 2", .synAck, [TLV.magic, .nonce(nonce), .version(2), boot].payload),
        ("SYNACK for session 0", .synAck, good.payload),
        ("SYNACK with NONCE twice", .synAck, good.payload + TLV.nonce(nonce).bytes),
        ("SYNACK with a TLV past its end", .synAck, good.payload + [0x0B, 4, 0]),
        ("SYNACK with MAGIC last", .synAck, (good.dropFirst() + [.magic]).payload),
        (
          "SYNACK with short LIMITS", .synAck,
          [TLV.magic, .nonce(nonce), .version(1), TLV(6, [4]), boot].payload
        ),
        ("HELLO without BOOT_ID", .hello, [TLV.magic, .versions(1, 1)].payload),
        ("RST without REASON", .rst, [TLV.magic, .nonce(nonce), .versions(1, 1)].payload),
        ("RST without VERSIONS", .rst, [TLV.magic, .nonce(nonce), .reason(2)].payload),
      ]
      for (what, kind, payload) in payloads {
        let session = kind == .synAck && !what.hasSuffix("session 0") ? device.sessionID : 0
        try await probe.write(WireFrame(kind: kind, sender: .device, session: session, payload: payload))
        let answers = try await probe.frames(for: .milliseconds(1))
        probe.expect("answers to \(what)", answers.filter { $0.kind != .syn }, is: [])
        probe.expect("answers at once to \(what)", answers, is: [])
      }
      probe.expect("ends", device.host.ends, is: [])
      try await probe.write(device.synAck(good))
      _ = try await probe.awaitFrame(.ack)
    }

    Case.host(
      "LNK-5/unknown-tlv-in-synack", "TLVs that the host cannot know have no effect", also: ["LNK-7"]
    ) { _, bench in
      let device = bench.makeHost()
      try await device.open { nonce in
        device.synAckTLVs(nonce: nonce) + [TLV(0x7F, [1, 2, 3]), TLV(0x60, []), TLV(0x0B, [1, 0, 0, 0, 9])]
      }
    }

    Case.ofHost(
      "LNK-20/host-sends-no-rst", "The host does not answer frames of other sessions"
    ) { device, probe in
      try await device.open()
      _ = try await probe.frames(for: .milliseconds(50))
      for kind in [.data, .ack, .nak, .ping, .pong, .fin, .udata] as [WireFrame.Kind] {
        var stray = probe.frame(kind, payload: kind == .data || kind == .pong ? [0x1B, 3, 0, 1, 0] : [])
        stray.session = device.sessionID &+ 7
        stray.channel = kind == .data ? 4 : 0
        try await probe.write(stray)
      }
      let answers = try await probe.frames(for: .milliseconds(300))
      probe.expect("answers to frames of another session", answers, is: [])
      probe.expect("events", device.host.events, is: [])
      probe.expect("ends", device.host.ends, is: [])
    }

    Case.ofHost(
      "LNK-21/rst-during-syn",
      "While a SYN is unanswered an RST with its nonce ends the attempt, any other does not", also: ["LNK-18"]
    ) { device, probe in
      device.connect()
      let nonce = try await device.awaitSyn()
      try await probe.write(device.rst(session: 0, reason: 2, also: [.nonce(nonce ^ 1)]))
      try await probe.write(device.rst(session: 77, reason: 1))
      try await probe.write(device.rst(session: 0, reason: 4))
      probe.expect("ends after RSTs for others", device.host.ends, is: [])
      try await probe.write(device.rst(session: 0, reason: 2, also: [.nonce(nonce)]))
      guard case .refused(let reason, _)? = device.host.ends.first else {
        return probe.expect(false, "an RST with the nonce ended nothing: \(device.host.ends)")
      }
      probe.expect("the reported reason", reason, is: .noCommonVersion)
      let later = try await probe.frames(for: .seconds(3))
      probe.expect("frames after the refusal", later, is: [])
    }

    Case.ofHost(
      "LNK-22/rst-ends-session", "RST reason 1 with the session's id ends it; the host opens another"
    ) { device, probe in
      try await device.open()
      try await probe.write(
        device.rst(session: device.sessionID &+ 1, reason: 1, also: [.bootID(device.bootID)]))
      try await probe.write(device.rst(session: 0, reason: 4, also: [.bootID(device.bootID)]))
      probe.expect("ends after RSTs for other sessions", device.host.ends, is: [])
      try await probe.write(device.rst(session: device.sessionID, reason: 1, also: [.bootID(device.bootID)]))
      probe.expect("ends after RST for this one", device.host.ends, is: [.unknownToDevice])
      device.sessionID += 1
      try await device.open()
    }

    Case.ofHost(
      "LNK-22/restart-seen",
      "HELLO, SYNACK or RST with another boot id ends the session at once: the device restarted",
      also: ["LNK-23"]
    ) { device, probe in
      for (index, kind) in [.hello, .synAck, .rst].enumerated() as EnumeratedSequence<[WireFrame.Kind]> {
        try await device.open()
        let nonce = probe.session.nonce
        device.bootID += 1
        switch kind {
        case .hello: try await probe.write(device.hello(bootID: device.bootID))
        case .synAck: try await probe.write(device.synAck(device.synAckTLVs(nonce: nonce &+ 1)))
        case _:
          try await probe.write(
            device.rst(session: device.sessionID &+ 9, reason: 1, also: [.bootID(device.bootID)]))
        }
        probe.expect("ends after \(kind)", device.host.ends.count, is: index + 1)
        probe.expect(
          "the reported reason", device.host.ends.last, is: .deviceRestarted(bootID: device.bootID))
        device.sessionID += 1
      }
    }

    Case.ofHost(
      "LNK-22/others-ignored", "SYNACK, HELLO and RST without new information are ignored in an open session",
      also: ["LNK-13"]
    ) { device, probe in
      try await device.open()
      let nonce = probe.session.nonce
      _ = try await probe.frames(for: .milliseconds(50))
      try await probe.write(device.synAck(device.synAckTLVs(nonce: nonce)))
      try await probe.write(device.synAck(device.synAckTLVs(nonce: nonce ^ 3)))
      try await probe.write(device.rst(session: 0, reason: 2, also: [.nonce(nonce), .bootID(device.bootID)]))
      let answers = try await probe.frames(for: .milliseconds(100))
      probe.expect("answers other than ACKs", answers.filter { $0.kind != .ack }, is: [])
      probe.expect("ends", device.host.ends, is: [])
      let id = device.submit(.readCount)
      try await device.serve { device.host.results[id] != nil }
    }

    Case.ofHost(
      "LNK-23/outcome-unknown",
      "Requests that were sent and not answered when a session ends are reported as outcome unknown, and not resent"
    ) { device, probe in
      try await device.open()
      let id = device.submit(.sendEncoded(Sample.json("in flight")))
      _ = try await probe.awaitFrame(.data)
      device.bootID += 1
      try await probe.write(device.hello(bootID: device.bootID))
      let end = SessionEnd.deviceRestarted(bootID: device.bootID)
      probe.expect("the result", device.host.results[id], is: .failed(.outcomeUnknown(end)))
      device.sessionID += 1
      try await device.open()
      let frames = try await device.idle(for: .seconds(3))
      probe.expect("DATA in the new session", frames.filter { $0.kind == .data }, is: [])
    }

    Case.ofHost(
      "LNK-23/not-sent", "Requests that were never sent when a session ends are reported as not sent"
    ) { device, probe in
      try await device.open { device.synAckTLVs(nonce: $0, requests: 1) }
      let ids = (0..<3).map { _ in device.submit(.readCount) }
      _ = try await probe.awaitFrame(.data)
      device.bootID += 1
      try await probe.write(device.hello(bootID: device.bootID))
      let end = SessionEnd.deviceRestarted(bootID: device.bootID)
      probe.expect("the result of the first", device.host.results[ids[0]], is: .failed(.outcomeUnknown(end)))
      for id in ids.dropFirst() {
        probe.expect("the result of another", device.host.results[id], is: .failed(.notSent(end)))
      }
    }

    Case.ofHost(
      "LNK-24/host-closes", "Closing sends FIN; the device's ACK, FIN or RST ends it"
    ) { device, probe in
      try await device.open()
      device.close()
      let fin = try await probe.awaitFrame(.fin)
      probe.expect("session of the FIN", fin.session, is: device.sessionID)
      probe.expect("ends before the ACK", device.host.ends, is: [])
      try await probe.write(probe.frame(.ack))
      probe.expect("ends after the ACK", device.host.ends, is: [.closed])
      for kind in [.fin, .rst] as [WireFrame.Kind] {
        device.sessionID += 1
        try await device.open()
        device.close()
        _ = try await probe.awaitFrame(.fin)
        let rst = device.rst(session: device.sessionID, reason: 1, also: [.bootID(device.bootID)])
        try await probe.write(kind == .fin ? probe.frame(.fin) : rst)
        probe.expect("the end after \(kind)", device.host.ends.last, is: .closed)
      }
      probe.expect("ends", device.host.ends.count, is: 3)
    }

    Case.ofHost(
      "LNK-24/host-closes-alone", "An unanswered FIN ends after 200 ms, 100 to 500"
    ) { device, probe in
      try await device.open()
      device.close()
      _ = try await probe.awaitFrame(.fin)
      _ = try await probe.frames(for: .milliseconds(95))
      probe.expect("ends after 95 ms", device.host.ends, is: [])
      _ = try await probe.frames(for: .milliseconds(410))
      probe.expect("ends after 505 ms", device.host.ends, is: [.closed])
    }

    Case.ofHost(
      "LNK-24/device-closes", "The device's FIN is answered with ACK and ends the session"
    ) { device, probe in
      try await device.open()
      _ = try await probe.frames(for: .milliseconds(20))
      try await probe.write(probe.frame(.fin))
      let ack = try await probe.awaitFrame(.ack)
      probe.expect("ack", ack.ack, is: probe.session.nextSeq)
      probe.expect("ends", device.host.ends, is: [.closedByDevice])
    }
  }
}
