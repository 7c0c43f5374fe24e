import DeviceEmulator
import NotibotProtocol
import SuiteWire

/// Timers of the device. On a virtual clock they are exact; in real time only a generous limit is
/// checked.
extension Suite {
  static let linkTimers = chapter(.link) {
    Case(
      "LNK-50/delayed-ack", "One DATA frame is acknowledged within 5 ms, at most 10", also: ["LNK-55"],
      alsoAtWrap: .milliseconds(2)
    ) { probe, bench in
      try await probe.open()
      _ = try await probe.fence()
      let start = probe.now
      try await probe.sendData([0x55], channel: 2)
      let reply = try await probe.awaitFrame("acknowledgement") { $0.ack == 1 }
      let passed = (probe.now - start).inMilliseconds
      probe.expect(
        passed <= (bench.hasExactTime ? 10 : 500), "acknowledged after \(passed) ms by \(reply.kind)")
    }

    Case(
      "LNK-50/log-is-no-ack", "A line of the log in UDATA does not stand for an acknowledgement",
      also: ["LNK-2", "LNK-4"], needs: [.control]
    ) { probe, bench in
      let control = try bench.requireControl()
      try await probe.open(Probe.synTLVs(nonce: probe.makeNonce(), features: 0b1000))
      guard probe.session.features & 0b1000 != 0 else { throw CaseEnd.skip("the device frames no log") }
      _ = try await probe.fence()
      let start = probe.now
      try await probe.sendData([0x55], channel: 2)
      try await control.perform(.log("rig: before the acknowledgement"))
      let reply = try await probe.awaitFrame("acknowledgement") { $0.kind != .udata && $0.ack == 1 }
      let passed = (probe.now - start).inMilliseconds
      probe.expect(
        !bench.hasExactTime || passed <= 10, "acknowledged after \(passed) ms by \(reply.kind)")
    }

    Case(
      "LNK-50/second-frame", "The second unacknowledged DATA frame is acknowledged at once"
    ) { probe, bench in
      try await probe.open()
      _ = try await probe.fence()
      let start = probe.now
      let first = probe.data([0x55], channel: 2, seq: 0)
      let second = probe.data([0x55], channel: 2, seq: 1)
      try await probe.write(first.bytes + second.bytes)
      _ = try await probe.awaitFrame("acknowledgement of both") { $0.ack == 2 }
      let passed = (probe.now - start).inMilliseconds
      probe.expect(passed <= (bench.hasExactTime ? 0 : 500), "acknowledged after \(passed) ms")
    }

    Case(
      "LNK-50/taken-later",
      "A request that waited until there was room for its answer is reported when it is handled",
      also: ["LNK-40", "LNK-44"]
    ) { probe, bench in
      try await probe.openShut()
      repeat {
        guard probe.session.nextSeq < 100 else {
          throw CaseEnd.skip("the device has room for the answers to \(probe.session.nextSeq) requests")
        }
        try await probe.sendData([0x0A, 3, 0])
      } while try await probe.handlesAll(within: .milliseconds(100))
      // The first answer makes room for one. Its acknowledgement is followed by nothing else.
      try await probe.grant(1)
      var report = try await probe.awaitFrame("the first answer") { $0.kind == .data }
      probe.session.expectedSeq = report.seq &+ 1
      probe.session.credit = 0
      try await probe.write(probe.frame(.ack))
      let granted = probe.session.nextSeq &+ UInt8(probe.session.peerFrames)
      let start = probe.now
      while report.ack &+ report.credit != granted {
        report = try await probe.awaitFrame("report of the request that waited") { $0.kind != .udata }
      }
      let passed = (probe.now - start).inMilliseconds
      probe.expect(passed <= (bench.hasExactTime ? 10 : 500), "reported after \(passed) ms")
    }

    Case(
      "LNK-51/first-resend", "An unacknowledged answer is sent again after 250 ms, 200 to 500",
      also: ["LNK-35"], alsoAtWrap: .milliseconds(100)
    ) { probe, bench in
      try await probe.open()
      try await probe.sendData([0x0A, 3, 0])
      let first = try await probe.awaitFrame(.data)
      let start = probe.now
      let again = try await probe.awaitFrame(.data)
      let passed = (probe.now - start).inMilliseconds
      // Both arrive through the same buffers: slightly early is possible, much too late on a busy
      // computer.
      probe.expect(
        passed >= 195 && passed <= (bench.hasExactTime ? 500 : 2000), "sent again after \(passed) ms")
      probe.expect("seq", again.seq, is: first.seq)
      probe.expect("payload", again.payload, is: first.payload)
    }

    Case(
      "LNK-51/resend-doubles", "While nothing is received the resend timer doubles, up to 2 s",
      alsoAtWrap: .milliseconds(300)
    ) { probe, bench in
      try await probe.open()
      try await probe.sendData([0x0A, 3, 0])
      _ = try await probe.awaitFrame(.data)
      var last = probe.now
      let isExact = bench.hasVirtualTime
      let end = last + .milliseconds(isExact ? 4500 : 2200)
      var gaps: [Double] = []
      while let frame = try await probe.nextFrame(until: end) {
        guard frame.kind == .data else { continue }
        gaps.append((probe.now - last).inMilliseconds)
        last = probe.now
      }
      probe.expect(
        isExact ? gaps.count >= 3 : (2...3).contains(gaps.count), "retransmissions after \(gaps) ms")
      for (gap, next) in zip(gaps, gaps.dropFirst()) where isExact {
        let due = min(gap * 2, 2000)
        probe.expect(abs(next - due) <= due * 0.05, "retransmissions after \(gaps) ms: not doubling")
      }
    }

    Case("LNK-51/resend-stops", "An acknowledged frame is not sent again") { probe, bench in
      try await probe.open()
      _ = try await probe.readCount()
      let later = try await probe.frames(for: .milliseconds(bench.hasVirtualTime ? 1400 : 600))
      probe.expect("frames after the acknowledgement", later.filter { $0.kind == .data }, is: [])
    }

    Case(
      "LNK-52/ping-after-silence", "After 1 s without a frame the device sends PING, and again each second",
      alsoAtWrap: .milliseconds(400)
    ) { probe, bench in
      try await probe.open()
      _ = try await probe.fence()
      let start = probe.now
      let ping = try await probe.awaitFrame(.ping)
      let passed = (probe.now - start).inMilliseconds
      probe.expect(
        passed >= 480 && passed <= (bench.hasExactTime ? 2000 : 2900),
        "the first PING came after \(passed) ms")
      probe.expect("session of the PING", ping.session, is: probe.session.id)
      _ = try await probe.awaitFrame(.ping, within: .seconds(3))
      let second = (probe.now - start).inMilliseconds - passed
      probe.expect(
        second >= 480 && second <= (bench.hasExactTime ? 2005 : 2900),
        "the second PING came \(second) ms after the first")
    }

    Case(
      "LNK-52/pong",
      "PING is answered with PONG at once, with the number of frames handled; PONG is never answered"
    ) { probe, bench in
      try await probe.open()
      for _ in 0..<3 { _ = try await probe.readCount() }
      let start = probe.now
      try await probe.write(probe.frame(.ping))
      let pong = try await probe.awaitFrame(.pong)
      probe.expect("handled", pong.payload.first, is: 3)
      probe.expect("session", pong.session, is: probe.session.id)
      probe.expect("ack", pong.ack, is: 3)
      if bench.hasExactTime { probe.expect("time to the PONG", (probe.now - start).inMilliseconds, is: 0) }
      try await probe.expectUnanswered("PONG", probe.frame(.pong, payload: [0]).bytes)
    }

    Case(
      "LNK-53/down", "With nothing received for 5 s the session is over, and not before", also: ["LNK-20"],
      alsoAtWrap: .milliseconds(4000)
    ) { probe, bench in
      try await probe.open()
      _ = try await probe.fence()
      // Alive at 4.4 s, by a frame that restarts the timer.
      _ = try await probe.frames(for: .milliseconds(4400))
      let isEarlyLive = try await probe.isSessionLive()
      probe.expect(isEarlyLive, "the session was over after 4.4 s")
      // In real time `sendingKeepsNothingAlive` tests this part.
      guard bench.waitsLong else { return }
      _ = try await probe.frames(for: .milliseconds(5600))
      let isLive = try await probe.isSessionLive()
      probe.expect(!isLive, "the session is served after 5.6 s of silence")
    }

    Case(
      "LNK-53/alive-by-frames", "A frame every 2 s keeps a session open", needs: [.longWaits],
      alsoAtWrap: .milliseconds(20_000)
    ) { probe, bench in
      try await probe.open()
      for _ in 0..<(bench.hasVirtualTime ? 30 : 6) {
        _ = try await probe.frames(for: .seconds(2))
        try await probe.write(probe.frame(.pong, payload: [0]))
      }
      let isLive = try await probe.isSessionLive()
      probe.expect(isLive, "the session is over although frames were sent")
    }

    Case(
      "LNK-53/foreign-frames",
      "Frames of other sessions, malformed and broken ones, SYNs, RSTs, echoes and text keep no session open",
      also: ["LNK-3", "LNK-13", "LNK-18", "LNK-19", "LNK-52", "FRM-11"]
    ) { probe, _ in
      try await probe.open()
      _ = try await probe.fence()
      var seen: [WireFrame] = []
      for _ in 0..<14 {
        seen += try await probe.frames(for: .milliseconds(400))
        var stray = probe.frame(.pong, payload: [0])
        stray.session = probe.session.id &+ 1000
        var broken = probe.frame(.pong, payload: [0]).bytes
        broken[8] ^= 1
        let others = [
          stray, probe.frame(.nak, payload: [0, 0, 0]), probe.data([], channel: 2, seq: 0),
          probe.echo(of: probe.frame(.ping)), probe.echo(of: probe.frame(.pong, payload: [0])),
          probe.frame(.udata, channel: 1, payload: [0x41]).with(ack: 0, credit: 0, session: 0),
          probe.frame(.rst, payload: [TLV.magic, .versions(1, 1), .reason(1)].payload).with(
            ack: 0, credit: 0),
          probe.syn(Probe.synTLVs(nonce: probe.session.nonce)),
          probe.syn(Probe.synTLVs(nonce: probe.session.nonce &+ 1) + [TLV(0xC0, [])]),
        ]
        try await probe.write(others.flatMap(\.bytes) + broken + Array("hello\r\n".utf8))
      }
      probe.expect(
        seen.contains { $0.kind == .ping && $0.session == probe.session.id },
        "no PING in 5.6 s without a frame of the session")
      let isLive = try await probe.isSessionLive()
      probe.expect(!isLive, "the session is served after 5.6 s without a frame of its own")
    }
  }
}
