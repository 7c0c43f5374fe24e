/// The time in which a certificate is valid, by the calendar.
package struct CertificateTerm: Hashable, Sendable {
  package var begin: WallTime
  package var end: WallTime

  package init(begin: WallTime, end: WallTime) {
    self.begin = begin
    self.end = end
  }

  /// A third of its life.
  var thirdMs: Int64 { max(0, end.milliseconds - begin.milliseconds) / 3 }
  /// When it is renewed: a third of its life before its end.
  package var renewal: WallTime { end.adding(milliseconds: -thirdMs) }

  func contains(_ now: WallTime) -> Bool { begin <= now && now < end }
}

/// What the user has to know about the certificates of a gateway.
package enum CertificateProblem: Hashable, Sendable {
  /// Changed files cannot be used; the former ones stay in use.
  case unusable(reason: String)
  /// The clock is wrong, or was when it was made.
  case early(CertificateFile, CertificateTerm)
  case ending(CertificateFile, CertificateTerm, reason: String)

  /// - Parameter folder: of the gateway.
  package func text(in folder: String, now: WallTime) -> String {
    switch self {
    case .unusable(let reason): return "\(reason); the former certificate stays in use"
    case .early(let file, let term):
      return
        "\(folder)/\(file.rawValue) is not valid for another \(Self.words(term.begin, now)): check the clock"
    case .ending(let file, let term, let reason):
      let end =
        now < term.end ? "ends in \(Self.words(term.end, now))" : "ended \(Self.words(term.end, now)) ago"
      return "\(folder)/\(file.rawValue) \(end): \(reason)"
    }
  }

  /// The time between two moments in its largest unit.
  private static func words(_ one: WallTime, _ other: WallTime) -> String {
    let seconds = abs(one.milliseconds - other.milliseconds) / 1000
    let units: [(name: String, seconds: Int64)] = [("day", 86_400), ("hour", 3600), ("minute", 60)]
    let unit = units.first { seconds >= $0.seconds } ?? ("second", 1)
    let count = seconds / unit.seconds
    return "\(count) \(unit.name)\(count == 1 ? "" : "s")"
  }
}

/// The files that hold certificates, in a gateway's folder.
package enum CertificateFile: String, Hashable, Sendable {
  case server = "leaf.pem"
  case authority = "ca.pem"
}
