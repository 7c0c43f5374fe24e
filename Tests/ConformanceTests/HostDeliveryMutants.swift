import Conformance
import HostSuite
import SuiteWire

/// Hosts with an outbox that break one rule each.
extension Mutant {
  static let hostDelivery: [Mutant] =
    [
      host("writes before its journal does", "NTF-36/host-journal-first", flaw: .doesNotWaitForJournal),
      host("forgets what it wrote", "NTF-36/host-crash", flaw: .forgetsWrites),
      host(
        "gives an id twice", "NTF-36/host-rising-ids", received: writing("\"id\":2", as: "\"id\":1")),
      host("writes other bytes again", "NTF-36/host-unknown-outcome", received: neverTheSame()),
      host(
        "has a new identity at each port", "NTF-36/host-port-lost",
        received: {
          var sessions: UInt32 = 0
          return FrameFilter.frames { frame in
            guard frame.kind == .syn, let tlvs = TLV.parse(frame.payload) else { return [frame] }
            sessions += 1
            var changed = frame
            changed.payload = tlvs.map { $0.type == 0x07 ? .source(sessions) : $0 }.payload
            return [changed]
          }
        }),
      host("changes without rev", "NTF-23/host-changes", received: writing("\"rev\":", as: "\"reV\":")),
      host(
        "tries again under the same id", "NTF-23/host-full", received: writing("\"id\":3", as: "\"id\":1")),
      host(
        "does not look at how many requests a device takes", "ATT-6/host-tiny-delivery",
        sent: changing { frame in
          guard frame.kind == .synAck, let tlvs = TLV.parse(frame.payload) else { return }
          let limits = TLV.limits(frames: 16, requests: 8, mtu: 517, bytes: 4096)
          frame.payload = tlvs.map { $0.type == 6 ? limits : $0.type == 5 ? .features(7) : $0 }.payload
        }),
    ] + hostDeliverySynced + hostDeliverySources

  private static let hostDeliverySynced: [Mutant] = [
    host(
      "does not count what it holds", "NTF-31/host-sync-first",
      received: changing { frame in
        if frame.kind == .data, frame.channel == 0, frame.payload.count == 19 { frame.payload[9] = 0 }
      }),
    host(
      "takes any SYNCED", "NTF-31/host-other-synced",
      sent: synced { if $0[1] == 7 { $0.replaceSubrange(1..<5, with: Wire.u32(0xC0FF_EE01)) } }),
    host("does not see missing notifications", "NTF-34/host-resends", sent: sameSynced()),
    host("does not look at the capacity", "NTF-34/host-capacity", sent: synced { $0[19] = 100 }),
    host(
      "waits forever to agree", "NTF-34/host-two-rounds",
      sent: {
        var count = 0
        return FrameFilter.frames { frame in
          guard frame.kind == .data, frame.channel == 0, frame.payload.count == 25 else { return [frame] }
          count += 1
          var changed = frame
          if count == 3 { changed.payload[1] ^= 1 }
          return [changed]
        }
      }),
    host("does not know RESYNC", "NTF-33/host-resync", sent: message(3, as: 9)),
    host("ignores gone notifications", "NTF-26/host-confirms-gone", sent: silent("\"dismissed\"")),
    host("does not know GONE", "NTF-26/host-confirms-gone", sent: message(4, as: 9)),
    host(
      "mistakes expired for dismissed", "NTF-31/host-gone-before-synced",
      sent: rewriting("\"expired\"", as: "\"dismissed\"")),
    host(
      "ignores the source of a gone notification", "NTF-26/host-other-source",
      sent: rewriting("3237998080", as: "3237998081")),
  ]

  private static let hostDeliverySources: [Mutant] = [
    host("does not look at hwm", "NTF-35/host-highest", sent: synced { $0[15] = 0 }),
    host("forgets in which boot it wrote", "NTF-36/host-boot-first", flaw: .forgetsBoot),
    host(
      "believes any report that one is gone", "NTF-35/host-restart-between",
      sent: changingTLV(0x0A, in: .synAck, to: Wire.u32(0xB007_1D42))),
    host(
      "does not look at the boot id", "NTF-35/host-others-boot",
      sent: synced { $0.replaceSubrange(21..<25, with: Wire.u32(0xB007_1D42)) }),
    host(
      "takes any answer for success", "NTF-35/host-others-boot",
      sent: answering("01 12 0600 81", with: "13")),
    host(
      "mistakes a conflict for a refusal", "NTF-35/host-conflict",
      sent: answering("01 12 0600 81", with: "01 12 0600 80")),
    host(
      "assumes that every device has identities", "NTF-37/host-plain",
      sent: changingTLV(5, in: .synAck, to: [7, 0, 0, 0])),
    host(
      "writes doubtful notifications anyway", "NTF-37/host-plain-in-doubt",
      received: {
        var last: [UInt8]?
        // A CCCD is written in each session; the second time it is replaced by other data.
        return FrameFilter.frames { frame in
          guard frame.kind == .data, frame.channel == 4 else { return [frame] }
          if frame.payload.starts(with: [0x12, 6, 0]) { last = frame.payload }
          guard let last, frame.payload.starts(with: [0x12, 7, 0]) else { return [frame] }
          var changed = frame
          changed.payload = last
          return [changed]
        }
      }),
    host(
      "is content with half a feature", "NTF-37/host-half-a-feature",
      sent: changing { frame in
        guard frame.kind == .synAck, let tlvs = TLV.parse(frame.payload) else { return }
        frame.payload = tlvs.map { $0.type == 5 ? .features(7) : $0 }.payload
      }),
  ]

  /// Each SYNCED repeats the contents of the first.
  private static func sameSynced() -> @Sendable () -> MutantLine.Change {
    {
      var first: [UInt8]?
      return FrameFilter.frames { frame in
        guard frame.kind == .data, frame.channel == 0, frame.payload.count == 25 else { return [frame] }
        var changed = frame
        let reused = first ?? Array(frame.payload[5..<19])
        first = reused
        changed.payload.replaceSubrange(5..<19, with: reused)
        return [changed]
      }
    }
  }
}
