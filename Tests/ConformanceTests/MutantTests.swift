import Conformance
import Rigs
import Testing

/// Cases can fail: a peer that breaks a rule is detected by the case that names the rule.
@Suite struct MutantTests {
  @Test(
    arguments: Mutant.devices + Mutant.holes + Mutant.delivery + Mutant.hosts + Mutant.hostHoles
      + Mutant.hostDelivery)
  func `a broken peer is detected`(mutant: Mutant) async throws {
    let testCase = try #require(Suite.all.first { $0.id == mutant.caught }, "no case \(mutant.caught)")
    let sound = await Runner(rig: EmulatorRig(profile: mutant.profile), seed: 7).run(testCase)
    #expect(sound.outcome == .passed)
    let broken = await Runner(rig: mutant.makeRig(), seed: 7).run(testCase)
    guard case .failed(let findings) = broken.outcome else {
      Issue.record("\(mutant.name): \(broken.outcome)\n\(broken.transcript.joined(separator: "\n"))")
      return
    }
    #expect(!findings.isEmpty)
    #expect(!broken.transcript.isEmpty)
  }
}

extension Mutant {
  static let devices: [Mutant] =
    [
      Mutant(
        name: "frames share a zero", caught: "FRM-1/zeros-around",
        received: { FrameFilter.bytes { [Array($0.bytes.dropFirst())] } }),
      Mutant(
        name: "accepts a wrong CRC", caught: "FRM-3/wrong-crc",
        sent: {
          { bytes in
            let inside = Array(bytes.dropFirst().dropLast())
            guard let decoded = Wire.unstuffed(inside), decoded.count >= 12 else { return bytes }
            return Wire.sealed(Array(decoded.dropLast(4)))
          }
        }),
      Mutant(
        name: "answers its own frames", caught: "FRM-11/echo", sent: changing { $0.sender = .host }),
      Mutant(name: "never gives up half a frame", caught: "FRM-9/silence", sent: withoutPauses()),
      Mutant(
        name: "prints into its frames", caught: "FRM-14/log-between-frames",
        received: {
          FrameFilter.bytes { frame in
            let bytes = frame.bytes
            return [Array(bytes.prefix(9)) + Array("E (1) oops\n".utf8) + bytes.dropFirst(9)]
          }
        }),
      Mutant(
        name: "sends HELLO without end", caught: "LNK-10/three-hellos", received: repeating(.hello, times: 2)),
      Mutant(
        name: "gives the same id twice", caught: "LNK-12/session-id",
        received: changing { if $0.kind == .synAck { $0.session = 5 } }),
      Mutant(
        name: "chooses another version", caught: "LNK-12/session-id",
        received: changingTLV(0x84, in: .synAck, to: [2])),
      Mutant(
        name: "hides its identity", caught: "LNK-1/synack-layout",
        received: changingTLV(0x81, in: .synAck, to: [1])),
      Mutant(
        name: "grants no credit in SYNACK", caught: "LNK-1/synack-layout",
        received: changing { if $0.kind == .synAck { $0.credit = 0 } }),
      Mutant(
        name: "refuses with another reason", caught: "LNK-7/malformed-syn",
        received: changingTLV(0x14, in: .rst, to: [2])),
      Mutant(
        name: "refuses without the nonce", caught: "LNK-19/refusals",
        received: changingTLV(0x82, in: .rst, to: [])),
      Mutant(name: "knows no sessions", caught: "LNK-20/unknown-session", received: deaf(to: .rst)),
      Mutant(
        name: "answers each stray frame", caught: "LNK-20/ten-a-second", received: repeating(.rst, times: 3)),
      Mutant(name: "does not answer FIN", caught: "LNK-24/fin", sent: deaf(to: .fin)),
      Mutant(
        name: "announces no limits", caught: "LNK-8/limits-announced",
        received: changingTLV(6, in: .synAck, to: [1, 1, 5, 0, 0, 0, 0, 0])),
      Mutant(name: "does not know NAK", caught: "LNK-34/nak-resends", sent: deaf(to: .nak)),
      Mutant(
        name: "ignores the bitmap", caught: "LNK-34/nak-bitmap",
        sent: changing { if $0.kind == .nak { $0.payload = [] } }),
      Mutant(
        name: "mistakes an ACK for a NAK", caught: "LNK-34/repeated-ack",
        sent: changing { if $0.kind == .ack { $0.kind = .nak } }),
      Mutant(
        name: "two NAKs for a hole", caught: "LNK-33/one-nak-per-round", received: repeating(.nak, times: 2)),
      Mutant(name: "no NAK at all", caught: "LNK-32/out-of-order", received: deaf(to: .nak)),
      Mutant(
        name: "does not look at credit", caught: "LNK-41/no-data-beyond-limit",
        sent: changing { $0.credit = 64 }),
      Mutant(
        name: "credits on receipt", caught: "LNK-40/credit-when-handled",
        received: changing { if $0.kind == .pong { $0.credit = 16 } }),
      Mutant(name: "acknowledges late", caught: "LNK-50/delayed-ack", received: deaf(to: .ack)),
      Mutant(name: "does not PING", caught: "LNK-52/ping-after-silence", received: deaf(to: .ping)),
      Mutant(
        name: "counts nothing as handled", caught: "LNK-52/pong",
        received: changing { if $0.kind == .pong { $0.payload = [0] } }),
      Mutant(
        name: "never resends", caught: "LNK-51/first-resend",
        received: {
          var seen: Set<UInt8> = []
          return FrameFilter.frames { $0.kind != .data || seen.insert($0.seq).inserted ? [$0] : [] }
        }),
      Mutant(
        name: "sends everything twice", caught: "LNK-51/resend-stops",
        received: {
          var last: WireFrame?
          return FrameFilter.frames { frame in
            defer { if frame.kind == .data { last = frame } }
            return frame.kind == .ping ? [frame] + [last].compactMap { $0 } : [frame]
          }
        }),
    ] + attributes

