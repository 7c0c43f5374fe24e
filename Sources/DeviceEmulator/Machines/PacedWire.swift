import DequeModule
package import NotibotProtocol

/// What a line does to the bytes on it.
package struct WireModel: Equatable, Sendable {
  /// How fast bytes pass.
  package enum Pace: Equatable, Sendable {
    /// At once, as many as come.
    case unpaced
    /// Ten bits a byte (8N1) at the rate that the host sets; this one until it does.
    case paced(bitsPerSecond: UInt32)
    /// At this rate whatever the host sets, as over USB without a UART.
    case fixed(bitsPerSecond: UInt32)
  }

  /// An adapter that holds bytes towards the host back until a packet is full or a timer has run out.
  package struct Gathering: Equatable, Sendable {
    /// Bytes of a full packet. 1 or more.
    package var packetBytes: Int
    /// How long the first byte of a packet waits at most.
    package var timer: Duration

    package init(packetBytes: Int, timer: Duration) {
      self.packetBytes = packetBytes
      self.timer = timer
    }
  }

  package var pace: Pace
  /// How long a byte is under way after it left, in each direction. 0...10 s.
  package var latency: Duration
  /// The most bytes that arrive together on a paced line; a full-speed USB packet has 64.
  package var chunkLimitBytes: Int
  /// Towards the host; nil for an adapter that sends what it has.
  package var gathering: Gathering?
  /// How long a device that cannot get rid of bytes waits before it drops the rest of a write; nil for ever.
  package var writeTimeout: Duration?

  package init(pace: Pace, latency: Duration = .zero, chunkLimitBytes: Int = 64) {
    self.pace = pace
    self.latency = latency
    self.chunkLimitBytes = chunkLimitBytes
  }

  /// The same without what an adapter does towards the host only.
  var towardsDevice: WireModel {
    var model = self
    model.gathering = nil
    return model
  }

  /// Bytes arrive the moment they are sent, as over a bare PTY.
  package static let direct = WireModel(pace: .unpaced)
}

