package import NotibotProtocol

/// The whole display as a rig sees it: input from the line, output to the line, and actions of
/// users.
///
/// States: *running* → *restarting* (no input and no output for the profile's `rebootTime`) →
/// *running*; from each to *held* and *downloading*, as the modem lines of the port demand, and
/// from there to *restarting*. Inputs: `receive`, `handleTimeout`; commands: `perform`; outputs:
/// `nextTransmit`, `nextDeadline`; queries: `statistics`, `store`. The same for each other
/// connection: `connect`, `receive(_:on:)`, `nextAction(for:)`, `disconnect`. After each input or
/// command the driver drains `nextTransmit`; while it does not, nothing grows: frames are made when
/// they are taken, console text is dropped beyond `consoleLimitBytes` and counted.
package struct EmulatedDevice: Equatable, Sendable {
  enum State: Equatable, Sendable {
    case running
    case restarting(until: Instant, ResetReason)
    /// EN is low.
    case held
    /// The ROM waits for a download.
    case downloading
  }

  /// Whether the application handles requests. Source: PROTOCOL.md LNK-54.
  enum Application: Equatable, Sendable {
    case handling
    case stalled
  }

  /// When the bytes of an unfinished frame become text. Source: PROTOCOL.md FRM-9.
  enum Silence: Equatable, Sendable {
    case none
    /// The second has not elapsed.
    case until(Instant)
    /// It has elapsed; bytes that were already received can still be read.
    case confirming(until: Instant)
  }

  /// Queued console text, in bytes.
  package static let consoleLimitBytes = 8192
  static let silenceTime = Duration.seconds(1)
  static let silenceConfirmTime = Duration.milliseconds(10)

  package let profile: DeviceProfile
  /// The maximum number of bytes in one `nextTransmit` to which another frame is added. 1 or more.
  package var transmitLimitBytes = 16_384
  var state = State.running
  /// The chip's loader and flash; nil for a board whose flash cannot be written.
  package var loader: LoaderMachine?
  /// How a host gets to the loader.
  package var loaderEntry = LoaderEntry.modemLines
  var syncWatch = SyncWatch()
  /// What lies in the flash, as of the last reset; nil for a board whose flash cannot be written.
  var bootOutcome: BootOutcome?
  /// Whether the supply was cut together with the plug.
  var hasLostPlug = false
  var application = Application.handling
  var silence = Silence.none
  var flash = Flash.idle
  /// Pages erased since boot.
  var eraseCount = 0
  var brownoutDeadline: Instant?
  /// The time of day that a host sent last; nil before that. Source: PROTOCOL.md NTF-27.
  var timeOfDay: TimeOfDay?
  var generator: SeededGenerator
  var clock: Instant
  var decoder = FrameDecoder(receiving: .fromHost)
  var link: DeviceLink
  var attributes: ATTServer
  /// The bearers other than the line, in the order of their connection; at most `connectionsLimit`.
  var connections: [ATTConnection] = []
  var connectionCounters = ConnectionCounters()
  var console: [UInt8] = []
  var chatterDeadline: Instant?
  /// Resets by the modem lines of the port.
  var lineResets: UInt64 = 0
  var deafBytes: UInt64 = 0
  var bytesReceived: UInt64 = 0
  var bytesSent: UInt64 = 0
  var consoleDroppedBytes: UInt64 = 0

  /// Powers on: the boot text and the first HELLO are ready at once.
  /// - Parameters:
  ///   - seed: decides boot ids and session ids.
  ///   - loader: the chip's loader and flash; nil for none.
  package init(profile: DeviceProfile, seed: UInt64, loader: LoaderMachine? = nil, now: Instant) {
    self.profile = profile
    self.loader = loader
    bootOutcome = loader.map { BootOutcome(chip: $0.chip, flash: $0.flash) }
    generator = SeededGenerator(seed: seed)
    clock = now
    let boot = BootRecord(
      id: UInt32.random(in: 1 ... .max, using: &generator), count: 1, reason: .powerOn, time: now)
    link = DeviceLink(
      identity: profile.identity(in: profile.mode, booted: bootOutcome?.application), boot: boot,
      firstSessionID: UInt16.random(in: 1 ... .max, using: &generator))
    attributes = ATTServer(
      mtu: profile.limits.mtu, mode: profile.mode, store: profile.emptyStore, bootID: boot.id,
      eventsLimit: profile.eventsLimit)
    if case .failure? = bootOutcome {
      restart(.powerOn)
      return
    }
    printBootText(of: boot)
    armBrownout()
  }

  // MARK: Inputs

  /// Takes bytes from the line.
  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    clock = now
    bytesReceived += UInt64(bytes.count)
    if loader != nil, receiveForLoader(bytes) { return }
    switch state {
    case .restarting, .held, .downloading:
      deafBytes += UInt64(bytes.count)
      return
    case .running:
      break
    }
    if case .erasing = flash { return hold(bytes) }
    handle(bytes)
  }

  /// Handles bytes that a running device has read.
  mutating func handle(_ bytes: [UInt8]) {
    decoder.receive(bytes)
    while let event = decoder.nextEvent() {
      switch event {
      case .text: break  // Counted by the decoder; a device cannot display it.
      case .frame(let frame): receive(frame)
      }
    }
    silence = decoder.hasCandidate ? .until(clock + Self.silenceTime) : .none
    handleRequests()
  }

  /// Sets the time, and handles what is due.
  package mutating func handleTimeout(now: Instant) {
    clock = now
    loader?.handleTimeout(now: now)
    switch state {
    case .restarting(let until, let reason):
      if now >= until { boot(after: reason) }
      return
    case .held, .downloading: return
    case .running:
      break
    }
    if let brownoutDeadline, now >= brownoutDeadline { return restart(.brownout) }
    guard finishErasing() else { return }
    handleSilence()
    if let chatterDeadline, now >= chatterDeadline {
      self.chatterDeadline = profile.console.logInterval.map { now + $0 }
      log(
        BootText.chatter(
          name: Self.firmwareName, uptimeMs: uptimeMs, storedCount: attributes.store.storedCount,
          hasSession: link.sessionID != nil))
    }
    link.handleTimeout(now: now)
    handleLinkEvents()
    handleRequests()
  }

  // MARK: Outputs

  /// The next bytes for the line, to be written whole and at once: frames and console text; no
  /// frame is split. Nil if there are none.
  package mutating func nextTransmit() -> [UInt8]? {
    if case .erasing = flash { return nil }
    if let output = nextLoaderOutput() { return output }
    var wire = drainConsole()
    while wire.count < transmitLimitBytes, let frame = link.nextFrame() { frame.encode(into: &wire) }
    guard !wire.isEmpty else { return nil }
    bytesSent += UInt64(wire.count)
    return wire
  }

  /// When `handleTimeout` is needed next.
  package var nextDeadline: Instant? {
    switch state {
    case .restarting(let until, _): return until
    case .held: return nil
    case .downloading: return loader?.nextDeadline
    case .running: break
    }
    if case .erasing(let until, _) = flash { return min(until, brownoutDeadline ?? until) }
    var earliest = link.nextDeadline
    if let brownoutDeadline { earliest = min(earliest ?? brownoutDeadline, brownoutDeadline) }
    switch silence {
    case .none: break
    case .until(let moment), .confirming(let moment): earliest = min(earliest ?? moment, moment)
    }
    if let chatterDeadline { earliest = min(earliest ?? chatterDeadline, chatterDeadline) }
    if let expiryDeadline { earliest = min(earliest ?? expiryDeadline, expiryDeadline) }
    return earliest
  }

  /// Sets the rate of the line, in bits per second, for the timers; nil if the line is not the
  /// limit. Source: PROTOCOL.md LNK-51.
  package mutating func setLineRate(bitsPerSecond: UInt32?) {
    link.lineBitsPerSecond = bitsPerSecond
  }

  // MARK: Running

  private mutating func receive(_ frame: Frame) {
    // Data received before a control frame is handled before it: a FIN must not overtake a write.
    if frame.header.type != .data { handleRequests() }
    link.receive(frame, now: clock)
    handleLinkEvents()
  }

  private mutating func handleLinkEvents() {
    while let event = link.nextEvent() {
      switch event {
      case .opened(let peer):
        attributes.open(
          .serial, features: peer.features, source: peer.source, model: profile.lineModel)
        if let hostClock = peer.clock { timeOfDay = TimeOfDay(seconds: hostClock.seconds, at: clock) }
      case .ended: attributes.close(.serial)
      }
    }
  }

  /// Handles the queued requests while there is room for answers. Source: PROTOCOL.md LNK-44,
  /// ATT-18, NTF-31.
  mutating func handleRequests() {
    switch application {
    case .stalled: return
    case .handling: break
    }
    if case .erasing = flash { return }
    expireDue()
    sendUnsolicited()
    while link.hasRoom, flash == .idle, !attributes.hasPendingSync(on: .serial),
      let inbound = link.popInbound()
    {
      handle(inbound)
      startErasing()
    }
    sendUnsolicited()
    if handleConnections() { sendUnsolicited() }
  }

  private mutating func handle(_ inbound: DeviceSession.Inbound) {
    switch inbound.channel {
    case .att:
      let seconds = timeOfDay?.seconds(at: clock)
      if let response = attributes.receive(inbound.payload, on: .serial, at: seconds) {
        link.send(response, on: .att)
      }
    case .link where attributes.receiveMessage(inbound.payload, on: .serial):
      // SYNCED is sent after everything that is queued; if there is room for all of it, the
      // requests after SYNC are handled at once.
      sendUnsolicited()
    default:
      link.counters.unserved += 1
    }
  }

  private mutating func sendUnsolicited() {
    while link.sendsAtOnce, let outgoing = attributes.nextUnsolicited(for: .serial) {
      link.send(outgoing.payload, on: outgoing.channel)
    }
  }

  private mutating func handleSilence() {
    switch silence {
    case .none:
      break
    case .until(let moment):
      if clock >= moment { silence = .confirming(until: clock + Self.silenceConfirmTime) }
    case .confirming(let moment):
      guard clock >= moment else { break }
      decoder.flushCandidateAsText()
      while decoder.nextEvent() != nil {}
      silence = .none
    }
  }

  // MARK: Restarting

  /// Goes down: everything but the counters is lost. Source: PROTOCOL.md NTF-12.
  mutating func restart(_ reason: ResetReason) {
    standStill(.restarting(until: clock + profile.rebootTime, reason))
    startROM(after: reason)
  }

  /// Stops everything that runs.
  mutating func standStill(_ next: State) {
    state = next
    loader?.reset()
    syncWatch.reset()
    decoder.flushCandidateAsText()
    while decoder.nextEvent() != nil {}
    silence = .none
    console = []
    chatterDeadline = nil
    brownoutDeadline = nil
    flash = .idle
    eraseCount = 0
    timeOfDay = nil
    link.fallSilent()
    attributes.close(.serial)
    endConnections()
    attributes.store.display?.append(.restarted)
  }

  private mutating func boot(after reason: ResetReason) {
    if case .failure(_, let next)? = bootOutcome { return restart(next) }
    state = .running
    application = .handling
    var id = link.boot.id
    while id == link.boot.id { id = UInt32.random(in: 1 ... .max, using: &generator) }
    let boot = BootRecord(id: id, count: link.boot.count + 1, reason: reason, time: clock)
    let rate = link.lineBitsPerSecond
    link = DeviceLink(
      identity: profile.identity(in: attributes.mode, booted: bootOutcome?.application), boot: boot,
      firstSessionID: UInt16.random(in: 1 ... .max, using: &generator),
      counters: link.counters)
    link.lineBitsPerSecond = rate
    var store = profile.emptyStore
    store.display = attributes.store.display
    attributes = ATTServer(
      mtu: profile.limits.mtu, mode: attributes.mode, store: store, bootID: boot.id,
      eventsLimit: profile.eventsLimit, counters: attributes.counters)
    printApplicationText(of: boot)
    armBrownout()
    openConnections()
    handleRequests()
  }
}
