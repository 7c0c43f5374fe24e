import ArgumentParser
import Foundation
import Histogram
import NotibotHost
import NotibotProtocol
import Reports
import SerialLink
import Synchronization

/// `notibot bench`: measures the performance of this host, port and device together.
struct BenchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench", abstract: "Measure throughput, round trips and CPU time with real notifications.",
    discussion: """
      Three phases: warm-up; --count notifications, as many in parallel as --window and the device allow; --trips \
      notifications one at a time. A notification counts when the device has answered it. The device stores every \
      notification: for long runs use the emulator profile 'bench' or 'wide'. Over ble: and att: one notification is \
      in flight.
      """)

  @OptionGroup var port: PortOptions

  @Option(help: "Notifications to send at full speed, at least 1.")
  var count = 50_000

  @Option(help: "Notifications to send one at a time; 0 skips this phase.")
  var trips = 5_000

  @Option(help: "Notifications in flight, 1-32; the device can limit it further.")
  var window = 32

  @Option(help: ArgumentHelp("Length of each text, 0-400.", valueName: "bytes"))
  var textBytes = 48

  @Option(
    help: ArgumentHelp(
      "Line rate, used to compute the share of it that was reached, at least 1.",
      discussion: "Default: --baud, if given.", valueName: "bits per second"))
  var lineRate: Int?

  @Option(
    help: ArgumentHelp(
      "Also measure the CPU time of this process, for example an emulator.", valueName: "pid"))
  var peerPid: Int32?

  @Option(
    help: ArgumentHelp(
      "Port commands to time, of each kind, 0-10000; 0 skips them.",
      discussion: "Sets the current rate, and asserts both modem lines, which does not reset a board."))
  var commands = 0

  @Option(
    name: .customLong("repeat"),
    help: ArgumentHelp(
      "Runs, 1-100; a comparison derives the noise from their differences.", valueName: "number"))
  var repetitions = 1

  @Option(
    help: ArgumentHelp("Write an HTML report to this file, even if the run fails.", valueName: "file"),
    completion: .file())
  var html: String?

  @Flag(help: "Print one JSON document.")
  var json = false

  func validate() throws {
    guard count >= 1, trips >= 0 else {
      throw ValidationError("--count must be 1 or more, --trips 0 or more")
    }
    guard (0...10_000).contains(commands) else { throw ValidationError("--commands must be 0 to 10000") }
    guard (1...32).contains(window) else { throw ValidationError("--window must be 1 to 32") }
    guard (0...400).contains(textBytes) else { throw ValidationError("--text-bytes must be 0 to 400") }
    guard (1...100).contains(repetitions) else { throw ValidationError("--repeat must be 1 to 100") }
    if let lineRate, lineRate < 1 { throw ValidationError("--line-rate must be 1 or more") }
  }

  func run() async throws {
    let results = BenchResults(
      file: try ReportFile.at(html), none: BenchReport(count: count, window: window, textBytes: textBytes))
    let unended = Failure(.unfitEnvironment, "ended before all runs were completed")
    let remove = Interruption.addLastWords { results.write(unended: unended) }
    defer { remove() }
    let (command, count) = (self, count)
    var options = DeviceOptions()
    options.requestsLimit = window
    options.reconnection = .never
    do {
      try await Interruption.cancelling { [options] in
        try await BoardAccess.with(command.port, options: options, refused: command.refusedByConnection) {
          device in
          for _ in 0..<command.repetitions { results.add(try await command.measure(device, count: count)) }
        }
      }
    } catch {
      let report = results.write(unended: AllBoards.failure(of: error))
      if results.hasAny { try print(report) }
      throw error
    }
    let report = results.write(unended: nil)
    try print(report)
    if report.refused > 0 {
      throw Failure(
        .refused, "the device refused \(report.refused) of \(count) notifications",
        remedy: "make room in its store: restart it, or emulate the profile 'bench'")
    }
  }

  private func print(_ report: BenchReport) throws {
    if json {
      try Output.json(report, pretty: true)
    } else {
      Output.data(report.text)
    }
  }

  private var refusedByConnection: [BoardAccess.ConnectionRefusal] {
    [
      ("--commands", commands > 0, "a connection has no modem lines"),
      ("--line-rate", lineRate != nil, "a connection has no rate"),
    ]
  }

  /// Notifications of the warm-up: it pages code in, grows buffers and trains the timers.
  private static let warmUpLimit = 1000

  private func measure(_ device: Device, count: Int) async throws -> BenchReport {
    let load = BenchLoad(textBytes: textBytes)
    _ = try await device.send(
      contentsOf: load.notifications(min(Self.warmUpLimit, count)), window: 2 * window)
    let cpu = try CPUMeter(peer: peerPid)
    let memoryStart = ProcessUsage.residentBytes()
    let before = await device.statistics
    let start = ContinuousClock.now
    let (summary, samples) = try await BenchSampler.sampling(device) {
      try await device.send(contentsOf: load.notifications(count), window: 2 * window)
    }
    let seconds = (ContinuousClock.now - start).inSeconds
    let cpuSeconds = try cpu.seconds()
    let memoryEnd = ProcessUsage.residentBytes()
    let after = await device.statistics
    let rate = Double(count) / seconds
    var report = BenchReport(
      count: count, window: window, textBytes: textBytes, seconds: seconds, accepted: summary.accepted,
      refused: summary.refused, notificationsPerSecond: rate,
      bytesPerSecond: Double(after.bytesSent - before.bytesSent) / seconds,
      cpuMicrosecondsPerNotification: cpuSeconds.total * 1e6 / Double(count),
      hostCPUMicrosecondsPerNotification: cpuSeconds.own * 1e6 / Double(count),
      peerCPUMicrosecondsPerNotification: cpuSeconds.peer.map { $0 * 1e6 / Double(count) },
      resends: after.link.resent - before.link.resent, residentBytesStart: memoryStart,
      residentBytesEnd: memoryEnd)
    let baud = port.line.rate.baud.flatMap { Int($0) }
    if let bitsPerSecond = lineRate ?? baud {
      report.lineBitsPerSecond = bitsPerSecond
      report.lineShare = rate * load.wireBytes(sampleOf: count) / (Double(bitsPerSecond) / 10)
    }
    if let stopwatch = try await measureTrips(device, load) {
      report.roundTripMicroseconds = stopwatch.result()
      report.histogram = stopwatch.histogram()
    }
    report.samples = samples
    report.path = BenchReport.Path(try port.resolvedPort().value)
    if commands > 0 {
      let rate = try port.resolvedBitsPerSecond().value
      report.commandMicroseconds = BenchReport.Commands(
        rate: await measureCommand(.rate(rate), device),
        lines: await measureCommand(.lines(ModemLines(dtr: true, rts: true)), device))
    }
    report.latencyTimerMs = await device.latencyTimerMs
    return report
  }

  /// `nil` if the port does not support the command.
  private func measureCommand(_ command: LineCommand, _ device: Device) async -> BenchReport.RoundTrips? {
    let stopwatch = TripStopwatch()
    for _ in 0..<commands {
      stopwatch.start()
      do {
        try await device.perform(command)
      } catch {
        Output.note("cannot be timed: \(error)")
        return nil
      }
      stopwatch.stop()
    }
    return stopwatch.result()
  }

  private func measureTrips(_ device: Device, _ load: BenchLoad) async throws -> TripStopwatch? {
    guard trips > 0 else { return nil }
    let stopwatch = TripStopwatch()
    let notifications = load.notifications(trips) { stopwatch.start() }
    _ = try await device.send(contentsOf: notifications, window: 1) { _, _ in stopwatch.stop() }
    return stopwatch
  }
}

