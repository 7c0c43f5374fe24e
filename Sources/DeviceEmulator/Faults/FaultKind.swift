/// A fault that a line can apply to the bytes on it.
package enum FaultKind: String, CaseIterable, Hashable, Sendable {
  /// One bit of a byte is inverted.
  case flip
  /// A byte is dropped.
  case loss
  /// A random byte is inserted before a byte.
  case insert
  /// A byte is duplicated.
  case dup
  /// 1 to 128 consecutive bytes are lost, as when a receive FIFO overruns.
  case run
  /// The rest of a write is lost: all bytes up to and including the next zero.
  case short
  /// 1 to 64 bytes are received at a wrong baud rate: each becomes zero, one or two bytes, many of
  /// them 00 or FF.
  case garbage
  /// A log line is inserted before a byte, inside a frame or between frames.
  case splice
  /// The last bytes before the port was closed, the plug pulled or the device restarted are
  /// repeated.
  case stale
  /// A modem manager types AT commands.
  case at
  /// The receiver receives nothing until the port is reopened or the device restarts.
  case deaf
  /// No byte passes for a while; none is lost.
  case stall
  /// The device restarts.
  case reboot
  /// The plug is pulled, and reinserted after a while.
  case unplug

  /// The only direction in which it can happen; nil for both.
  package var onlyDirection: PacedWire.Direction? {
    switch self {
    case .at, .deaf: .toDevice
    case .splice: .toHost
    case .flip, .loss, .insert, .dup, .run, .short, .garbage, .stale, .stall, .reboot, .unplug: nil
    }
  }

  /// Whether it affects the line as a whole. Such a fault counts the bytes of one direction, by
  /// default those towards the device, because it would otherwise happen twice.
  package var concernsWholeLine: Bool {
    switch self {
    case .reboot, .unplug: true
    case .flip, .loss, .insert, .dup, .run, .short, .garbage, .splice, .stale, .at, .deaf, .stall: false
    }
  }
}

/// How many times each fault has happened.
package struct FaultCounts: Equatable, Sendable {
  private var counts: [FaultKind: UInt64] = [:]
  /// Bytes that went in and did not come out, for any reason.
  package internal(set) var lostBytes: UInt64 = 0

  package init() {}

  /// How many times a fault has happened.
  package subscript(kind: FaultKind) -> UInt64 {
    get { counts[kind, default: 0] }
    set { counts[kind] = newValue }
  }

  /// The total number of faults.
  package var total: UInt64 { counts.values.reduce(0, +) }

  /// The number of faults by name, in addition to `lost-bytes`.
  package var byName: [String: UInt64] {
    var named = Dictionary(uniqueKeysWithValues: counts.map { ($0.key.rawValue, $0.value) })
    named["lost-bytes"] = lostBytes
    return named
  }

  static func + (left: FaultCounts, right: FaultCounts) -> FaultCounts {
    var sum = left
    sum.counts.merge(right.counts, uniquingKeysWith: +)
    sum.lostBytes += right.lostBytes
    return sum
  }
}
