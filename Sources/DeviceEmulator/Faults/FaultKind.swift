/// What a line can do to the bytes on it.
package enum FaultKind: String, CaseIterable, Hashable, Sendable {
  /// One bit of a byte is inverted.
  case flip
  /// A byte is lost.
  case loss
  /// A random byte comes before a byte.
  case insert
  /// A byte comes twice.
  case dup
  /// 1 to 128 bytes in a row are lost, as when a receive FIFO overruns.
  case run
  /// The rest of a write is lost: all from a byte to the next zero, and that zero.
  case short
  /// 1 to 64 bytes are heard at a wrong baud rate: each becomes none, one or two bytes, many of them 00 or FF.
  case garbage
  /// A log line comes before a byte, in the middle of a frame or not.
  case splice
  /// The last bytes before the port was closed, the plug pulled or the device restarted come again.
  case stale
  /// A modem manager types AT commands.
  case at
  /// The receiver hears nothing more, until the port is opened anew or the device restarts.
  case deaf
  /// Nothing passes for a while; nothing is lost.
  case stall
  /// The device restarts.
  case reboot
  /// The plug is pulled, and put in again after a while.
  case unplug

  /// The one direction in which it can happen; nil for both.
  package var onlyDirection: PacedWire.Direction? {
    switch self {
    case .at, .deaf: .toDevice
    case .splice: .toHost
    case .flip, .loss, .insert, .dup, .run, .short, .garbage, .stale, .stall, .reboot, .unplug: nil
    }
  }

  /// Whether it happens to the line as a whole. Such a fault counts the bytes of one direction, towards the device
  /// where none is named, or it would happen twice.
  package var concernsWholeLine: Bool {
    switch self {
    case .reboot, .unplug: true
    case .flip, .loss, .insert, .dup, .run, .short, .garbage, .splice, .stale, .at, .deaf, .stall: false
    }
  }
}

/// How often each fault has happened.
package struct FaultCounts: Equatable, Sendable {
  private var counts: [FaultKind: UInt64] = [:]
  /// Bytes that went in and did not come out, for whatever reason.
  package internal(set) var lostBytes: UInt64 = 0

  package init() {}

  /// How often a fault has happened.
  package subscript(kind: FaultKind) -> UInt64 {
    get { counts[kind, default: 0] }
    set { counts[kind] = newValue }
  }

  /// How many faults have happened.
  package var total: UInt64 { counts.values.reduce(0, +) }

  /// The faults that have happened by name, with `lost-bytes` beside them.
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
