import NotibotProtocol

/// One direction of a faulty line: takes input bytes, returns the remaining output bytes,
/// interleaved with the events of the line itself.
///
/// Which faults happen depends on the spec, the seed and the bytes so far, never on how the bytes
/// are split into pieces: the position of the next fault is drawn in advance, and faults draw in
/// the order of their positions.
struct FaultLane: Equatable, Sendable {
  /// One piece of output.
  enum Item: Equatable, Sendable {
    case bytes([UInt8])
    case stall
    case reboot
    case unplug
  }

  /// How bytes without a new fault are handled.
  private enum Passage: Equatable, Sendable {
    case open
    case losing(bytes: Int)
    /// Drops bytes up to and including the next zero, but at most this many.
    case losingToZero(limitBytes: Int)
    case garbling(bytes: Int)
    /// Until `endSession`.
    case closed
  }

  private struct Schedule: Equatable, Sendable {
    var kind: FaultKind
    /// The generator of the gaps of a fault with a rate; nil for a one-time fault.
    var gaps: FaultGaps?
    /// The byte at which it happens next, counted from 1; nil if never.
    var next: UInt64?
  }

  /// The longest frame with both its zeros; the lost rest of a write is not longer. Source:
  /// PROTOCOL.md FRM-4.
  static let restLimitBytes = 545
  /// The most bytes that are repeated; few enough that they contain at most 127 frames (FRM-15).
  static let staleLimitBytes = 512

  private(set) var counts = FaultCounts()
  private var schedules: [Schedule]
  private var generator: SeededGenerator
  private var passage = Passage.open
  /// Input bytes so far.
  private var position: UInt64 = 0
  private var nextPosition: UInt64?
  private let keepsRecent: Bool
  private var recent: [UInt8] = []
  private var stale: [UInt8] = []

  init(spec: FaultSpec, direction: PacedWire.Direction, seed: UInt64) {
    generator = SeededGenerator(seed: direction == .toHost ? seed : ~seed)
    schedules = []
    let rules = spec.rules.filter { spec.applies($0, direction) }
    keepsRecent = rules.contains { $0.kind == .stale }
    for rule in rules {
      switch rule.occurrence {
      case .at(let byte): schedules.append(Schedule(kind: rule.kind, gaps: nil, next: byte))
      case .rate(let rate):
        let gaps = FaultGaps(rate: rate)
        schedules.append(Schedule(kind: rule.kind, gaps: gaps, next: gaps.next(after: 0, using: &generator)))
      }
    }
    nextPosition = schedules.compactMap(\.next).min()
  }

  /// How the next bytes are handled.
  mutating func pass(_ input: [UInt8]) -> [Item] {
    var items: [Item] = []
    var output: [UInt8] = []
    output.reserveCapacity(input.count)
    var index = 0
    while index < input.count {
      var unaffected = input.count - index
      if let nextPosition { unaffected = Int(min(UInt64(unaffected), nextPosition - position - 1)) }
      carry(input[index..<index + unaffected], into: &output)
      index += unaffected
      position += UInt64(unaffected)
      guard index < input.count else { break }
      position += 1
      disturb(input[index], output: &output, items: &items)
      index += 1
    }
    flush(&output, into: &items)
    return items
  }

  /// The port was closed, the plug pulled, or the device restarted: a deaf receiver works again,
  /// and all bytes so far belong to an old session.
  mutating func endSession() {
    if passage == .closed { passage = .open }
    if !recent.isEmpty {
      stale = recent
      recent = []
    }
  }

  // MARK: Bytes without a new fault

  private mutating func carry(_ bytes: ArraySlice<UInt8>, into output: inout [UInt8]) {
    var rest = bytes
    while !rest.isEmpty {
      switch passage {
      case .open:
        output += rest
        return
      case .closed:
        counts.lostBytes += UInt64(rest.count)
        return
      case .losing(let left):
        let lost = min(left, rest.count)
        counts.lostBytes += UInt64(lost)
        rest = rest.dropFirst(lost)
        passage = left > lost ? .losing(bytes: left - lost) : .open
      case .losingToZero(let limit):
        let byte = rest.removeFirst()
        counts.lostBytes += 1
        passage = byte == 0 || limit <= 1 ? .open : .losingToZero(limitBytes: limit - 1)
      case .garbling(let left):
        rest = rest.dropFirst()
        garble(into: &output)
        passage = left > 1 ? .garbling(bytes: left - 1) : .open
      }
    }
  }

