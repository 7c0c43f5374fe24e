import Conformance
import NotibotHost
import NotibotProtocol
import SuiteWire

/// Numbers, lengths and TLVs of the host that no other case checks.
extension HostSuite {
  static let hostLimits =
    Suite.chapter(.framing) {
      Case.ofHost(
        "FRM-2/host-long-frames",
        "Frames of the host of every length that makes a full block are complete", also: ["FRM-3", "FRM-4"]
      ) { device, probe in
        try await device.open()
        for length in Array(236...246) + [254, 300, 490, 512] {
          let json = Sample.json(length: length)
          let id = device.submit(.sendEncoded(json))
          let deadline = probe.now + Probe.patience
          let pdu = try await probe.nextPDU(until: deadline)
          probe.expect("whether \(length) bytes arrived completely", pdu == [0x12, 6, 0] + json, is: true)
          try await probe.sendData([0x13])
          probe.expect("the result of \(length) bytes", device.host.results[id], is: .accepted)
        }
      }
    }
    + Suite.chapter(.link) {
      Case.ofHost(
        "LNK-30/host-numbers",
        "The host numbers DATA from 0, and its ack is the next number that it expects", also: ["LNK-40"]
      ) { device, probe in
        try await device.openLink()
        let first = try await probe.awaitFrame(.data)
        probe.expect("seq and ack of the first DATA", [first.seq, first.ack], is: [0, 0])
        probe.session.expectedSeq = 1
        for number in 1...3 as ClosedRange<UInt8> {
          try await probe.sendData([0x55], channel: 2)
          let reply = try await probe.awaitFrame("ACK") { $0.kind == .ack && $0.ack >= number }
          probe.expect("ack of the host", reply.ack, is: number)
        }
      }

      Case.ofHost(
        "LNK-52/host-handled",
        "The host's PONG contains the number of DATA frames that it has handled"
      ) { device, probe in
        try await device.open()
        for _ in 0..<3 {
          try await probe.sendData(Wire.literal("1b 0300 0100"))
          try await probe.write(probe.frame(.ping))
          let pong = try await probe.awaitFrame(.pong)
          probe.expect("handled", pong.payload.first, is: probe.session.nextSeq)
        }
      }

      Case.host(
        "LNK-12/host-takes-the-session",
        "The host uses the session id of the SYNACK, whatever it is except 0", also: ["LNK-15"]
      ) { _, bench in
        for id in [1, 0x00FF, 0xFF00, 0x1234, 0xFFFF] as [UInt16] {
          let device = bench.makeHost()
          let probe = device.probe
          device.connect()
          let nonce = try await device.awaitSyn()
          device.sessionID = 0
          try await probe.write(device.synAck(device.synAckTLVs(nonce: nonce)))
          let early = try await probe.frames(for: .milliseconds(20))
          probe.expect("answers to session 0", early.filter { $0.kind == .ack }, is: [])
          device.sessionID = id
          try await probe.write(device.synAck(device.synAckTLVs(nonce: nonce)))
          let ack = try await probe.awaitFrame(.ack)
          probe.expect("the session of the first ACK", ack.session, is: id)
        }
      }
    }
}
