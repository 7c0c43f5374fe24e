import DequeModule
package import NotibotProtocol

/// A line with faults: bytes that enter at one end leave at the other end late, corrupted, or not
/// at all, and some faults affect the line itself.
///
/// The same spec, seed and bytes produce the same faults, no matter how the bytes are split into
/// pieces. Inputs: `send`; commands: `discard`, `endSession`; outputs: `next`, `nextDeadline`;
/// queries: `counts`, `queuedBytes`. Bytes are queued only during a stall; the owner of the line
/// checks `queuedBytes` and limits the queue by sending no more.
package struct FaultyWire: Equatable, Sendable {
  /// The output at the other end.
  package enum Output: Equatable, Sendable {
    case bytes([UInt8])
    /// The device restarts now. The line only reports it.
    case reboot
    /// The plug is pulled now, for the spec's `unplugTime`.
    case unplug
  }

  private struct Direction: Equatable, Sendable {
    var lane: FaultLane
    var queue: Deque<FaultLane.Item> = []
    var queuedBytes = 0
    var stalledUntil: Instant?

    mutating func discard() {
      queue = []
      queuedBytes = 0
      stalledUntil = nil
    }
  }

  /// The spec, with the seed in force.
  package let spec: FaultSpec
  private var toDevice: Direction
  private var toHost: Direction

  /// - Parameter seed: used if the spec has no seed.
  package init(spec: FaultSpec, seed: UInt64) {
    var spec = spec
    let seed = spec.seed ?? seed
    spec.seed = seed
    self.spec = spec
    toDevice = Direction(lane: FaultLane(spec: spec, direction: .toDevice, seed: seed))
    toHost = Direction(lane: FaultLane(spec: spec, direction: .toHost, seed: seed))
  }

  /// Sends bytes into one end.
  package mutating func send(_ bytes: [UInt8], _ direction: PacedWire.Direction) {
    change(direction) { way in
      for item in way.lane.pass(bytes) {
        if case .bytes(let bytes) = item { way.queuedBytes += bytes.count }
        way.queue.append(item)
      }
    }
  }

  /// The next output at the other end; nil if there is none, or if the line stalls.
  package mutating func next(_ direction: PacedWire.Direction, now: Instant) -> Output? {
    let stallTime = spec.stallTime
    return change(direction) { way in
      while true {
        if let until = way.stalledUntil, now < until { return nil }
        way.stalledUntil = nil
        switch way.queue.popFirst() {
        case nil: return nil
        case .bytes(let bytes):
          way.queuedBytes -= bytes.count
          return .bytes(bytes)
        case .stall: way.stalledUntil = now + stallTime
        case .reboot: return .reboot
        case .unplug: return .unplug
        }
      }
    }
  }

  /// Discards the queued bytes of a direction, as a restart or a pulled plug does.
  package mutating func discard(_ direction: PacedWire.Direction) {
    change(direction) { $0.discard() }
  }

  /// The port was closed, the plug pulled or the device restarted: a deaf receiver works again, and
  /// all bytes so far can be repeated as stale bytes.
  package mutating func endSession() {
    toDevice.lane.endSession()
    toHost.lane.endSession()
  }

  /// When a stall ends; nil if no bytes are queued.
  package var nextDeadline: Instant? {
    [toDevice, toHost].compactMap { $0.queue.isEmpty ? nil : $0.stalledUntil }.min()
  }

  /// Bytes that are queued until a stall ends.
  package func queuedBytes(_ direction: PacedWire.Direction) -> Int {
    switch direction {
    case .toDevice: toDevice.queuedBytes
    case .toHost: toHost.queuedBytes
    }
  }

  /// The faults of both directions so far.
  package var counts: FaultCounts { toDevice.lane.counts + toHost.lane.counts }

  /// The faults of one direction so far.
  package func counts(_ direction: PacedWire.Direction) -> FaultCounts {
    switch direction {
    case .toDevice: toDevice.lane.counts
    case .toHost: toHost.lane.counts
    }
  }

  private mutating func change<Result>(
    _ direction: PacedWire.Direction, _ body: (inout Direction) -> Result
  ) -> Result {
    switch direction {
    case .toDevice: body(&toDevice)
    case .toHost: body(&toHost)
    }
  }
}
