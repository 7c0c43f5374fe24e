/// Which faults a line has, how often, and in which direction: one line of text that a run can be repeated from.
///
/// `flip=1e-4,run=1e-5/to-host,reboot@5000,dir=both,seed=7`: each item is `KIND=RATE`, a probability for each byte;
/// `KIND@BYTE`, once at a byte counted from 1; or a setting. An item with `/to-host` or `/to-device` happens in that
/// direction only, one without in those of `dir`. `description` is the form that `init(parsing:)` reads back.
package struct FaultSpec: Equatable, Sendable {
  /// When a fault happens.
  package enum Occurrence: Equatable, Sendable {
    /// With this probability at each byte. 0...1.
    case rate(Double)
    /// Once, at the byte of this number, counted from 1 in its direction.
    case at(byte: UInt64)
  }

  /// Where faults happen.
  package enum Reach: String, Equatable, Sendable, CaseIterable {
    case both
    case toHost = "to-host"
    case toDevice = "to-device"
  }

  /// One item.
  package struct Rule: Equatable, Sendable {
    package var kind: FaultKind
    package var occurrence: Occurrence
    /// Where it happens; nil for the direction of the whole spec.
    package var reach: Reach?

    package init(_ kind: FaultKind, _ occurrence: Occurrence, reach: Reach? = nil) {
      self.kind = kind
      self.occurrence = occurrence
      self.reach = reach
    }
  }

  /// The most items that a spec has.
  package static let rulesLimit = 64
  /// The longest text of a spec.
  package static let lengthLimitBytes = 2048

  package var rules: [Rule]
  /// The direction of rules that name none.
  package var reach = Reach.both
  /// What the random numbers come from; nil leaves that to who uses the spec.
  package var seed: UInt64?
  /// How long a stall lasts. 1 ms ... 60 s.
  package var stallTime = Duration.milliseconds(100)
  /// How long a pulled plug stays out. 1 ms ... 600 s.
  package var unplugTime = Duration.milliseconds(500)

  package init(rules: [Rule] = []) {
    self.rules = rules
  }

  /// A line without faults.
  package static let off = FaultSpec()

  /// Whether a rule happens in a direction.
  package func applies(_ rule: Rule, _ direction: PacedWire.Direction) -> Bool {
    if let only = rule.kind.onlyDirection { return only == direction }
    switch rule.reach ?? reach {
    case .both: return !rule.kind.concernsWholeLine || direction == .toDevice
    case .toHost: return direction == .toHost
    case .toDevice: return direction == .toDevice
    }
  }
}