/// The completed runs of a bench, and the file that it writes on each of its ends.
final class BenchResults: Sendable {
  private let file: ReportFile?
  private let none: BenchReport
  private let completed = Mutex<[BenchReport]>([])

  /// - Parameter none: the report if no run is completed.
  init(file: ReportFile?, none: BenchReport) {
    (self.file, self.none) = (file, none)
  }

  var hasAny: Bool { !completed.withLock(\.isEmpty) }

  func add(_ report: BenchReport) { completed.withLock { $0.append(report) } }

  /// Writes the file, unless it is already written; returns what is in it.
  ///
  /// - Parameter trouble: why not all runs were completed; `nil` if they were.
  @discardableResult
  func write(unended trouble: Failure?) -> BenchReport {
    var report = BenchReport.of(completed.withLock(\.self)) ?? none
    report.trouble = trouble?.message
    file?.write(HTMLReport.document(of: report))
    return report
  }
}

/// The notifications that are sent, made from their fields one by one.
struct BenchLoad: Sendable {
  let text: String

  init(textBytes: Int) {
    text = String(repeating: "x", count: textBytes)
  }

  func notification(_ index: Int) -> DisplayNotification {
    DisplayNotification(
      app: "Messages", title: "Jane Doe \(index)", text: text,
      timestamp: UInt32(1_234_567_890 + index % 1_000_000))
  }

  /// The first `count` of them; `onTake` is called as each is taken.
  func notifications(_ count: Int, onTake: @escaping @Sendable () -> Void = {}) -> Notifications {
    Notifications(load: self, count: count, onTake: onTake)
  }

  struct Notifications: Sequence, IteratorProtocol, Sendable {
    let load: BenchLoad
    let count: Int
    let onTake: @Sendable () -> Void
    private var taken = 0

    init(load: BenchLoad, count: Int, onTake: @escaping @Sendable () -> Void) {
      self.load = load
      self.count = count
      self.onTake = onTake
    }

    mutating func next() -> DisplayNotification? {
      guard taken < count else { return nil }
      taken += 1
      onTake()
      return load.notification(taken - 1)
    }
  }

  /// Bytes on the wire of an average notification's frame, zeros included.
  func wireBytes(sampleOf count: Int) -> Double {
    let indices = stride(from: 0, to: count, by: max(1, count / 1000))
    var total = 0
    var frames = 0
    for index in indices {
      let pdu = ATTPDU.writeRequest(handle: NotibotProfile.Handle.data, value: notification(index).encoded())
      let header = FrameHeader(type: .data, direction: .fromHost, channel: .att, session: 1, credit: 64)
      total += Frame(header, payload: pdu.encoded()).encoded().count
      frames += 1
    }
    return Double(total) / Double(max(1, frames))
  }
}