  static let attributes: [Mutant] = [
    Mutant(
      name: "other handles", caught: "ATT-2/primary-service",
      received: changing { if $0.payload.first == 0x11 { $0.payload[4] = 9 } }),
    Mutant(
      name: "reports 23 as its MTU", caught: "ATT-8/exchange-mtu",
      received: answering("03 0502", with: "03 1700")),
    Mutant(
      name: "another hash", caught: "ATT-4/profile-hash",
      received: changingTLV(0x12, in: .synAck, to: [1, 2, 3, 4])),
    Mutant(
      name: "Data can be read", caught: "ATT-11/permissions", received: answering("01 0a 0600 02", with: "0b")
    ),
    Mutant(
      name: "accepts bit 1 in a CCCD", caught: "ATT-12/cccd", received: answering("01 12 0400 fd", with: "13")
    ),
    Mutant(
      name: "accepts 513 bytes", caught: "ATT-13/513-bytes", received: answering("01 12 0600 0d", with: "13")),
    Mutant(
      name: "accepts parts with gaps", caught: "ATT-14/gap-in-parts",
      received: answering("01 18 0600 07", with: "19")),
    Mutant(
      name: "answers stray PDUs", caught: "ATT-15/unknown-opcodes",
      received: changing {
        if $0.payload.count == 5, $0.payload[4] == 6 { $0.payload[4] = 1 }
      }),
    Mutant(
      name: "notifies before the response", caught: "ATT-18/after-the-response",
      received: {
        var held: WireFrame?
        return FrameFilter.frames { frame in
          guard frame.kind == .data else { return [frame] }
          if frame.payload == [0x13], frame.seq > 1 {
            held = frame
            return []
          }
          guard var response = held else { return [frame] }
          held = nil
          var note = frame
          (note.seq, response.seq) = (response.seq, note.seq)
          return [note, response]
        }
      }),
    Mutant(
      name: "accepts invalid JSON", caught: "NTF-4/not-json",
      received: answering("01 12 0600 80", with: "13")),
    Mutant(
      name: "another error for hostile text", caught: "NTF-4/hostile-text",
      received: answering("01 12 0600 80", with: "01 12 0600 13")),
    Mutant(
      name: "a store without end", caught: "NTF-8/store-full",
      received: answering("01 12 0600 11", with: "13")),
    Mutant(
      name: "a count that does not change", caught: "NTF-1/stored-and-counted",
      received: changing {
        if $0.payload.first == 0x0B, $0.payload.count == 3 { $0.payload = [0x0B, 0, 0] }
      }),
    Mutant(
      name: "answers success and stores nothing", caught: "NTF-11/dismissed",
      // A CCCD is written instead.
      sent: changing { if $0.payload.starts(with: [0x12, 6, 0]) { $0.payload = [0x12, 4, 0, 0, 0] } }),
    Mutant(
      name: "a count that wraps", caught: "NTF-10/saturates",
      received: answering("1b 0300 ffff", with: "1b 0300 0000")),
    Mutant(
      name: "reports the wrong item", caught: "NTF-11/dismissed",
      received: changing {
        guard $0.payload.starts(with: [0x1B, 6, 0]), let digit = $0.payload.lastIndex(of: UInt8(ascii: "2"))
        else { return }
        $0.payload[digit] = UInt8(ascii: "9")
      }),
    Mutant(
      name: "keeps its boot id", caught: "LNK-12/boot-id-after-reboot",
      received: {
        FrameFilter.frames { frame in
          guard let tlvs = TLV.parse(frame.payload), tlvs.value(of: 0x0A) != nil else { return [frame] }
          var changed = frame
          changed.payload = tlvs.map { $0.type == 0x0A ? .bootID(1) : $0 }.payload
          return [changed]
        }
      }),
  ]
}
