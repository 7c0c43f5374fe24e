package import NotibotProtocol

/// The parts of the suite, in the order of the layers.
package enum Chapter: String, CaseIterable, Sendable {
  case framing = "Framing"
  case link = "Link"
  case att = "ATT"
  case notifications = "Notifications"
  case delivery = "Delivery"
  case throughput = "Throughput"
  case reconnection = "Reconnection"
}

/// A capability that a case needs of the rig, in addition to a device on a line. A case whose needs
/// a rig does not meet is skipped, counted and named.
package enum Need: String, CaseIterable, Comparable, Sendable {
  /// A path to the device other than the line: to reboot it, dismiss a notification, write a log
  /// line.
  case control
  /// A clock that a case can advance by minutes, and that shows microseconds exactly.
  case virtualTime
  /// Waits of many seconds: in virtual time, or in a run that requests them (`--slow`).
  case longWaits
  /// The device refuses invalid values (NTF-1).
  case strict
  /// The device answers success to every write (NTF-9).
  case firmwareMode
  /// A port that can be closed and opened again while the device keeps running.
  case reopen
  /// A session of the link: SYN, order and credit, SYNC.
  case session
  /// A connection as over BLE, without a session.
  case connection

  /// Its name in results and reports of skipped cases.
  package var summary: String { self == .longWaits ? "long waits (--slow)" : rawValue }

  package static func < (left: Need, right: Need) -> Bool { left.rawValue < right.rawValue }
}

/// One property that must hold, and how to check it.
package struct Case: Identifiable, Sendable {
  /// Stable: the first rule it checks, a slash, and a few words with dashes.
  package let id: String
  /// The property, as a sentence.
  package let title: String
  /// The rules of PROTOCOL.md that it checks, the first one from the id.
  package let rules: [String]
  /// The part of the suite that lists it.
  package private(set) var chapter: Chapter
  /// The time before the wrap of a 32-bit clock in milliseconds at which the case begins, in
  /// virtual time; nil: it does not matter.
  package private(set) var leadToWrap: Duration?
  /// The lead of a second run of the case, in which a 32-bit clock wraps.
  private let alsoAtWrap: Duration?
  private let declaredNeeds: Set<Need>
  /// Whether all that it checks are rules of the device's own attribute server, those marked with †
  /// in PROTOCOL.md.
  package let isOfServer: Bool
  /// Checks it. Throws a finding if the peer is wrong, `CaseEnd.skip` if it cannot be checked on
  /// this peer, any other error if the rig is wrong.
  package let run: @Sendable (Bench) async throws -> Void

  /// - Parameters:
  ///   - chapter: set by `Suite.chapter` for the cases of the suite.
  ///   - also: further rules that the case checks.
  ///   - needs: the capabilities that it needs of the rig; `.session` is implied for cases about
  ///     sessions.
  ///   - leadToWrap: the time before the wrap of a 32-bit millisecond clock at which it begins;
  ///     such a case needs virtual time.
  ///   - alsoAtWrap: the lead with which the suite runs it once more, as `ID-at-wrap`.
  ///   - isOfServer: whether it checks only rules that a Bluetooth stack's server need not obey;
  ///     for single steps there is `Probe.ofServer`.
  ///   - run: checks it, with the probe of its bench.
  package init(
    _ id: String, _ title: String, chapter: Chapter = .link, also: [String] = [], needs: Set<Need> = [],
    leadToWrap: Duration? = nil, alsoAtWrap: Duration? = nil, isOfServer: Bool = false,
    run: @escaping @Sendable (_ probe: Probe, _ bench: Bench) async throws -> Void
  ) {
    self.id = id
    self.title = title
    self.rules = [String(id.prefix { $0 != "/" })] + also
    self.chapter = chapter
    self.leadToWrap = leadToWrap
    self.alsoAtWrap = alsoAtWrap
    self.declaredNeeds = needs
    self.isOfServer = isOfServer
    self.run = { bench in
      guard isOfServer else { return try await run(bench.probe, bench) }
      try await bench.probe.ofServer { try await run(bench.probe, bench) }
    }
  }
}

extension Case {
  package var needs: Set<Need> {
    var needs = declaredNeeds
    if leadToWrap != nil { needs.insert(.virtualTime) }
    if isAboutSessions { needs.insert(.session) }
    return needs
  }

  /// The case in its chapter, and its run in which a clock wraps.
  func variants(in chapter: Chapter) -> [Case] {
    var listed = self
    listed.chapter = chapter
    guard let alsoAtWrap else { return [listed] }
    let atWrap = Case(
      id + "-at-wrap", title + ", also when a 32-bit clock wraps in the meantime", chapter: chapter,
      also: Array(rules.dropFirst()), needs: declaredNeeds, leadToWrap: alsoAtWrap
    ) { [run] _, bench in try await run(bench) }
    return [listed, atWrap]
  }
}

extension Case {
  /// The start of its bench's clock, if the rig can choose it.
  package func clockStart(otherwise start: Instant) -> Instant {
    guard let leadToWrap else { return start }
    return Instant(nanoseconds: Int64(1) << 32 * 1_000_000 - leadToWrap.wholeNanoseconds)
  }

  /// Whether it needs a session without saying so: it is named for a rule of the link or of frames,
  /// or is in a chapter that excludes connections.
  private var isAboutSessions: Bool {
    guard !declaredNeeds.contains(.connection) else { return false }
    switch chapter {
    case .framing, .link, .delivery, .throughput, .reconnection: return true
    case .att, .notifications: return id.hasPrefix("FRM-") || id.hasPrefix("LNK-")
    }
  }
}

/// The peer violated a rule.
package struct Finding: Equatable, Sendable, CustomStringConvertible {
  /// The expected and the actual value.
  package var message: String
  package var file: String
  package var line: Int
  /// Whether the rule is one of the device's own attribute server, marked with † in PROTOCOL.md.
  package var isOfServer: Bool

  package init(_ message: String, file: String, line: Int, isOfServer: Bool = false) {
    self.message = message
    self.file = file
    self.line = line
    self.isOfServer = isOfServer
  }

  /// The problem first; the place of the check, for readers who doubt the suite, last.
  package var description: String { "\(message) (checked at \(file):\(line))" }
}

/// The early end of a case, unless the rig is at fault.
package enum CaseEnd: Error, Equatable, Sendable, CustomStringConvertible {
  case finding(Finding)
  /// The case cannot be decided on this peer: a store without room, a feature that it does not
  /// announce.
  case skip(String)

  /// The end with a finding that has this message.
  package static func fault(_ message: String, file: String, line: Int) -> CaseEnd {
    .finding(Finding(message, file: file, line: line))
  }

  package var description: String {
    switch self {
    case .finding(let finding): finding.description
    case .skip(let reason): reason
    }
  }
}

/// The rig does not work: no emulator program, a port that disappeared, a control socket without a
/// listener. What a device refuses, does not keep or does not answer is a finding, whatever
/// command of a case noticed it.
package struct RigTrouble: Error, Equatable, Sendable, CustomStringConvertible {
  package var message: String
  /// What the user can do about it.
  package var remedy: String
  package var part: Part

  /// The part of the rig that is in trouble.
  package enum Part: Sendable {
    case any
    /// One that can be reached and does not answer.
    case silent
    /// The port, which is gone.
    case port
  }

  package init(_ message: String, remedy: String, part: Part = .any) {
    (self.message, self.remedy, self.part) = (message, remedy, part)
  }

  package var description: String { "\(message); \(remedy)" }
}
