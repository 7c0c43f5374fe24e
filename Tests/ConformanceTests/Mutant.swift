import Conformance
import DeviceEmulator
import HostSuite
import Rigs
import Testing
import SuiteWire

/// A peer that breaks one rule, and the case that must detect it.
struct Mutant: Sendable, CustomTestStringConvertible {
  let name: String
  /// The case that must fail.
  let caught: String
  /// Whether the host machine is broken, not the device.
  var isHost = false
  /// The fault of the host other than in its frames.
  var flaw: HostFlaw?
  /// The profile of the device.
  var profile = DeviceProfile.standard
  var sent: @Sendable () -> MutantLine.Change = { { $0 } }
  var received: @Sendable () -> MutantLine.Change = { { $0 } }

  var testDescription: String { "\(name) → \(caught)" }

  /// A rig whose peer is this mutant.
  func makeRig() -> any Rig {
    let wrap = { (line: any Line) -> any Line in MutantLine(line, sent: sent(), received: received()) }
    return isHost ? HostRig(wrapLine: wrap, flaw: flaw) : EmulatorRig(profile: profile, wrapLine: wrap)
  }

  var soundRig: any Rig { isHost ? HostRig() : EmulatorRig(profile: profile) }
}

extension Mutant {
  /// Drops frames of a kind on their way to the peer, which then behaves as if it did not know
  /// them.
  static func deaf(to kind: WireFrame.Kind) -> @Sendable () -> MutantLine.Change {
    { FrameFilter.frames { $0.kind == kind ? [] : [$0] } }
  }

  /// Changes frames one by one.
  static func changing(_ change: @escaping @Sendable (inout WireFrame) -> Void)
    -> @Sendable () -> MutantLine.Change
  {
    {
      FrameFilter.frames { frame in
        var changed = frame
        change(&changed)
        return [changed]
      }
    }
  }

  /// Repeats frames of a kind.
  static func repeating(_ kind: WireFrame.Kind, times: Int) -> @Sendable () -> MutantLine.Change {
    { FrameFilter.frames { [WireFrame](repeating: $0, count: $0.kind == kind ? times : 1) } }
  }

  /// Changes the value of a TLV in frames of a kind.
  static func changingTLV(
    _ type: UInt8, in kind: WireFrame.Kind, to value: [UInt8]
  ) -> @Sendable () -> MutantLine.Change {
    changing { frame in
      guard frame.kind == kind, let tlvs = TLV.parse(frame.payload) else { return }
      frame.payload = tlvs.map { $0.type == type ? TLV(type, value) : $0 }.payload
    }
  }

  /// Changes one answer PDU into another.
  static func answering(_ answer: String, with other: String) -> @Sendable () -> MutantLine.Change {
    changing { frame in
      if frame.kind == .data, frame.payload == Wire.literal(answer) { frame.payload = Wire.literal(other) }
    }
  }

  /// Forwards bytes only when a candidate is complete: the peer never sees a pause inside one.
  static func withoutPauses() -> @Sendable () -> MutantLine.Change {
    {
      var held: [UInt8] = []
      return { bytes in
        held += bytes
        guard let end = held.lastIndex(of: 0) else { return [] }
        defer { held = Array(held[(end + 1)...]) }
        return Array(held[...end])
      }
    }
  }
}
