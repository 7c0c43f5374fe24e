import DequeModule
package import NotibotProtocol

/// Reports the traffic of a line without taking part in it: text, frames of both directions,
/// damage, crashes, boots.
///
/// It sends nothing. Every byte except zeros and the ends of lines is reported as part of a frame,
/// of a damaged frame (FRM-12) or of a line of text, in order; text within 0.2 s, unless it can be
/// the beginning of a frame (FRM-9). Crashes and restarts are reported in addition. States:
/// *closed* → `portOpened` → *open* → `portLost` → *closed*. Bytes in *closed* are late and are
/// ignored.
package struct MonitorMachine: Equatable, Sendable {
  private enum State: Equatable {
    case closed
    case open
  }

  package private(set) var counts = MonitorCounts()
  private var state = State.closed
  private var device = FrameDecoder(receiving: .fromDevice)
  /// Finds the host's frames, on a line where both directions are visible.
  private var host = FrameDecoder(receiving: .fromHost)
  private var silence = TextSilence()
  private var console = ConsoleText(.console)
  private var framedLog = ConsoleText(.framedLog)
  private var crashes = CrashDetector()
  private var boots = BootHistory()
  private var binaryLog = BinaryLog()
  private var records: Deque<MonitorRecord> = []

  package init() {}

  // MARK: Inputs

  /// The port is open.
  package mutating func portOpened(_ port: String, now: Instant) {
    (device, host) = (FrameDecoder(receiving: .fromDevice), FrameDecoder(receiving: .fromHost))
    silence = TextSilence()
    binaryLog = BinaryLog()
    state = .open
    records.append(MonitorRecord(at: now, .opened(port: port)))
  }

  /// The port is gone; `reason` is printable.
  package mutating func portLost(reason: String, now: Instant) {
    switch state {
    case .closed: break
    case .open:
      breakOff(now: now)
      state = .closed
      records.append(MonitorRecord(at: now, .lost(reason: reason)))
    }
  }

  /// Bytes were read.
  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    switch state {
    case .closed: break
    case .open:
      counts.bytes += UInt64(bytes.count)
      if binaryLog.receive(bytes) { records.append(MonitorRecord(at: now, .binaryLog)) }
      var start = 0
      while start < bytes.count {
        // Zero by zero, so that each damaged frame is detected on its own and both directions keep
        // their order.
        let end = bytes[start...].firstIndex(of: 0).map { $0 + 1 } ?? bytes.count
        receivePart(bytes.span.bytes.extracting(start..<end), now: now)
        start = end
      }
      silence.handleBytes(hasCandidate: device.hasCandidate, now: now)
    }
  }

  /// Executes what is due: shows unfinished lines, ends crashes, gives up candidates.
  package mutating func handleTimeout(now: Instant) {
    if silence.handleTimeout(now: now) {
      device.flushCandidateAsText()
      host.flushCandidateAsText()
      drain(damage: nil, now: now)
    }
    var lines: [MonitorRecord] = []
    console.handleTimeout(now: now, into: &lines)
    framedLog.handleTimeout(now: now, into: &lines)
    read(lines, now: now)
    publish(crashes.handleTimeout(now: now), now: now)
  }

  // MARK: Commands

  /// Emits all pending records: no more bytes will follow.
  package mutating func finish(now: Instant) {
    switch state {
    case .closed: break
    case .open:
      breakOff(now: now)
      state = .closed
    }
  }

  // MARK: Queries

  /// Whether what was received shows that the rate is right.
  package var isUnderstood: Bool { counts.frames > 0 || binaryLog.isDetected }

  // MARK: Outputs

  /// The next record, or nil.
  package mutating func nextRecord() -> MonitorRecord? {
    records.popFirst()
  }

  /// When to call `handleTimeout`; nil: not before another input.
  package var nextDeadline: Instant? {
    [silence.nextDeadline, console.nextDeadline, framedLog.nextDeadline, crashes.nextDeadline]
      .compactMap(\.self).min()
  }

  // MARK: Steps

  /// Receives bytes of which only the last can be a zero.
  private mutating func receivePart(_ bytes: RawSpan, now: Instant) {
    let before = device.counters
    device.receive(bytes)
    host.receive(bytes)
    let after = device.counters
    let damage: DamagedFrame.Kind? =
      if after.crcErrors > before.crcErrors { .crc } else if after.malformed > before.malformed {
        .malformed
      } else if after.overruns > before.overruns { .overrun } else { nil }
    drain(damage: damage, now: now)
  }

  private mutating func drain(damage: DamagedFrame.Kind?, now: Instant) {
    if damage == .overrun { record(DamagedFrame(.overrun, []), now: now) }
    while let event = device.nextEvent() {
      switch (event, damage) {
      case (.frame(let frame), _): record(frame, now: now)
      case (.text(let bytes), .crc?): record(DamagedFrame(.crc, bytes), now: now)
      case (.text(let bytes), .malformed?): record(DamagedFrame(.malformed, bytes), now: now)
      case (.text(let bytes), .overrun?), (.text(let bytes), nil):
        var lines: [MonitorRecord] = []
        console.receive(bytes, now: now, into: &lines)
        read(lines, now: now)
      }
    }
    while let event = host.nextEvent() {
      switch event {
      case .frame(let frame): record(frame, now: now)
      // Each byte of text is counted once by the other decoder.
      case .text: break
      }
    }
  }

  private mutating func record(_ frame: Frame, now: Instant) {
    counts.frames += 1
    records.append(MonitorRecord(at: now, .frame(frame)))
    guard frame.header.direction == .fromDevice else { return }
    switch (frame.header.type, frame.header.channel) {
    case (.hello, _):
      // A malformed one is not counted elsewhere: the frame itself is shown.
      if let hello = try? Hello(parsing: frame.payload) {
        publish(crashes.receive(hello, now: now), now: now)
      }
    case (.udata, .log):
      var lines: [MonitorRecord] = []
      framedLog.receive(frame.payload, now: now, into: &lines)
      read(lines, now: now)
    case (.syn, _), (.synack, _), (.data, _), (.ack, _), (.nak, _), (.udata, _), (.ping, _), (.pong, _),
      (.rst, _), (.fin, _):
      break
    }
  }

  private mutating func record(_ damage: DamagedFrame, now: Instant) {
    var lines: [MonitorRecord] = []
    // The zeros of a binary log delimit nothing.
    if binaryLog.isDetected {
      console.receive(damage.bytes, now: now, into: &lines)
      return read(lines, now: now)
    }
    counts.damagedFrames += 1
    console.breakOff(into: &lines)
    read(lines, now: now)
    records.append(MonitorRecord(at: now, .damage(damage)))
  }

  private mutating func breakOff(now: Instant) {
    device.flushCandidateAsText()
    host.flushCandidateAsText()
    drain(damage: nil, now: now)
    var lines: [MonitorRecord] = []
    console.breakOff(into: &lines)
    framedLog.breakOff(into: &lines)
    read(lines, now: now)
    publish(crashes.finish(now: now), now: now)
  }

  /// Emits lines, with the events that they cause.
  private mutating func read(_ lines: [MonitorRecord], now: Instant) {
    for var record in lines {
      guard case .text(var line) = record.content else { continue }
      switch line.end {
      case .silence: records.append(record)
      case .newline, .limit, .broken:
        counts.lines += line.end == .newline ? 1 : 0
        let reading = crashes.receive(line.bytes, now: now)
        publish(reading.before, now: now)
        line.isInCrash = reading.isInCrash
        record.content = .text(line)
        records.append(record)
        publish(reading.after, now: now)
      }
    }
  }

  private mutating func publish(_ events: [CrashDetector.Event], now: Instant) {
    for event in events {
      switch event {
      case .crash(let crash):
        counts.crashes += 1
        records.append(MonitorRecord(at: now, .crash(crash)))
      case .warning(let warning):
        counts.warnings += 1
        records.append(MonitorRecord(at: now, .warning(warning)))
      case .boot(let cause, let isIntended):
        counts.boots += 1
        records.append(MonitorRecord(at: now, .boot(cause: cause)))
        if !isIntended, boots.recordBoot(now: now) {
          records.append(MonitorRecord(at: now, .rebootLoop(boots: BootHistory.loopBoots)))
        }
      }
    }
  }
}
