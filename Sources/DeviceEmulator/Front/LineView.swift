import NotibotProtocol

/// What passed on the line lately, for a viewer: the newest frames of both directions and the
/// newest console lines.
///
/// Inputs `receive`, `flush`; queries `frames`, `console`, `hasCandidate`. Keeps at most
/// `framesLimit` frames, `linesLimit` lines and one line of `lineLimitBytes`.
struct LineView {
  static let framesLimit = 50
  static let linesLimit = 100
  static let lineLimitBytes = 400

  /// A line of text with its number, from 1, in the order of the wire.
  struct Entry: Encodable, Equatable, Sendable {
    var number: Int
    var text: String
  }

  private(set) var frames: [Entry] = []
  private(set) var console: [Entry] = []
  private var fromHost = FrameDecoder(receiving: .fromHost)
  private var fromDevice = FrameDecoder(receiving: .fromDevice)
  private var line: [UInt8] = []
  private var framesBefore = 0
  private var linesBefore = 0

  /// Whether bytes of the device are kept that silence would make text. Source: PROTOCOL.md FRM-9.
  var hasCandidate: Bool { fromDevice.hasCandidate }

  /// Takes bytes of a direction.
  mutating func receive(_ bytes: [UInt8], _ direction: Direction) {
    switch direction {
    case .fromHost:
      fromHost.receive(bytes)
      while let event = fromHost.nextEvent() {
        if case .frame(let frame) = event { add(frame) }
      }
    case .fromDevice:
      fromDevice.receive(bytes)
      drainEvents()
    }
  }

  /// The device has been silent: what it sent is text, and an unfinished line is shown.
  mutating func flush() {
    fromDevice.flushCandidateAsText()
    drainEvents()
  }

  private mutating func drainEvents() {
    while let event = fromDevice.nextEvent() {
      switch event {
      case .frame(let frame): add(frame)
      case .text(let bytes): add(bytes)
      }
    }
  }

  private mutating func add(_ frame: Frame) {
    framesBefore += 1
    if frames.count == Self.framesLimit { frames.removeFirst() }
    frames.append(Entry(number: framesBefore, text: FrameSummary.line(of: frame)))
  }

  private mutating func add(_ bytes: [UInt8]) {
    for byte in bytes {
      if byte != UInt8(ascii: "\n") { line.append(byte) }
      guard byte == UInt8(ascii: "\n") || line.count == Self.lineLimitBytes else { continue }
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      linesBefore += 1
      if console.count == Self.linesLimit { console.removeFirst() }
      console.append(Entry(number: linesBefore, text: TerminalText.exact(line)))
      line = []
    }
  }
}
