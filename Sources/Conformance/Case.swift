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

/// What a case asks of the rig besides a device on a line. A case whose needs a rig does not offer is skipped,
/// counted and named.
package enum Need: String, CaseIterable, Comparable, Sendable {
  /// A way to the device that is not the line: reboot it, dismiss a notification, write a log line.
  case control
  /// A clock that a case may turn by minutes, and that shows microseconds exactly.
  case virtualTime
  /// The device refuses what it does not take (NTF-1).
  case strict
  /// The device answers success whatever is written (NTF-9).
  case firmwareMode
  /// A port that can be closed and opened again while the device runs on.
  case reopen
  /// The host side is what is tested; the case plays the device.
  case host
  /// A session of the link: SYN, order and credit, SYNC.
  case session
  /// A connection as over BLE, which is no session.
  case connection

  package static func < (left: Need, right: Need) -> Bool { left.rawValue < right.rawValue }
}

/// One thing that must hold, and how to find out.
package struct Case: Identifiable, Sendable {
  /// Stable: the first rule it checks, a slash, and a few words with dashes.
  package let id: String
  /// What holds, as a sentence.
  package let title: String
  /// The rules of PROTOCOL.md that it checks, the first one from the id.
  package let rules: [String]
  package let chapter: Chapter
  package let needs: Set<Need>
  /// Checks it. Throws `Finding` when the peer is wrong, `CaseSkipped` when it cannot be checked on this
  /// peer, anything else when the rig is wrong.
  package let run: @Sendable (Bench) async throws -> Void

  /// - Parameters:
  ///   - also: further rules that the case checks.
  ///   - needs: what it asks of the rig; `.session` goes without saying where the case is about sessions.
  package init(
    _ id: String, _ title: String, _ chapter: Chapter, also: [String] = [], needs: Set<Need> = [],
    run: @escaping @Sendable (Bench) async throws -> Void
  ) {
    self.id = id
    self.title = title
    self.rules = [String(id.prefix { $0 != "/" })] + also
    self.chapter = chapter
    self.needs = Self.isAboutSessions(id, chapter, needs) ? needs.union([.session]) : needs
    self.run = run
  }
}

extension Case {
  /// Whether a case needs a session, said or unsaid: it is named for a rule of the link or of frames, or stands in a
  /// chapter that does without connections.
  private static func isAboutSessions(_ id: String, _ chapter: Chapter, _ needs: Set<Need>) -> Bool {
    guard !needs.contains(.connection), !needs.contains(.host) else { return false }
    switch chapter {
    case .framing, .link, .delivery, .throughput, .reconnection: return true
    case .att, .notifications: return id.hasPrefix("FRM-") || id.hasPrefix("LNK-")
    }
  }
}

/// The peer did something that a rule forbids, or did not do what a rule demands.
package struct Finding: Error, Equatable, Sendable, CustomStringConvertible {
  /// What was expected and what was seen.
  package var message: String
  package var file: String
  package var line: Int

  package init(_ message: String, file: String, line: Int) {
    self.message = message
    self.file = file
    self.line = line
  }

  /// What is wrong first; where the suite checks it, for those who doubt the suite, last.
  package var description: String { "\(message) (checked at \(file):\(line))" }
}

/// The case cannot be decided on this peer: a store without room, a feature that it does not announce.
package struct CaseSkipped: Error, Equatable, Sendable {
  package var reason: String

  package init(_ reason: String) {
    self.reason = reason
  }
}

/// The rig is not fit: no emulator program, a port that went away, a control socket that answers nonsense.
package struct RigTrouble: Error, Equatable, Sendable, CustomStringConvertible {
  package var message: String
  /// What a person can do about it.
  package var remedy: String

  package init(_ message: String, remedy: String) {
    self.message = message
    self.remedy = remedy
  }

  package var description: String { "\(message); \(remedy)" }
}
