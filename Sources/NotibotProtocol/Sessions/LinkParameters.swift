/// A range of protocol versions. Source: PROTOCOL.md LNK-5, LNK-12.
package struct VersionRange: Hashable, Sendable {
  package var lowest: UInt8
  package var highest: UInt8

  package init(lowest: UInt8, highest: UInt8) {
    self.lowest = lowest
    self.highest = highest
  }

  /// The versions that this code supports.
  package static let supported = VersionRange(lowest: 1, highest: 1)

  /// Whether `version` is in the range.
  package func contains(_ version: UInt8) -> Bool {
    lowest <= version && version <= highest
  }

  /// The highest version in both ranges, or nil if there is none or a range is reversed.
  package func highestCommon(with other: VersionRange) -> UInt8? {
    let low = max(lowest, other.lowest)
    let high = min(highest, other.highest)
    return low <= high ? high : nil
  }
}

/// The optional features of a side; in use if both set the bit. Source: PROTOCOL.md LNK-5.
package struct Features: OptionSet, Hashable, Sendable {
  package let rawValue: UInt32

  package init(rawValue: UInt32) {
    self.rawValue = rawValue
  }

  package static let pipelinedRequests = Features(rawValue: 1 << 0)
  package static let optionalKeys = Features(rawValue: 1 << 1)
  package static let sync = Features(rawValue: 1 << 2)
  package static let framedLog = Features(rawValue: 1 << 3)
  /// Source: PROTOCOL.md NTF-39.
  package static let keptActions = Features(rawValue: 1 << 4)
}

/// The receive limits of the announcer of LIMITS. Source: PROTOCOL.md LNK-8.
package struct LinkLimits: Hashable, Sendable {
  /// DATA frames beyond the last handled one, 2–64.
  package var frames: UInt8
  /// ATT requests not yet answered, 1–32 and at most half of `frames`.
  package var requests: UInt8
  /// The largest ATT PDU in bytes, 23–528.
  package var mtu: UInt16
  /// Total decoded size of the frames not yet handled, in bytes; 1080 or more.
  package var bytes: UInt32

  package init(frames: UInt8, requests: UInt8, mtu: UInt16, bytes: UInt32) {
    self.frames = frames
    self.requests = requests
    self.mtu = mtu
    self.bytes = bytes
  }

  /// The defaults if the peer sends no LIMITS. Source: PROTOCOL.md LNK-6.
  package static let unannounced = LinkLimits(frames: 4, requests: 1, mtu: 23, bytes: 2160)

  /// These limits with each value brought to the nearest one in its range. Source: PROTOCOL.md
  /// LNK-8.
  package var clamped: LinkLimits {
    let frames = min(max(self.frames, 2), 64)
    return LinkLimits(
      frames: frames, requests: min(max(requests, 1), min(32, frames / 2)), mtu: min(max(mtu, 23), 528),
      bytes: max(bytes, 1080))
  }
}

/// The host's time of day. Source: PROTOCOL.md LNK-5, CLOCK.
package struct HostClock: Hashable, Sendable {
  /// Seconds since 1970-01-01 UTC.
  package var seconds: Int64
  /// Minutes to add for local time.
  package var zoneOffsetMinutes: Int16

  package init(seconds: Int64, zoneOffsetMinutes: Int16) {
    self.seconds = seconds
    self.zoneOffsetMinutes = zoneOffsetMinutes
  }
}

/// The base MAC address of the chip. Source: PROTOCOL.md LNK-5, DEVICE_ID.
package struct DeviceID: Hashable, Sendable, CustomStringConvertible {
  /// Six octets, in order.
  package let octets: [UInt8]

  /// Nil unless there are six octets.
  package init?(octets: [UInt8]) {
    guard octets.count == 6 else { return nil }
    self.octets = octets
  }

  /// The address that is this many higher in its last three octets, which the maker assigns; they
  /// wrap.
  package func advanced(by count: Int) -> DeviceID {
    let number = octets[3...].reduce(0) { $0 << 8 | Int($1) } &+ count
    let last = [16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    return DeviceID(octets: octets[..<3] + last) ?? self
  }

  /// As printed on a board: `24:6F:28:AA:BB:CC`.
  package var description: String {
    hex(octets, separator: ":")
  }
}

/// The reason for the device's last restart; the numbers are those of `esp_reset_reason_t`. Source:
/// PROTOCOL.md LNK-5.
@nonexhaustive
public enum ResetReason: UInt8, CaseIterable, Hashable, Sendable {
  /// The device does not know it, or reports a number without a meaning.
  case unknown = 0
  /// Power was switched on.
  case powerOn = 1
  /// The reset pin.
  case externalPin = 2
  /// The firmware requested it.
  case software = 3
  /// A crash of the firmware.
  case panic = 4
  /// Interrupts were blocked for too long.
  case interruptWatchdog = 5
  /// A task was blocked for too long.
  case taskWatchdog = 6
  /// Another watchdog.
  case otherWatchdog = 7
  /// The end of a deep sleep.
  case deepSleep = 8
  /// The supply voltage was too low.
  case brownout = 9
  /// A command over SDIO.
  case sdio = 10

  /// The reason of this number; numbers without a meaning are `unknown`.
  package init(wire: UInt8) {
    self = ResetReason(rawValue: wire) ?? .unknown
  }
}

/// The reason for a refusal by the device. Source: PROTOCOL.md LNK-18.
package enum RSTReason: Hashable, Sendable {
  case noSession
  case noCommonVersion
  case unknownCriticalTLV
  case malformed
  /// A number that this version gives no meaning.
  case other(UInt8)

  /// The reason of this number.
  package init(wire: UInt8) {
    switch wire {
    case 1: self = .noSession
    case 2: self = .noCommonVersion
    case 3: self = .unknownCriticalTLV
    case 4: self = .malformed
    default: self = .other(wire)
    }
  }

  /// The number on the wire.
  package var wire: UInt8 {
    switch self {
    case .noSession: 1
    case .noCommonVersion: 2
    case .unknownCriticalTLV: 3
    case .malformed: 4
    case .other(let number): number
    }
  }
}
