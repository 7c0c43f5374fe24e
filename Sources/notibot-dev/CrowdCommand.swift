import ArgumentParser
import Commands
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink

/// `notibot-dev crowd`: the load of scripts/dev fleet, on many boards at once.
struct CrowdCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crowd", abstract: "Send to many boards at once, and measure.",
    discussion: """
      Each board has a session. First all of them get their share of --count as fast as possible, then each gets --rate \
      per second, one at a time, for --seconds.
      """)

  @Argument(help: "Ports, which are open until the end.")
  var ports: [String]

  @Option(help: ArgumentHelp("Notifications in all, at full speed.", valueName: "number"))
  var count = 200_000

  @Option(help: ArgumentHelp("Notifications per second and board.", valueName: "number"))
  var rate = 10.0

  @Option(help: ArgumentHelp("Time to send at that rate.", valueName: "seconds"))
  var seconds = 5.0

  /// Of all boards together; printed as one line of JSON.
  private struct Report: Encodable {
    var boards: Int
    var connectSeconds: Double
    var perSecond: Double
    var roundTripP50Microseconds: Double
    var roundTripP99Microseconds: Double
    var roundTrips: Int
  }

  func validate() throws {
    guard count >= ports.count, rate > 0, seconds > 0 else {
      throw ValidationError("--count must be at least 1 per board, --rate and --seconds above 0")
    }
  }

  func run() async throws {
    let command = self
    if let (reason, remedy) = ProcessLimits.problem(opening: 8 * ports.count) {
      throw Failure(.unfitEnvironment, reason, remedy: remedy)
    }
    let report = try await Interruption.cancelling { try await command.measure() }
    try Output.json(report)
  }

  private func measure() async throws -> Report {
    let start = ContinuousClock.now
    let (connected, loaded) = (Meeting(of: ports.count), Meeting(of: ports.count))
    var trips: [Double] = []
    try await withThrowingTaskGroup(of: [Double].self) { group in
      for (index, port) in ports.enumerated() {
        group.addTask {
          do {
            return try await withDevice(at: try PortName(parsing: port)) { device in
              await connected.arrive()
              let share = count / ports.count
              _ = try await device.send(contentsOf: (0..<share).lazy.map(Self.notification), window: 64)
              await loaded.arrive()
              return try await sendPaced(to: device, index)
            }
          } catch {
            await connected.cancel()
            await loaded.cancel()
            throw error
          }
        }
      }
      for try await own in group { trips += own }
    }
    let sorted = trips.sorted()
    guard let began = await connected.met, let ended = await loaded.met, !sorted.isEmpty else {
      throw CancellationError()
    }
    return Report(
      boards: ports.count, connectSeconds: Self.seconds(began - start),
      perSecond: Double(count / ports.count * ports.count) / Self.seconds(ended - began),
      roundTripP50Microseconds: sorted[sorted.count / 2] * 1e6,
      roundTripP99Microseconds: sorted[sorted.count * 99 / 100] * 1e6, roundTrips: sorted.count)
  }

  /// The seconds of each round trip. The boards begin one after the other within a period.
  private func sendPaced(to device: Device, _ index: Int) async throws -> [Double] {
    let period = Duration.seconds(1 / rate)
    let start = ContinuousClock.now + period * (Double(index) / Double(ports.count))
    var trips: [Double] = []
    for number in 0..<Int(seconds * rate) {
      try await ContinuousClock().sleep(until: start + period * number)
      let before = ContinuousClock.now
      try await device.send(Self.notification(number))
      trips.append(Self.seconds(ContinuousClock.now - before))
    }
    return trips
  }

  @Sendable private static func notification(_ number: Int) -> DisplayNotification {
    DisplayNotification(
      app: "Messages", title: "Jane Doe \(number)", text: String(repeating: "x", count: 48),
      timestamp: UInt32(1_234_567_890 + number % 1_000_000))
  }

  private static func seconds(_ duration: Duration) -> Double { duration / .seconds(1) }
}

/// Where all boards wait for each other.
private actor Meeting {
  private var missing: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []
  /// When the last one arrived; nil if not all have.
  private(set) var met: ContinuousClock.Instant?

  init(of count: Int) { missing = count }

  /// Returns when all have arrived, or one has failed.
  func arrive() async {
    missing -= 1
    if missing == 0 { met = .now }
    guard missing > 0 else { return leave() }
    await withCheckedContinuation { waiting.append($0) }
  }

  /// One does not arrive.
  func cancel() {
    missing = 0
    leave()
  }

  private func leave() {
    for each in waiting { each.resume() }
    waiting = []
  }
}
