package import DeviceEmulator
import NotibotProtocol

extension Scenario {
  /// Draws a run from a seed.
  /// - Parameters:
  ///   - profile: the device; drawn if nil.
  ///   - variant: the special conditions; drawn if nil.
  package init(seed: UInt64, profile: DeviceProfile? = nil, variant: Variant? = nil) {
    var draw = Draw(seed: seed)
    let drawnProfile = draw.element(of: Self.profiles)
    let drawnVariant = draw.variant()
    self.seed = seed
    self.profile = profile ?? drawnProfile
    // A journal that is lost or copied matters only with identities.
    self.variant = variant ?? (self.profile.mode == .strict ? drawnVariant : .single)
    faultTime = .milliseconds(draw.number(5000...(draw.chance(0.2) ? 60_000 : 15_000)))
    faults = draw.faults()
    contents = []
    steps = []
    let slowest = draw.chance(0.3) ? 50_000 : 2000
    commitTime = .microseconds(100) ... .microseconds(draw.number(100...slowest))
    let copied = draw.number(0...2)
    journalEvent = JournalEvent(copiedBeforeLife: copied, usedBeforeLife: copied + draw.number(1...2))
    entriesLimit = draw.chance(0.1) ? draw.number(3...20) : 10_000
    drawSubmissions(&draw)
    drawDisplay(&draw)
    drawDevice(&draw)
    drawHosts(&draw)
    // Of their own, so that they change nothing else in a run.
    var separate = Draw(seed: seed ^ 0x6B65_7973)
    drawKeys(&separate)
    drawExpiries(&separate)
    var opening = Draw(seed: seed ^ 0x706F_7274)
    if opening.chance(0.4) { openingTrouble = Double(opening.number(5...60)) / 100 }
    steps.sort { $0.time < $1.time }
  }

  private mutating func drawSubmissions(_ draw: inout Draw) {
    let count = draw.number(10...60)
    for _ in 0..<count {
      let host = draw.number(0...(variant.hostsCount - 1))
      add(.add(content: drawContent(&draw), host: host), at: draw.time(before: faultTime))
    }
    for _ in 0..<draw.number(0...(count / 3)) {
      let content = drawContent(&draw)
      add(.update(content: content, pick: draw.next()), at: draw.time(before: faultTime))
    }
    for _ in 0..<draw.number(0...(count / 5)) {
      add(.remove(pick: draw.next()), at: draw.time(before: faultTime))
    }
  }

  private mutating func drawContent(_ draw: inout Draw) -> Int {
    contents.append(
      draw.notification(timestamp: Self.firstTimestamp + UInt32(contents.count), number: contents.count))
    return contents.count - 1
  }

  private mutating func drawDisplay(_ draw: inout Draw) {
    for _ in 0..<draw.number(0...12) {
      add(.dismiss(pick: draw.next()), at: draw.time(before: faultTime))
    }
    for _ in 0..<draw.number(0...3) {
      add(.action(pick: draw.next()), at: draw.time(before: faultTime))
    }
  }

  private mutating func drawDevice(_ draw: inout Draw) {
    let reasons: [ResetReason] = [.powerOn, .brownout, .panic, .taskWatchdog, .externalPin]
    for _ in 0..<draw.number(0...4) {
      add(.reboot(draw.element(of: reasons)), at: draw.time(before: faultTime))
    }
    // A supply that fails repeatedly.
    if draw.chance(0.08) {
      var time = Duration.zero
      while time < faultTime {
        time += .milliseconds(draw.number(200...2000))
        add(.reboot(.brownout), at: .zero + time)
      }
    }
    for _ in 0..<draw.number(0...3) {
      let event = Event.unplug(
        for: .milliseconds(draw.number(1...(draw.chance(0.3) ? 8000 : 800))),
        draw.element(of: Return.allCases),
        losesPower: draw.chance(0.6))
      add(event, at: draw.time(before: faultTime))
    }
    if draw.chance(0.15) {
      add(.hang(for: .milliseconds(draw.number(100...12_000))), at: draw.time(before: faultTime))
    }
  }

  private mutating func drawHosts(_ draw: inout Draw) {
    let least = variant == .single ? 0 : 3
    for _ in 0..<draw.number(least...(least + 4)) {
      let end = draw.element(of: [HostEnd.kill, .kill, .powerLoss, .powerLoss, .stop])
      let pause = Duration.milliseconds(draw.number(1...(draw.chance(0.2) ? 7000 : 500)))
      add(.endHost(end, pause: pause), at: draw.time(before: faultTime))
    }
    for _ in 0..<draw.number(0...2) {
      let event: Event =
        draw.chance(0.5)
        ? .interruptCommit(afterSyncs: draw.number(0...3)) : .interruptWrite(afterWrites: draw.number(0...12))
      add(event, at: draw.time(before: faultTime))
    }
    if draw.chance(0.1) {
      add(.fillDisk(for: .milliseconds(draw.number(10...2000))), at: draw.time(before: faultTime))
    }
  }