  /// The byte as a receiver at another rate decodes it: its edges are too early or too late, and
  /// often it is not seen at all.
  private mutating func garble(into output: inout [UInt8]) {
    let count = Int.random(in: 0...2, using: &generator)
    if count == 0 { counts.lostBytes += 1 }
    for _ in 0..<count {
      switch UInt8.random(in: 0...3, using: &generator) {
      case 0: output.append(0x00)
      case 1: output.append(0xFF)
      case _: output.append(UInt8.random(in: 0x80...0xFF, using: &generator))
      }
    }
  }

  // MARK: A byte with a fault

  private mutating func disturb(_ byte: UInt8, output: inout [UInt8], items: inout [Item]) {
    var byte = byte
    var copies = 1
    for index in schedules.indices where schedules[index].next == position {
      let kind = schedules[index].kind
      schedules[index].next = schedules[index].gaps?.next(after: position, using: &generator)
      if !kind.concernsWholeLine, passage != .open { continue }
      guard kind != .stale || !stale.isEmpty else { continue }
      counts[kind] += 1
      switch kind {
      case .flip: byte ^= 1 << UInt8.random(in: 0...7, using: &generator)
      case .loss: copies = 0
      case .dup: copies += 1
      case .insert: output.append(UInt8.random(in: .min ... .max, using: &generator))
      case .splice: output += Self.logLines.randomElement(using: &generator).map { Array($0.utf8) } ?? []
      case .at: output += Self.modemCommands.randomElement(using: &generator).map { Array($0.utf8) } ?? []
      case .stale: output += stale
      case .run: passage = .losing(bytes: Int.random(in: 1...128, using: &generator))
      case .short: passage = .losingToZero(limitBytes: Self.restLimitBytes)
      case .garbage: passage = .garbling(bytes: Int.random(in: 1...64, using: &generator))
      case .deaf: passage = .closed
      case .stall: interrupt(.stall, output: &output, items: &items)
      case .reboot: interrupt(.reboot, output: &output, items: &items)
      case .unplug: interrupt(.unplug, output: &output, items: &items)
      }
    }
    nextPosition = schedules.compactMap(\.next).min()
    if copies == 0, passage == .open { counts.lostBytes += 1 }
    carry(ArraySlice(repeatElement(byte, count: passage == .open ? copies : 1)), into: &output)
  }

  private mutating func interrupt(_ item: Item, output: inout [UInt8], items: inout [Item]) {
    flush(&output, into: &items)
    items.append(item)
  }

  private mutating func flush(_ output: inout [UInt8], into items: inout [Item]) {
    guard !output.isEmpty else { return }
    if keepsRecent {
      recent += output.suffix(Self.staleLimitBytes)
      recent.removeFirst(max(0, recent.count - Self.staleLimitBytes))
    }
    items.append(.bytes(output))
    output = []
  }

  /// A log line that is printed in the middle of a frame.
  private static let logLines = [
    "I (48213) notibot: 3 shown, host connected, heap 183412 free\r\n",
    "W (48977) wifi:<ba-add>idx:1, ifx:0, tid:0, TAHI:0x1002\r\n",
    "\u{1B}[0;31mE (50120) i2c: i2c_master_cmd_begin(1480): timeout\u{1B}[0m\r\n",
    "D (51004) gpio: {\"pin\":9,\"level\":0}\n",
  ]

  /// The probe that ModemManager sends to a port that might be a modem.
  private static let modemCommands = ["AT\r", "ATZ\r", "AT+CGMI\r", "ATE0 +CMEE=1\r", "~~~"]
}

/// Draws the gaps between the bytes at which an event with a given probability happens.
///
/// Uses powers of the probability that the event does not happen: a fault costs 40 multiplications,
/// a byte without a fault costs nothing. The result is the same on every computer, because no
/// logarithm is needed.
struct FaultGaps: Equatable, Sendable {
  /// The probabilities that the event does not happen in 1, 2, 4 … 2^39 consecutive bytes.
  private let quiet: [Double]

  /// - Parameter rate: the probability at each byte. 0...1.
  init(rate: Double) {
    var power = 1 - rate
    quiet = (0..<40).map { _ in
      defer { power *= power }
      return power
    }
  }

  /// The next byte at which it happens, after byte number `position`; nil if that is more than
  /// 10^12 bytes away.
  func next(after position: UInt64, using generator: inout SeededGenerator) -> UInt64? {
    let drawn = Double.random(in: 0..<1, using: &generator)
    var chance = 1.0
    var skipped: UInt64 = 0
    for power in stride(from: 39, through: 0, by: -1) where chance * quiet[power] > drawn {
      chance *= quiet[power]
      skipped += 1 << UInt64(power)
    }
    return skipped >= (1 << 40) - 1 ? nil : position + skipped + 1
  }
}
