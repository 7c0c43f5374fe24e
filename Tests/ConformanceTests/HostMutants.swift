import Conformance
import HostSuite
import SuiteWire

/// Hosts that break one rule each.
extension Mutant {
  static let hosts: [Mutant] = [
    host(
      "another nonce in each SYN", "LNK-11/syn-times",
      received: {
        var count: UInt64 = 0
        return FrameFilter.frames { frame in
          guard frame.kind == .syn, let tlvs = TLV.parse(frame.payload) else { return [frame] }
          count += 1
          var changed = frame
          changed.payload = tlvs.map { $0.type == 0x82 ? .nonce(count) : $0 }.payload
          return [changed]
        }
      }),
    host("no ACK after SYNACK", "LNK-15/other-nonce", received: deaf(to: .ack)),
    host(
      "accepts any SYNACK", "LNK-15/other-nonce",
      sent: {
        FrameFilter.frames { frame in
          guard frame.kind == .synAck, let tlvs = TLV.parse(frame.payload),
            let nonce = tlvs.number(of: 0x82)
          else { return [frame] }
          var other = frame
          other.payload = tlvs.map { $0.type == 0x82 ? .nonce(nonce ^ 1) : $0 }.payload
          return [frame, other]
        }
      }),
    host("does not know HELLO", "LNK-17/hello-during-syn", sent: deaf(to: .hello)),
    host("does not see a restart", "LNK-22/restart-seen", sent: deaf(to: .hello)),
    host("does not know RST", "LNK-22/rst-ends-session", sent: deaf(to: .rst)),
    host("continues after a refusal", "LNK-21/rst-during-syn", sent: deaf(to: .rst)),
    host("closes without FIN", "LNK-24/host-closes", received: deaf(to: .fin)),
    host("does not answer FIN", "LNK-24/device-closes", received: deaf(to: .ack)),
    host(
      "loses a byte of text", "FRM-6/host-text-whole", sent: { { $0.filter { $0 != UInt8(ascii: "3") } } }),
    host("finds frames only without text", "FRM-10/host-text-at-once", sent: withoutPauses()),
    host("never gives up half a frame", "FRM-9/host-silence", sent: withoutPauses()),
    host("answers echoes", "FRM-11/host-echo", sent: changing { $0.sender = .device }),
    host(
      "frames share a zero", "FRM-1/host-zeros",
      received: {
        FrameFilter.bytes { [Array($0.bytes.dropFirst())] }
      }),
    host("no NAK", "LNK-33/host-nak-rounds", received: deaf(to: .nak)),
    host("a NAK too many", "LNK-33/host-nak-rounds", received: repeating(.nak, times: 2)),
    host("does not know NAK", "LNK-34/host-nak-resends", sent: deaf(to: .nak)),
    host(
      "mistakes an ACK for a NAK", "LNK-34/host-repeated-ack",
      sent: changing {
        if $0.kind == .ack { $0.kind = .nak }
      }),
    host("grants less than it has", "LNK-40/host-credit", received: changing { $0.credit = 3 }),
    host("does not look at credit", "LNK-41/host-limit", sent: changing { $0.credit = 64 }),
    host(
      "does not look at bytes", "LNK-42/host-byte-limit",
      sent: changing { frame in
        guard frame.kind == .synAck, let tlvs = TLV.parse(frame.payload) else { return }
        let limits = TLV.limits(frames: 16, requests: 8, mtu: 517, bytes: 65536)
        frame.payload = tlvs.map { $0.type == 6 ? limits : $0 }.payload
      }),
    host(
      "more requests than allowed", "ATT-6/host-pipelines",
      sent: changing { frame in
        guard frame.kind == .synAck, let tlvs = TLV.parse(frame.payload) else { return }
        let limits = TLV.limits(frames: 64, requests: 32, mtu: 517, bytes: 65536)
        frame.payload = tlvs.map { $0.type == 6 ? limits : $0 }.payload
      }),
    host("does not PING", "LNK-52/host-pings", received: deaf(to: .ping)),
    host(
      "cannot escape", "NTF-6/host-json",
      received: changing { frame in
        frame.payload.removeAll { $0 == UInt8(ascii: "\\") }
      }),
    host(
      "reports no dismissals", "NTF-11/host-events",
      sent: changing { frame in
        if frame.payload.starts(with: [0x1B, 6, 0]) { frame.payload[1] = 9 }
      }),
  ]

  static func host(
    _ name: String, _ caught: String, flaw: HostFlaw? = nil,
    received: @escaping @Sendable () -> MutantLine.Change = { { $0 } },
    sent: @escaping @Sendable () -> MutantLine.Change = { { $0 } }
  ) -> Mutant {
    Mutant(name: "host: \(name)", caught: caught, isHost: true, flaw: flaw, sent: sent, received: received)
  }
}
