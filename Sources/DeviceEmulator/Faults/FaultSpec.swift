/// The faults of a line, how often they happen, and in which direction: one line of text from which
/// a run can be repeated.
///
/// `flip=1e-4,run=1e-5/to-host,reboot@5000,dir=both,seed=7`: each item is `KIND=RATE`, a
/// probability for each byte; `KIND@BYTE`, once at a byte counted from 1; or a setting. An item
/// with `/to-host` or `/to-device` applies to that direction only, an item without a direction to
/// those of `dir`. `description` has the form that `init(parsing:)` parses.
package struct FaultSpec: Equatable, Sendable {
  /// When a fault happens.
  package enum Occurrence: Equatable, Sendable {
    /// With this probability at each byte. 0...1.
    case rate(Double)
    /// Once, at the byte with this number, counted from 1 in its direction.
    case at(byte: UInt64)
  }

  /// The directions in which faults happen.
  package enum Reach: String, Equatable, Sendable, CaseIterable {
    case both
    case toHost = "to-host"
    case toDevice = "to-device"
  }

  /// One item.
  package struct Rule: Equatable, Sendable {
    package var kind: FaultKind
    package var occurrence: Occurrence
    /// Its direction; nil for the direction of the whole spec.
    package var reach: Reach?

    package init(_ kind: FaultKind, _ occurrence: Occurrence, reach: Reach? = nil) {
      self.kind = kind
      self.occurrence = occurrence
      self.reach = reach
    }
  }

  /// The maximum number of items in a spec.
  package static let rulesLimit = 64
  /// The maximum length of a spec.
  package static let lengthLimitBytes = 2048

  package var rules: [Rule]
  /// The direction of rules without a direction.
  package var reach = Reach.both
  /// The seed of the random numbers; if nil, the user of the spec chooses it.
  package var seed: UInt64?
  /// The duration of a stall. 1 ms ... 60 s.
  package var stallTime = Duration.milliseconds(100)
  /// How long a pulled plug stays unplugged. 1 ms ... 600 s.
  package var unplugTime = Duration.milliseconds(500)

  package init(rules: [Rule] = []) {
    self.rules = rules
  }

  /// A line without faults.
  package static let off = FaultSpec()

  /// Whether a rule applies to a direction.
  package func applies(_ rule: Rule, _ direction: PacedWire.Direction) -> Bool {
    if let only = rule.kind.onlyDirection { return only == direction }
    switch rule.reach ?? reach {
    case .both: return !rule.kind.concernsWholeLine || direction == .toDevice
    case .toHost: return direction == .toHost
    case .toDevice: return direction == .toDevice
    }
  }
}
