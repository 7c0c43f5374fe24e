import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// Holes in the frames that the host receives, and those that it fills by retransmission: with a
/// device that drops early frames, and with one that keeps them (LNK-32).
extension HostSuite {
  static let hostHoles = Suite.chapter(.link) {
    Case.ofHost(
      "LNK-32/host-keeps-out-of-order",
      "The host keeps early frames, and reports each hole at once in a NAK's bitmap", also: ["LNK-33"]
    ) { device, probe in
      try await device.open()
      let subscription = device.submit(.subscribe(.count))
      try await device.serve { device.host.results[subscription] != nil }
      let base = probe.session.nextSeq
      let count = { (index: UInt8) in probe.data([0x1B, 3, 0, index, 0], seq: base &+ index) }
      for (index, bitmap) in [(1, 0b001), (3, 0b101)] as [(UInt8, UInt64)] {
        let start = probe.now
        try await probe.write(count(index))
        let nak = try await probe.awaitFrame(.nak)
        probe.expect("ack of the NAK for \(index)", nak.ack, is: base)
        probe.expect("bitmap of the NAK for \(index)", nak.payload, is: Wire.u64(bitmap))
        probe.expect("time to the NAK for \(index)", (probe.now - start).inMilliseconds, is: 0)
      }
      probe.expect("events before the hole is filled", device.host.events, is: [])
      try await probe.write(count(0))
      try await probe.write(count(2))
      probe.expect("events", device.host.events, is: [0, 1, 2, 3].map(HostEvent.countChanged))
      let ack = try await probe.awaitFrame("ACK of all") { $0.ack == base &+ 4 }
      probe.expect("session", ack.session, is: device.sessionID)
    }

    Case.ofHost(
      "LNK-33/host-nak-rounds",
      "After a hole the host sends its bitmap with each second frame, new or not, or 5 ms after the first"
    ) { device, probe in
      try await device.open()
      _ = try await probe.frames(for: .milliseconds(50))
      let base = probe.session.nextSeq
      let notification = { (index: UInt8) in probe.data([0x1B, 3, 0, index, 0], seq: base &+ index) }
      for index in [1, 2, 3] as [UInt8] { try await probe.write(notification(index)) }
      let first = try await probe.frames(for: .milliseconds(15)).filter { $0.kind == .nak }
      probe.expect("bitmaps for 1, 2, 3", first.map(\.payload), is: [Wire.u64(0b1), Wire.u64(0b111)])
      for index in [1, 2] as [UInt8] { try await probe.write(notification(index)) }
      let second = try await probe.frames(for: .milliseconds(15)).filter { $0.kind == .nak }
      probe.expect("bitmaps for 1, 2 again", second.map(\.payload), is: [Wire.u64(0b111)])
      probe.expect("ack", second.first?.ack, is: base)
      try await probe.write(notification(4))
      let third = try await probe.frames(for: .milliseconds(10)).filter { $0.kind == .nak }
      probe.expect("bitmaps for 4 within 10 ms", third.map(\.payload), is: [Wire.u64(0b1111)])
    }

    Case.ofHost(
      "LNK-34/host-nak-resends",
      "For a NAK of a device that drops, the host retransmits everything from its ack on, at once",
      also: ["LNK-35", "LNK-32"]
    ) { device, probe in
      try await device.open()
      let (base, first) = try await device.submitThree()
      for round in 1...2 {
        try await probe.write(probe.frame(.nak))
        let all = try await probe.frames(for: .milliseconds(1)).filter { $0.kind == .data }
        probe.expect("numbers sent again for NAK \(round)", all.map(\.seq), is: first.map(\.seq))
        probe.expect("payloads sent again for NAK \(round)", all.map(\.payload), is: first.map(\.payload))
      }
      probe.session.expectedSeq = base &+ 1
      try await probe.write(probe.frame(.nak))
      let rest = try await probe.frames(for: .milliseconds(1)).filter { $0.kind == .data }
      probe.expect("numbers sent again from the second on", rest.map(\.seq), is: [base &+ 1, base &+ 2])
    }

    Case.ofHost(
      "LNK-34/host-nak-bitmap",
      "For a NAK of a device that keeps, the host sends the missing frames below the highest held one, once",
      also: ["LNK-33", "LNK-35"]
    ) { device, probe in
      try await device.open()
      let (base, first) = try await device.submitThree()
      for (round, expected) in [[base], []].enumerated() {
        try await probe.write(probe.frame(.nak, payload: Wire.u64(0b01)))
        let again = try await probe.frames(for: .milliseconds(1)).filter { $0.kind == .data }
        probe.expect("numbers sent for NAK \(round)", again.map(\.seq), is: expected)
        if round == 0 { probe.expect("the payload", again.first?.payload, is: first.first?.payload) }
      }
      try await probe.write(probe.frame(.nak, payload: Wire.u64(0b11)))
      let more = try await probe.frames(for: .milliseconds(1)).filter { $0.kind == .data }
      probe.expect("numbers sent when the last is held too", more.map(\.seq), is: [])
    }

    Case.ofHost(
      "LNK-34/host-lost-again", "A retransmission is repeated once more when something newer has arrived"
    ) { device, probe in
      try await device.open()
      let (base, _) = try await device.submitThree()
      try await probe.write(probe.frame(.nak, payload: Wire.u64(0b10)))
      let first = try await probe.frames(for: .milliseconds(1)).filter { $0.kind == .data }
      probe.expect("numbers sent again", first.map(\.seq), is: [base, base &+ 1])
      _ = device.submit(.sendEncoded(Sample.json("one more")))
      _ = try await probe.awaitFrame("the fourth") { $0.kind == .data && $0.seq == base &+ 3 }
      for (round, expected) in [[base, base &+ 1], []].enumerated() {
        try await probe.write(probe.frame(.nak, payload: Wire.u64(0b110)))
        let again = try await probe.frames(for: .milliseconds(1)).filter { $0.kind == .data }
        probe.expect("numbers sent for NAK \(round) with the fourth held", again.map(\.seq), is: expected)
      }
    }

    Case.ofHost(
      "LNK-51/host-held-spared", "The host's resend timer skips frames that a bitmap named as held",
      also: ["LNK-34"]
    ) { device, probe in
      try await device.open()
      let (base, _) = try await device.submitThree()
      try await probe.write(probe.frame(.nak, payload: Wire.u64(0b01)))
      _ = try await probe.frames(for: .milliseconds(1))
      let timed = try await probe.frames(for: .milliseconds(900)).filter { $0.kind == .data }
      probe.expect("numbers sent by the timer", Set(timed.map(\.seq)), is: [base, base &+ 2])
    }
  }
}

extension HostBench {
  /// Submits three notifications to the host and takes their frames, none of which is acknowledged.
  fileprivate func submitThree() async throws -> (base: UInt8, frames: [WireFrame]) {
    for index in 0..<3 { _ = submit(.sendEncoded(Sample.json("frame \(index)"))) }
    let base = probe.session.expectedSeq
    var frames: [WireFrame] = []
    while frames.count < 3 { frames.append(try await probe.awaitFrame(.data)) }
    probe.expect("numbers", frames.map(\.seq), is: [base, base &+ 1, base &+ 2])
    return (base, frames)
  }
}
