import DeviceEmulator
import NotibotProtocol

/// The cost of one kind of fault on the wire, without sessions or retransmissions: frames and log
/// lines are written to a faulty line in sequence, and the output of a decoder is compared with the
/// input.
struct FrameDamage: Equatable, Sendable {
  /// The measured faults: those that change bytes, with one rate for all.
  static let kinds: [FaultKind] = [.flip, .loss, .insert, .dup, .splice, .run, .short, .garbage]
  /// Those of them that affect one byte or one position, for which at most one frame is allowed to
  /// be lost.
  static let singleKinds: Set<FaultKind> = [.flip, .loss, .insert, .dup, .splice]
  /// The mean number of frames per fault.
  static let framesPerFault = 10

  let kind: FaultKind
  /// Frames written.
  private(set) var sent = 0
  /// Frames that were decoded as they were written.
  private(set) var received = 0
  /// Frames that were decoded but not written like this, or not in this order.
  private(set) var wrong = 0
  /// Faults that happened.
  private(set) var faults: UInt64 = 0
  /// Bytes other than zeros that left the line and are neither in a frame nor in the text.
  private(set) var unaccountedBytes = 0

  /// Frames that were not decoded.
  var lost: Int { sent - received }
  /// Frames lost for each fault.
  var lostPerFault: Double { faults == 0 ? 0 : Double(lost) / Double(faults) }

  /// Whether the rules hold: nothing wrong accepted, no byte lost, and at most one frame for a
  /// single byte.
  var isWithinLimits: Bool {
    wrong == 0 && unaccountedBytes == 0 && (!Self.singleKinds.contains(kind) || lostPerFault <= 1)
  }

  private var wire: FaultyWire
  private var decoder = FrameDecoder(receiving: .fromDevice)
  private var generator: SeededGenerator
  /// Frames written and neither decoded nor skipped yet; a fault delays none by more than a few.
  private var expected: [Frame] = []
  private var bytesOut = 0
  private var bytesTaken = 0

  init(_ kind: FaultKind, seed: UInt64) {
    self.kind = kind
    let rate = 1 / (Double(Self.framesPerFault) * 150)
    let spec = FaultSpec(rules: [.init(kind, .rate(rate), reach: kind.onlyDirection == nil ? .toHost : nil)])
    wire = FaultyWire(spec: spec, seed: seed)
    generator = SeededGenerator(seed: seed)
  }

  /// Writes more frames, each with a unique payload, and a log line after one in four.
  mutating func run(frames: Int) {
    for _ in 0..<frames { writeNext() }
  }

  /// Ends the line, so that the last candidate is decided.
  mutating func finish() {
    receive([0, 0])
    faults = wire.counts[kind]
    unaccountedBytes += bytesOut - bytesTaken
    bytesTaken = bytesOut
  }

  private mutating func writeNext() {
    let number = UInt32(truncatingIfNeeded: sent)
    var payload = withUnsafeBytes(of: number.littleEndian) { Array($0) }
    let random = (0..<Int.random(in: 2...30, using: &generator)).map { _ in generator.next() }
    for word in random { payload += withUnsafeBytes(of: word.littleEndian) { Array($0) } }
    let header = FrameHeader(
      type: .data, direction: .fromDevice, channel: .att, session: 0x3A7C,
      sequence: UInt8(truncatingIfNeeded: sent),
      ack: 0, credit: 16)
    let frame = Frame(header, payload: payload)
    sent += 1
    expected.append(frame)
    var bytes = frame.encoded()
    if number % 4 == 0 { bytes += Array("I (\(number)) notibot: still here\r\n".utf8) }
    wire.send(bytes, .toHost)
    while case .bytes(let left)? = wire.next(.toHost, now: .zero) { receive(left) }
  }

  private mutating func receive(_ bytes: [UInt8]) {
    bytesOut += bytes.count { $0 != 0 }
    decoder.receive(bytes)
    while let event = decoder.nextEvent() {
      switch event {
      case .text(let text): bytesTaken += text.count
      case .frame(let frame):
        // The encoding has no zeros but the two around it.
        bytesTaken += frame.encoded().count - 2
        settle(frame)
      }
    }
  }

  private mutating func settle(_ frame: Frame) {
    guard let index = expected.firstIndex(of: frame) else {
      wrong += 1
      return
    }
    received += 1
    expected.removeFirst(index + 1)
  }
}
