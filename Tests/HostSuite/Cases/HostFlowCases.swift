import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// Order, retransmission, credit and timers of the host.
extension HostSuite {
  static let hostFlow = Suite.chapter(.link) {
    Case.ofHost(
      "LNK-4/host-unserved-channel",
      "The host acknowledges and drops DATA on a channel that it does not serve"
    ) { device, probe in
      try await device.open()
      for channel in [0, 2, 7] as [UInt8] {
        try await probe.sendData([0x1B, 3, 0, 9, 9], channel: channel)
        try await probe.expectTaken("DATA on channel \(channel)")
      }
      probe.expect("events", device.host.events, is: [])
    }

    Case.ofHost(
      "LNK-3/host-malformed-frames",
      "DATA and PONG without payload, NAK with half a bitmap: dropped, and nothing sent"
    ) { device, probe in
      try await device.open()
      _ = try await probe.frames(for: .milliseconds(50))
      try await probe.write(probe.data([], seq: probe.session.nextSeq))
      try await probe.write(probe.frame(.pong))
      var nak = probe.frame(.nak, payload: [1, 2, 3])
      nak.ack = 0
      try await probe.write(nak)
      let answers = try await probe.frames(for: .milliseconds(100))
      probe.expect("answers", answers, is: [])
      let id = device.submit(.readCount)
      try await device.serve { device.host.results[id] != nil }
    }

    Case.ofHost(
      "LNK-31/host-ack-outside",
      "The host ignores an impossible ack together with its credit, and accepts the payload"
    ) { device, probe in
      try await device.open()
      let subscription = device.submit(.subscribe(.count))
      try await device.serve { device.host.results[subscription] != nil }
      var wrong = probe.data(Wire.literal("1b 0300 0900"), seq: probe.session.nextSeq)
      (wrong.ack, wrong.credit) = (probe.session.expectedSeq &+ 50, 0)
      probe.session.nextSeq &+= 1
      try await probe.write(wrong)
      probe.expect("events", device.host.events, is: [.countChanged(9)])
      // If that ack were believed, this request would count as acknowledged, or never be sent.
      let id = device.submit(.readCount)
      _ = try await probe.awaitFrame(.data)
      let again = try await probe.awaitFrame(.data)
      probe.expect("seq sent again", again.seq, is: probe.session.expectedSeq)
      probe.expect("the result so far", device.host.results[id], is: nil)
    }

    Case.ofHost(
      "LNK-32/host-out-of-window", "Old frames are dropped and answered with an ACK, at most one in 20 ms",
      also: ["FRM-15"]
    ) { device, probe in
      try await device.open()
      let subscription = device.submit(.subscribe(.count))
      try await device.serve { device.host.results[subscription] != nil }
      try await probe.sendData(Wire.literal("1b 0300 0100"))
      _ = try await probe.frames(for: .milliseconds(100))
      let old = probe.data(Wire.literal("1b 0300 0100"), seq: probe.session.nextSeq &- 1)
      for _ in 0..<50 {
        try await probe.write(old)
        _ = try await probe.frames(for: .milliseconds(1))
      }
      let sent = device.host.machine.statistics.link
      probe.expect("events", device.host.events, is: [.countChanged(1)])
      probe.startCapture()
      for _ in 0..<50 { try await probe.write(old) }
      let answers = try await probe.frames(for: .milliseconds(19))
      probe.expect(answers.count <= 1, "\(answers.count) answers within 19 ms")
      probe.expect(
        "frames dropped", device.host.machine.statistics.link.outOfWindow - sent.outOfWindow, is: 50)
    }

    Case.ofHost(
      "LNK-34/host-repeated-ack", "A repeated ACK never makes the host retransmit"
    ) { device, probe in
      try await device.open()
      _ = device.submit(.readCount)
      _ = try await probe.awaitFrame(.data)
      for _ in 0..<20 { try await probe.write(probe.frame(.ack)) }
      let again = try await probe.frames(for: .milliseconds(99))
      probe.expect("frames sent again for 20 ACKs", again.filter { $0.kind == .data }, is: [])
    }

    Case.ofHost(
      "LNK-40/host-credit", "The host's ack + credit is the number of handled frames plus its frames"
    ) { device, probe in
      device.connect()
      let syn = try await probe.awaitFrame(.syn)
      let frames = TLV.parse(syn.payload)?.value(of: 0x06)?.first ?? 4
      try await probe.write(device.hello(bootID: device.bootID))
      try await device.answerSyn()
      try await device.serve { device.host.openedCount == 1 }
      for _ in 0..<300 { try await probe.sendData(Wire.literal("1b 0300 0100")) }
      let last = try await probe.awaitFrame("acknowledgement of all") { $0.ack == probe.session.nextSeq }
      probe.expect("credit when all is handled", last.credit, is: frames)
    }
  }
}
