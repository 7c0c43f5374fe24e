import NotibotHost
import Reports

/// What happened during a soak, with times since its start.
struct SoakTimeline {
  /// Entries kept; later ones are dropped, and the last entry says so.
  static let eventsLimit = 400
  /// The shortest time between two samples.
  private static let shortestInterval = Duration.milliseconds(250)

  private(set) var samples: [RunSample] = []
  private(set) var events: [RunEvent] = []
  /// Of the forwarders before the current one.
  var earlierResends = 0
  private let start = ContinuousClock.now
  private var nextSample: ContinuousClock.Instant?
  private var console = ConsoleLines()

  mutating func add(_ text: String, at now: ContinuousClock.Instant) {
    guard events.count < Self.eventsLimit else { return }
    let isLast = events.count == Self.eventsLimit - 1
    events.append(
      RunEvent(seconds: (now - start).inSeconds, text: isLast ? "further entries are not kept" : text))
  }

  mutating func addConsole(_ bytes: [UInt8], at now: ContinuousClock.Instant) {
    for line in console.lines(in: bytes) where !line.isEmpty { add("console: \(line)", at: now) }
  }

  mutating func isSampleDue(at now: ContinuousClock.Instant, every interval: Duration) -> Bool {
    if let nextSample, now < nextSample { return false }
    nextSample = now + max(interval, Self.shortestInterval)
    return true
  }

  mutating func addSample(
    at now: ContinuousClock.Instant, delivered: Int, resends: Int, residentBytes: Int
  ) {
    samples.append(
      RunSample(
        seconds: (now - start).inSeconds, delivered: delivered, resends: earlierResends + resends,
        residentBytes: residentBytes))
  }

  /// A change of the connection, in words.
  static func words(_ change: ConnectionChange) -> String {
    let state =
      switch change.state {
      case .connecting(let port): "connecting to \(port)"
      case .up(let port, let info): "session on \(port), boot id \(String(info.bootID, radix: 16))"
      case .suspect: "no frame for 3 s"
      case .down: "no session"
      case .ended: "ended"
      }
    return "\(state) (\(change.reason))"
  }
}
