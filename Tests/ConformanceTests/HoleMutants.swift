import Conformance
import HostSuite
import DeviceEmulator
import SuiteWire

/// Peers that handle holes incorrectly: kept frames, reports, retransmissions.
extension Mutant {
  static let holes: [Mutant] = [
    Mutant(name: "reports the first hole only", caught: "LNK-33/second-hole", received: firstOnly(.nak)),
    Mutant(
      name: "drops, reports the first hole only", caught: "LNK-33/second-hole", profile: .dropping,
      received: firstOnly(.nak)),
    Mutant(
      name: "sends ACK while a hole is open", caught: "LNK-33/second-hole",
      received: changing { frame in
        guard frame.kind == .nak, frame.ack > 0 else { return }
        (frame.kind, frame.payload) = (.ack, [])
      }),
    Mutant(
      name: "answers a kept frame twice", caught: "LNK-32/nothing-twice",
      received: {
        var count: UInt8 = 0
        return FrameFilter.frames { frame in
          guard frame.kind == .data else { return [frame] }
          var (first, second) = (frame, frame)
          (first.seq, second.seq) = (count, count &+ 1)
          let isTwice = frame.seq == 1
          count &+= isTwice ? 2 : 1
          return isTwice ? [first, second] : [first]
        }
      }),
    Mutant(
      name: "keeps less than it granted", caught: "LNK-32/bytes-with-hole",
      sent: {
        FrameFilter.frames { $0.kind == .data && $0.payload.count == 528 && $0.seq > 4 ? [] : [$0] }
      }),
    Mutant(
      name: "sends nothing a third time", caught: "LNK-34/lost-again", received: atMostTwice()),
  ]

  static let hostHoles: [Mutant] = [
    host(
      "drops early frames", "LNK-32/host-keeps-out-of-order",
      received: changing { if $0.kind == .nak { $0.payload = [] } }),
    host("reports the first hole only", "LNK-32/host-keeps-out-of-order", received: firstOnly(.nak)),
    host("reports no frame behind a hole", "LNK-33/host-nak-rounds", received: firstOnly(.nak)),
    host(
      "ignores the bitmap", "LNK-34/host-nak-bitmap",
      sent: changing { if $0.kind == .nak { $0.payload = [] } }),
    host("sends again for each NAK", "LNK-34/host-nak-bitmap", sent: withoutLaterBitmaps()),
    host(
      "sends one frame for a NAK without a bitmap", "LNK-34/host-nak-resends",
      sent: changing { if $0.kind == .nak, $0.payload.isEmpty { $0.payload = Wire.u64(1) } }),
    host("sends nothing a third time", "LNK-34/host-lost-again", received: atMostTwice()),
    host("its timer skips nothing", "LNK-51/host-held-spared", received: withHeldFrames()),
  ]

  /// Passes the first frame of a kind and no other.
  private static func firstOnly(_ kind: WireFrame.Kind) -> @Sendable () -> MutantLine.Change {
    {
      var count = 0
      return FrameFilter.frames { frame in
        if frame.kind == kind { count += 1 }
        return frame.kind == kind && count > 1 ? [] : [frame]
      }
    }
  }

  /// Removes the bitmap from each NAK but the first: the peer retransmits everything.
  private static func withoutLaterBitmaps() -> @Sendable () -> MutantLine.Change {
    {
      var count = 0
      return FrameFilter.frames { frame in
        guard frame.kind == .nak else { return [frame] }
        count += 1
        var changed = frame
        if count > 1 { changed.payload = [] }
        return [changed]
      }
    }
  }

  /// Drops frames that are sent for the third time.
  private static func atMostTwice() -> @Sendable () -> MutantLine.Change {
    {
      var counts: [UInt8: Int] = [:]
      return FrameFilter.frames { frame in
        guard frame.kind == .data else { return [frame] }
        counts[frame.seq, default: 0] += 1
        return counts[frame.seq, default: 0] > 2 ? [] : [frame]
      }
    }
  }

  /// After each frame that is sent for the third time, adds a frame with the next number.
  private static func withHeldFrames() -> @Sendable () -> MutantLine.Change {
    {
      var counts: [UInt8: Int] = [:]
      var latest: [UInt8: WireFrame] = [:]
      return FrameFilter.frames { frame in
        guard frame.kind == .data else { return [frame] }
        counts[frame.seq, default: 0] += 1
        latest[frame.seq] = frame
        guard counts[frame.seq, default: 0] > 2, let next = latest[frame.seq &+ 1] else { return [frame] }
        return [frame, next]
      }
    }
  }
}

extension DeviceProfile {
  /// Like the default, but it drops early frames.
  static let dropping = {
    var profile = DeviceProfile.standard
    profile.outOfOrder = .dropped
    return profile
  }()
}
