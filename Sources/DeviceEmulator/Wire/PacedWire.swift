import DequeModule
package import NotibotProtocol

/// The timing of the bytes on a line.
package struct WireModel: Equatable, Sendable {
  /// The rate of the bytes.
  package enum Pace: Equatable, Sendable {
    /// Immediately, as many as are sent.
    case unpaced
    /// Ten bits per byte (8N1) at the rate that the host sets; initially at this rate.
    case paced(bitsPerSecond: UInt32)
    /// At this rate, independent of the host's setting, as over USB without a UART.
    case fixed(bitsPerSecond: UInt32)
  }

  /// An adapter that delays bytes towards the host until a packet is full or a timer expires.
  package struct Gathering: Equatable, Sendable {
    /// Bytes of a full packet. 1 or more.
    package var packetBytes: Int
    /// The longest delay of the first byte of a packet.
    package var timer: Duration

    package init(packetBytes: Int, timer: Duration) {
      self.packetBytes = packetBytes
      self.timer = timer
    }
  }

  package var pace: Pace
  /// The latency of a byte after it was sent, in each direction. 0...10 s.
  package var latency: Duration
  /// The maximum number of bytes that arrive together on a paced line; a full-speed USB packet has
  /// 64.
  package var chunkLimitBytes: Int
  /// Towards the host; nil for an adapter without packing.
  package var gathering: Gathering?
  /// How long a device that cannot send waits before it drops the rest of a write; nil for
  /// indefinitely.
  package var writeTimeout: Duration?

  package init(pace: Pace, latency: Duration = .zero, chunkLimitBytes: Int = 64) {
    self.pace = pace
    self.latency = latency
    self.chunkLimitBytes = chunkLimitBytes
  }

  /// The same without the adapter's packing towards the host.
  var towardsDevice: WireModel {
    var model = self
    model.gathering = nil
    return model
  }

  /// Bytes arrive at the moment they are sent, as over a bare PTY.
  package static let direct = WireModel(pace: .unpaced)
}

/// A serial line in virtual time: bytes that enter at one end leave at the other end after the
/// line's rate and latency, in order, without loss.
///
/// The directions are independent. A sender that does not check `queuedBytes` can send more than
/// the line carries; the owner of the line limits that.
package struct PacedWire: Equatable, Sendable {
  /// The direction of bytes.
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
    /// When the last queued byte has been sent; later bytes are sent after it.
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

    /// Fills packets with bytes that are sent from `start` on; each packet leaves when it is full,
    /// or at its time.
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

  /// The slowest modelled rate; it applies if a host sets less (0 means "hang up").
  package static let slowestBitsPerSecond: UInt32 = 300

  private(set) package var model: WireModel
  private var toDevice = Lane()
  private var toHost = Lane()

  package init(model: WireModel) {
    self.model = model
  }

  /// The current rate, in bits per second; nil on an unpaced line.
  package var bitsPerSecond: UInt32? {
    switch model.pace {
    case .unpaced: nil
    case .paced(let rate), .fixed(let rate): max(rate, Self.slowestBitsPerSecond)
    }
  }

  /// Changes the rate of a paced line for bytes that are sent from now on; an unpaced one stays
  /// unpaced.
  package mutating func setBitsPerSecond(_ rate: UInt32) {
    switch model.pace {
    case .unpaced, .fixed: break
    case .paced: model.pace = .paced(bitsPerSecond: rate)
    }
  }

  /// Changes the timer of an adapter that gathers bytes, for packets that begin from now on.
  package mutating func setGatheringTimer(_ timer: Duration) {
    model.gathering?.timer = timer
  }

  /// Sends bytes into one end.
  package mutating func send(_ bytes: [UInt8], _ direction: Direction, now: Instant) {
    guard !bytes.isEmpty else { return }
    switch direction {
    case .toDevice: toDevice.send(bytes, model: model.towardsDevice, bitsPerSecond: bitsPerSecond, now: now)
    case .toHost: toHost.send(bytes, model: model, bitsPerSecond: bitsPerSecond, now: now)
    }
  }

  /// All bytes that have arrived at the other end by now, or nil.
  package mutating func nextArrival(_ direction: Direction, now: Instant) -> [UInt8]? {
    switch direction {
    case .toDevice: toDevice.nextArrival(now: now, latency: model.latency)
    case .toHost: toHost.nextArrival(now: now, latency: model.latency)
    }
  }

  /// When the oldest bytes that have not been taken arrived or will arrive; nil if there are none.
  package func oldestArrival(_ direction: Direction) -> Instant? {
    switch direction {
    case .toDevice: toDevice.firstArrival(latency: model.latency)
    case .toHost: toHost.firstArrival(latency: model.latency)
    }
  }

  /// Discards all bytes in flight except the first chunk. Returns how many that were.
  package mutating func keepFirstChunk(_ direction: Direction) -> Int {
    switch direction {
    case .toDevice: toDevice.keepFirstChunk()
    case .toHost: toHost.keepFirstChunk()
    }
  }

  /// Discards the bytes in flight in a direction, as pulling the plug does.
  package mutating func discard(_ direction: Direction, now: Instant) {
    switch direction {
    case .toDevice: toDevice = Lane(freeAt: now)
    case .toHost: toHost = Lane(freeAt: now)
    }
  }

  /// Bytes sent and not taken yet.
  package func queuedBytes(_ direction: Direction) -> Int {
    switch direction {
    case .toDevice: toDevice.queuedBytes
    case .toHost: toHost.queuedBytes
    }
  }

  /// Bytes that have not left the sender yet: the fill level of a UART's transmit buffer, to the
  /// nearest byte. 0 on an unpaced line.
  package func unsentBytes(_ direction: Direction, now: Instant) -> Int {
    guard let rate = bitsPerSecond else { return 0 }
    let freeAt = direction == .toDevice ? toDevice.freeAt : toHost.freeAt
    guard freeAt > now else { return 0 }
    return Int((freeAt - now).wholeNanoseconds / Self.nanosecondsPerByte(at: rate))
  }

  /// When the next bytes arrive at either end; nil if none are in flight.
  package var nextDeadline: Instant? {
    [Direction.toDevice, .toHost].compactMap { oldestArrival($0) }.min()
  }

  /// The time to send bytes at a rate: ten bits each.
  package static func lineTime(ofBytes count: Int, at bitsPerSecond: UInt32) -> Duration {
    .nanoseconds(Int64(count) * 10_000_000_000 / Int64(max(bitsPerSecond, slowestBitsPerSecond)))
  }

  private static func nanosecondsPerByte(at bitsPerSecond: UInt32) -> Int64 {
    max(1, 10_000_000_000 / Int64(bitsPerSecond))
  }
}
