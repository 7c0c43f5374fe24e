import NotibotProtocol
import SerialLink

/// Turns the crash output of a device into one event, and detects that it starts again.
///
/// States: *running* → a word of a crash → *collecting* → `Rebooting...`, a boot, silence or the
/// limit → *reported* → a boot → *running*. *reported* → another word of a crash → *collecting*. A
/// boot caused by a watchdog or the power supply is a separate crash in *running*, and the end of
/// the reported one in *reported*.
struct CrashDetector: Equatable, Sendable {
  enum Event: Equatable, Sendable {
    case crash(Crash)
    /// The cause is printable.
    case boot(cause: String)
  }

  /// A classified line, and the events that it causes.
  struct Reading: Equatable, Sendable {
    /// The events that end before this line.
    var before: [Event] = []
    var isInCrash = false
    /// The events of this line.
    var after: [Event] = []
  }

  /// Limits for one crash, in lines and bytes; a register dump with a backtrace has 40 lines.
  static let linesLimit = 128
  static let textLimitBytes = 16_384
  /// The longest reason, in characters.
  static let reasonLimit = 160
  /// A crash ends when the device is silent for this long.
  static let silenceNs: Int64 = 2_000_000_000

  private enum State: Equatable {
    case running
    case collecting(Crash, deadline: Instant)
    case reported
  }

  /// A boot that was reported by text and not yet by HELLO.
  private enum Boot: Equatable {
    case awaitsHello
    case known(bootID: UInt32?)
  }

  private var state = State.running
  private var boot = Boot.known(bootID: nil)

  /// Takes a line of text.
  mutating func receive(_ line: [UInt8], now: Instant) -> Reading {
    let found = CrashWord.first(in: line)
    var reading = Reading()
    switch (found?.word, state) {
    case (.crash(let kind), .running), (.crash(let kind), .reported):
      begin(kind, line, from: found?.offset ?? 0, now: now)
      reading.isInCrash = true
    case (nil, .collecting(let crash, _)), (.crash, .collecting(let crash, _)):
      reading.isInCrash = add(line, to: crash, now: now, into: &reading.after)
    case (.rebooting, .collecting(let crash, _)):
      reading.isInCrash = add(line, to: crash, now: now, into: &reading.after)
      endCollecting(into: &reading.after)
    case (.banner, .collecting): endCollecting(into: &reading.before)
    case (.reset, _):
      endCollecting(into: &reading.before)
      noteReset(line, from: found?.offset ?? 0, into: &reading.after)
    case (nil, .running), (nil, .reported), (.rebooting, .running), (.rebooting, .reported),
      (.banner, .running), (.banner, .reported):
      break
    }
    return reading
  }

  /// Takes a HELLO: for a boot that printed nothing it is the only sign.
  mutating func receive(_ hello: Hello) -> [Event] {
    var events: [Event] = []
    switch boot {
    case .known(bootID: hello.bootID): return []
    case .awaitsHello: boot = .known(bootID: hello.bootID)
    case .known:
      boot = .known(bootID: hello.bootID)
      endCollecting(into: &events)
      let reason = hello.resetReason ?? .unknown
      if let kind = reason.crashKind, state == .running {
        events.append(.crash(Crash(kind, reason: reason.name)))
      }
      events.append(.boot(cause: reason.name))
      state = .running
    }
    return events
  }

  /// Ends a crash after silence.
  mutating func handleTimeout(now: Instant) -> [Event] {
    guard case .collecting(_, let deadline) = state, now >= deadline else { return [] }
    return finish()
  }

  /// Ends a crash that the device did not end.
  mutating func finish() -> [Event] {
    var events: [Event] = []
    endCollecting(into: &events)
    return events
  }

  var nextDeadline: Instant? {
    switch state {
    case .running, .reported: nil
    case .collecting(_, let deadline): deadline
    }
  }

  private mutating func begin(_ kind: Crash.Kind, _ line: [UInt8], from offset: Int, now: Instant) {
    let text = VisibleText(Array(line[offset...])).plain
    var reason = text
    var kind = kind
    if kind == .panic {
      // "Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled."
      let inside = text.drop { $0 != "(" }.dropFirst().prefix { $0 != ")" }
      if !inside.isEmpty { reason = String(inside) }
      if reason.contains("wdt timeout") { kind = .watchdog }
      if reason.hasPrefix("Stack canary") || reason.hasPrefix("Stack protection") { kind = .stackOverflow }
    }
    let crash = Crash(kind, reason: String(reason.prefix(Self.reasonLimit)), lines: [line])
    state = .collecting(crash, deadline: now.after(ns: Self.silenceNs))
  }

  /// Returns whether the line belongs to the crash; one beyond the limits ends it.
  private mutating func add(
    _ line: [UInt8], to crash: Crash, now: Instant, into events: inout [Event]
  ) -> Bool {
    var crash = crash
    let size = crash.lines.reduce(line.count) { $0 + $1.count }
    guard crash.lines.count < Self.linesLimit, size <= Self.textLimitBytes else {
      crash.isCut = true
      state = .reported
      events.append(.crash(crash))
      return false
    }
    crash.lines.append(line)
    state = .collecting(crash, deadline: now.after(ns: Self.silenceNs))
    return true
  }

  private mutating func endCollecting(into events: inout [Event]) {
    guard case .collecting(let crash, _) = state else { return }
    events.append(.crash(crash))
    state = .reported
  }

  /// `rst:0x8 (TG1WDT_SYS_RST),boot:0xc (SPI_FAST_FLASH_BOOT)`
  private mutating func noteReset(_ line: [UInt8], from offset: Int, into events: inout [Event]) {
    let found = ESPResetCause(in: line[offset...])
    let cause =
      found.map { VisibleText(Array($0.name.utf8)).plain }
      ?? String(VisibleText(Array(line[offset...])).plain.prefix { $0 != "," }.prefix(16))
    if state == .running, let kind = found?.trouble?.crashKind {
      events.append(.crash(Crash(kind, reason: cause, lines: [line])))
    }
    state = .running
    boot = .awaitsHello
    events.append(.boot(cause: cause))
  }
}

/// Detects that a device does not get past its start.
struct BootHistory: Equatable, Sendable {
  /// This many boots, of which the first and last are at most `loopWindow` apart, are a loop.
  static let loopBoots = 3
  static let loopWindow = Duration.seconds(10)

  private enum State: Equatable {
    /// The newest boots, fewer than `loopBoots`.
    case calm([Instant])
    /// The loop is reported; the time of the last boot.
    case looping(Instant)
  }

  private var state = State.calm([])

  /// Returns whether this boot makes a loop that was not reported yet.
  mutating func noteBoot(now: Instant) -> Bool {
    switch state {
    case .looping(let last) where now - last <= Self.loopWindow:
      state = .looping(now)
      return false
    case .looping:
      state = .calm([now])
      return false
    case .calm(let boots):
      let recent = boots.filter { now - $0 <= Self.loopWindow } + [now]
      guard recent.count >= Self.loopBoots else {
        state = .calm(recent)
        return false
      }
      state = .looping(now)
      return true
    }
  }
}