/// A serial line in virtual time: bytes put in at one end come out at the other when the line's rate and latency
/// allow, in order, none lost.
///
/// Both directions are independent. A sender that does not look at `queuedBytes` may put in more than the line
/// carries; who owns the line bounds that.
package struct PacedWire: Equatable, Sendable {
  /// Which way bytes go.
  package enum Direction: Equatable, Sendable, CaseIterable {
    case toDevice
    case toHost
  }

  private struct Chunk: Equatable, Sendable {
    var bytes: [UInt8]
    var arrival: Instant
  }

  /// A packet that an adapter is filling.
  private struct OpenPacket: Equatable, Sendable {
    var bytes: [UInt8] = []
    var due: Instant
  }

  private struct Lane: Equatable, Sendable {
    var chunks: Deque<Chunk> = []
    var open: OpenPacket?
    var queuedBytes = 0
    /// When the last byte put in has left; later bytes leave after it.
    var freeAt = Instant.zero

    mutating func send(_ bytes: [UInt8], model: WireModel, bitsPerSecond: UInt32?, now: Instant) {
      queuedBytes += bytes.count
      let start = max(now, freeAt)
      guard let rate = bitsPerSecond else {
        freeAt = start
        chunks.append(Chunk(bytes: bytes, arrival: start + model.latency))
        return
      }
      if let gathering = model.gathering {
        gather(bytes, from: start, rate: rate, gathering, latency: model.latency)
        return
      }
      var sentBytes = 0
      while sentBytes < bytes.count {
        let end = min(bytes.count, sentBytes + max(1, model.chunkLimitBytes))
        let left = start + PacedWire.lineTime(ofBytes: end, at: rate)
        chunks.append(Chunk(bytes: Array(bytes[sentBytes..<end]), arrival: left + model.latency))
        freeAt = left
        sentBytes = end
      }
    }

    /// Fills packets with bytes that leave from `start` on; each goes when it is full, or at its time.
    mutating func gather(
      _ bytes: [UInt8], from start: Instant, rate: UInt32, _ gathering: WireModel.Gathering, latency: Duration
    ) {
      var count = 0
      while count < bytes.count {
        let next = start + PacedWire.lineTime(ofBytes: count + 1, at: rate)
        if let packet = open, packet.due < next { dispatch(packet, at: packet.due, latency: latency) }
        var packet = open ?? OpenPacket(due: next + gathering.timer)
        packet.bytes.append(bytes[count])
        open = packet
        if packet.bytes.count >= gathering.packetBytes { dispatch(packet, at: next, latency: latency) }
        count += 1
      }
      freeAt = start + PacedWire.lineTime(ofBytes: bytes.count, at: rate)
    }

    private mutating func dispatch(_ packet: OpenPacket, at moment: Instant, latency: Duration) {
      chunks.append(Chunk(bytes: packet.bytes, arrival: moment + latency))
      open = nil
    }

    /// When the first bytes arrive that have not been taken.
    func firstArrival(latency: Duration) -> Instant? {
      chunks.first?.arrival ?? open.map { $0.due + latency }
    }

    mutating func nextArrival(now: Instant, latency: Duration) -> [UInt8]? {
      if let packet = open, packet.due + latency <= now { dispatch(packet, at: packet.due, latency: latency) }
      guard var arrived = chunks.first, arrived.arrival <= now else { return nil }
      chunks.removeFirst()
      while let next = chunks.first, next.arrival <= now {
        arrived.bytes += next.bytes
        chunks.removeFirst()
      }
      queuedBytes -= arrived.bytes.count
      return arrived.bytes
    }

    mutating func keepFirstChunk() -> Int {
      let kept = chunks.first?.bytes.count ?? 0
      let dropped = queuedBytes - kept
      chunks = Deque(chunks.prefix(1))
      open = nil
      queuedBytes = kept
      return dropped
    }
  }

  /// The slowest rate that is modelled; a host that sets less (0 means "hang up") gets this.
  package static let slowestBitsPerSecond: UInt32 = 300

  private(set) package var model: WireModel
  private var toDevice = Lane()
  private var toHost = Lane()

  package init(model: WireModel) {
    self.model = model
  }

  /// The rate in force, in bits per second; nil on an unpaced line.
  package var bitsPerSecond: UInt32? {
    switch model.pace {
    case .unpaced: nil
    case .paced(let rate), .fixed(let rate): max(rate, Self.slowestBitsPerSecond)
    }
  }

  /// Changes the rate of a paced line for bytes that are put in from now on; an unpaced one stays unpaced.
  package mutating func setBitsPerSecond(_ rate: UInt32) {
    switch model.pace {
    case .unpaced, .fixed: break
    case .paced: model.pace = .paced(bitsPerSecond: rate)
    }
  }

  /// Puts bytes in at one end.
  package mutating func send(_ bytes: [UInt8], _ direction: Direction, now: Instant) {
    guard !bytes.isEmpty else { return }
    switch direction {
    case .toDevice: toDevice.send(bytes, model: model.towardsDevice, bitsPerSecond: bitsPerSecond, now: now)
    case .toHost: toHost.send(bytes, model: model, bitsPerSecond: bitsPerSecond, now: now)
    }
  }

  /// Everything that has arrived at the other end by now, or nil.
  package mutating func nextArrival(_ direction: Direction, now: Instant) -> [UInt8]? {
    switch direction {
    case .toDevice: toDevice.nextArrival(now: now, latency: model.latency)
    case .toHost: toHost.nextArrival(now: now, latency: model.latency)
    }
  }

  /// When the oldest bytes arrived, or will arrive, that have not been taken out; nil when there are none.
  package func oldestArrival(_ direction: Direction) -> Instant? {
    switch direction {
    case .toDevice: toDevice.firstArrival(latency: model.latency)
    case .toHost: toHost.firstArrival(latency: model.latency)
    }
  }

  /// Throws away all but the first chunk of what is under way. Returns how many bytes that was.
  package mutating func keepFirstChunk(_ direction: Direction) -> Int {
    switch direction {
    case .toDevice: toDevice.keepFirstChunk()
    case .toHost: toHost.keepFirstChunk()
    }
  }

  /// Throws away what is under way in a direction, as pulling the plug does.
  package mutating func discard(_ direction: Direction, now: Instant) {
    switch direction {
    case .toDevice: toDevice = Lane(freeAt: now)
    case .toHost: toHost = Lane(freeAt: now)
    }
  }

  /// Bytes put in and not yet taken out.
  package func queuedBytes(_ direction: Direction) -> Int {
    switch direction {
    case .toDevice: toDevice.queuedBytes
    case .toHost: toHost.queuedBytes
    }
  }

  /// Bytes put in that have not left the sender yet: what a UART's transmit buffer still holds, to the nearest
  /// byte. 0 on an unpaced line.
  package func unsentBytes(_ direction: Direction, now: Instant) -> Int {
    guard let rate = bitsPerSecond else { return 0 }
    let freeAt = direction == .toDevice ? toDevice.freeAt : toHost.freeAt
    guard freeAt > now else { return 0 }
    return Int((freeAt - now).wholeNanoseconds / Self.nanosecondsPerByte(at: rate))
  }

  /// When the next bytes arrive somewhere; nil when none are under way.
  package var nextDeadline: Instant? {
    [Direction.toDevice, .toHost].compactMap { oldestArrival($0) }.min()
  }

  /// How long bytes take to leave at a rate: ten bits each.
  package static func lineTime(ofBytes count: Int, at bitsPerSecond: UInt32) -> Duration {
    .nanoseconds(Int64(count) * 10_000_000_000 / Int64(max(bitsPerSecond, slowestBitsPerSecond)))
  }

  private static func nanosecondsPerByte(at bitsPerSecond: UInt32) -> Int64 {
    max(1, 10_000_000_000 / Int64(bitsPerSecond))
  }
}