  /// Half of the submissions have keys. A lost or older journal knows no later key.
  private mutating func drawKeys(_ draw: inout Draw) {
    guard variant.keepsJournals else { return }
    for step in steps {
      if case .add(let content, _) = step.event, draw.chance(0.5) { keyed.insert(content) }
    }
    for _ in 0..<draw.number(0...keyed.count) {
      add(.again(pick: draw.next()), at: draw.time(before: faultTime))
    }
  }

  /// In one of three runs with identities, in which the device compares as well.
  private mutating func drawExpiries(_ draw: inout Draw) {
    guard variant.keepsJournals, hasIdentity, draw.chance(0.33) else { return }
    hasClock = true
    let end = Int(faultTime.wholeNanoseconds / 1_000_000_000)
    for content in contents.indices where draw.chance(0.5) {
      let delay = draw.chance(0.7) ? draw.number(0...end) : 1_000_000
      contents[content].details.expires = UInt32(Self.firstSecond) + UInt32(delay)
    }
  }

  private mutating func add(_ event: Event, at time: Instant) {
    steps.append(Step(time: time, event: event))
  }
}

/// The random choices of scenarios.
private struct Draw {
  private var generator: SeededGenerator

  init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
  }

  mutating func next() -> UInt64 { generator.next() }

  mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

  mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &generator) < share }

  mutating func element<Element>(of elements: [Element]) -> Element {
    elements[number(0...(elements.count - 1))]
  }

  mutating func time(before end: Duration) -> Instant {
    .zero + .nanoseconds(Int64.random(in: 0..<end.wholeNanoseconds, using: &generator))
  }

  mutating func variant() -> Scenario.Variant {
    switch number(0...99) {
    case 0..<70: .single
    case 70..<80: .twoHosts
    case 80..<87: .lostJournal
    case 87..<94: .restoredJournal
    case _: .copiedJournal
    }
  }

  /// Each kind of fault, or none, at a rate between once in a million bytes and once in a thousand.
  mutating func faults() -> FaultSpec {
    guard !chance(0.1) else { return .off }
    var spec = FaultSpec()
    let severity = Double.random(in: 0...1, using: &generator)
    for kind in FaultKind.allCases where chance(0.4) {
      let usual = Double.random(in: 1...10, using: &generator) * severity
      let rate =
        switch kind {
        case .flip, .loss, .insert, .dup, .splice, .stale: usual * 1e-4
        case .run, .short, .stall, .at: usual * 3e-5
        case .garbage: usual * 1e-5
        case .deaf, .reboot, .unplug: usual * 5e-6
        }
      spec.rules.append(FaultSpec.Rule(kind, .rate(rate)))
    }
    spec.seed = next()
    spec.stallTime = .milliseconds(number(1...500))
    spec.unplugTime = .milliseconds(number(10...1500))
    return spec
  }

  mutating func notification(timestamp: UInt32, number content: Int) -> DisplayNotification {
    var details = NotificationDetails()
    if chance(0.5) { details.level = element(of: NotificationDetails.Level.allCases) }
    if chance(0.2) { details.category = UInt8(number(0...255)) }
    if chance(0.2) { details.group = text(upToPieces: 6) }
    if chance(0.2) { details.actions = (0..<number(1...4)).map { _ in text(upToPieces: 8) } }
    if chance(0.2) { details.flags = UInt8(number(0...3)) }
    return DisplayNotification(
      app: element(of: ["Mail", "Messages", "Kalender", "日历", ""])
        + (chance(0.05) ? text(upToPieces: 80) : ""),
      title: "#\(content) " + (chance(0.1) ? text(upToPieces: 160) : text(upToPieces: 10)),
      text: chance(0.15) ? text(upToPieces: 600) : text(upToPieces: 60), timestamp: timestamp,
      details: details)
  }

  private mutating func text(upToPieces limit: Int) -> String {
    let pieces = ["a", "e", " ", "n", "ö", "…", "\"", "\\", "\n", "漢", "👨‍👩‍👧‍👦", "e\u{301}", "0", "\u{1}"]
    return (0..<number(0...limit)).map { _ in chance(0.7) ? "x" : element(of: pieces) }.joined()
  }
}
