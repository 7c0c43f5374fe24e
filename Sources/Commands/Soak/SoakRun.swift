import DeviceEmulator
import Foundation
import NotibotHost
import NotibotProtocol
import SerialLink
import Synchronization

/// One soak: sending, settling, comparing, removing.
struct SoakRun: Sendable {
  /// Time limit at the end without a delivery or a removal.
  private static let settleLimit = Duration.seconds(60)
  /// Time limit for the comparison.
  private static let checkLimit = Duration.seconds(30)
  /// Time without a session after which the device counts as not answering, and the interval of
  /// that check.
  private static let silenceLimit = Duration.seconds(10)
  private static let silenceInterval = Duration.milliseconds(500)
  /// Maximum size of a submission.
  private static let batchLimit = 256
  /// First token of removals.
  private static let removalTokens: UInt64 = 1 << 62

  let target: SoakTarget
  /// The required identity of the device; `nil`: any.
  let deviceID: String?
  let outbox: String
  let bitsPerSecond: UInt32
  let duration: Duration
  let rate: Double
  let keep: Int
  let seed: UInt64
  /// Time limit for the device's first answer; `nil`: the duration of the run.
  let answerTimeout: Duration?
  /// Recovers a device that does not answer; `nil`: no recovery.
  let recovery: Recovery?
  /// Prefix of the titles, to distinguish them from those of another soak.
  private let prefix = "soak \(UInt32.random(in: .min ... .max)) "
  private let patience = SoakPatience()
  private let clock = ContinuousClock()

  init(
    target: SoakTarget, deviceID: String?, outbox: String, bitsPerSecond: UInt32, duration: Duration,
    rate: Double, keep: Int, seed: UInt64, answerTimeout: Duration?, recovery: Recovery?
  ) {
    self.target = target
    self.deviceID = deviceID
    self.outbox = outbox
    self.bitsPerSecond = bitsPerSecond
    self.duration = duration
    self.rate = rate
    self.keep = keep
    self.seed = seed
    self.answerTimeout = answerTimeout
    self.recovery = recovery
  }

  /// Runs until the time is over or this task is cancelled; then reports.
  /// Throws `NotibotError` for permanent errors, such as a path that is not a serial port.
  func report(of port: String) async throws -> SoakReport {
    let record = SoakRecord()
    var report = SoakReport(port: port)
    let start = clock.now
    var isStuck = false
    var place = target.port
    let measuring = Task { await patience.measure() }
    defer { measuring.cancel() }
    repeat {
      try await forward(place, record) { forwarder in
        let memory = try await load(forwarder, record, &report, until: start + duration)
        isStuck = memory == nil
        if report.residentBytesStart == 0 {
          report.residentBytesStart = memory ?? ProcessUsage.residentBytes()
        }
        let isSettling = !isStuck && !Task.isCancelled && record.counts.sessions > 0
        if isSettling {
          patience.restart()
          await settle(forwarder, record)
        }
        let now = clock.now
        report.seconds = (now - start).inSeconds
        report.upShare = record.upTime(at: now).inSeconds / report.seconds
        let statistics = await forwarder.statistics
        if isSettling { report.undelivered = statistics.unfinished }
        report.resends += statistics.host.link.resent
        report.crcErrors += Int(clamping: statistics.host.decoder.crcErrors)
        record.addResends(statistics.host.link.resent)
      }
      // The port is closed now, and unsent notifications are in the outbox.
      if isStuck { isStuck = await recovery?.climb() == true }
      if isStuck, deviceID == nil, let recovery { place = await recovery.port }
    } while isStuck
    report.undelivered = max(report.undelivered, record.undelivered)
    if !Task.isCancelled, record.counts.sessions > 0 { try await check(place, record, &report) }
    report.residentBytesEnd = ProcessUsage.residentBytes()
    fill(&report, from: record)
    report.lateness = report.lateness ?? patience.reasonAgainstVerdict
    return report
  }

  private func fill(_ report: inout SoakReport, from record: SoakRecord) {
    let counts = record.counts
    report.queued = counts.queued
    report.delivered = counts.delivered
    report.refused = counts.refused
    report.gone = counts.gone
    report.doubled += counts.doubled
    report.differences += counts.differences
    report.sessions = counts.sessions
    report.restarts = counts.restarts
    report.latencyMs = record.latencies()
    report.histogram = record.histogram()
    report.samples = record.samples
    report.events = record.events
  }

  /// Runs `body` with a forwarder on the outbox, whose reports go into the record.
  private func forward(
    _ port: PortName, _ record: SoakRecord, _ body: (Forwarder) async throws -> Void
  ) async throws {
    var options = ForwardingOptions()
    options.bitsPerSecond = bitsPerSecond
    options.expectedDeviceID = deviceID
    options.consoleText = { record.addConsole($0) }
    try await withForwarder(port: port, outbox: outbox, options: options) { forwarder in
      // Not child tasks: reports that arrive after a cancellation count too.
      let hearing = Task { for await report in forwarder.reports { record.add(report) } }
      let watching = Task { for await change in forwarder.changes { record.add(change) } }
      var failure: (any Error)?
      do {
        try await body(forwarder)
      } catch {
        failure = error
      }
      await forwarder.stop()
      await hearing.value
      await watching.value
      if let failure { throw failure }
    }
  }

  // MARK: Sending

  /// Sends until `end`; returns the resident memory after a tenth of the time, or `nil` when the
  /// device does not answer and should be recovered.
  private func load(
    _ forwarder: Forwarder, _ record: SoakRecord, _ report: inout SoakReport,
    until end: ContinuousClock.Instant
  ) async throws -> Int? {
    let disturbance = SoakDisturbance(target: target, end: end, length: duration, seed: seed)
    let disturbing = Task { await disturbance.run() }
    // A permanent error ends the wait for the next moment to send.
    let sending = Task { try await send(forwarder, record, until: end) }
    let guarding = Task {
      _ = try? await forwarder.ended()
      sending.cancel()
    }
    let listening = Task {
      let isStuck = await watchSilence(record)
      if isStuck { sending.cancel() }
      return isStuck
    }
    let greeting = Task {
      let isAbsent = await firstAnswerTimedOut(record)
      if isAbsent { sending.cancel() }
      return isAbsent
    }
    let outcome = await withTaskCancellationHandler {
      await sending.result
    } onCancel: {
      sending.cancel()
    }
    greeting.cancel()
    let isAbsent = await greeting.value
    listening.cancel()
    let isStuck = await listening.value
    disturbing.cancel()
    let done = await disturbing.value
    report.reboots += done.reboots
    report.unplugs += done.unplugs
    await target.calm()
    guarding.cancel()
    await guarding.value
    switch outcome {
    case .success(let memory): return memory
    case .failure(let error) where error is CancellationError && isStuck && !Task.isCancelled: return nil
    case .failure(let error) where error is CancellationError && isAbsent && !Task.isCancelled:
      throw Self.noAnswer(at: target.port.description, lateness: patience.reasonAgainstVerdict)
    case .failure(let error) where error is CancellationError:
      // Either this task was cancelled, or the forwarder has ended with a reason.
      if !Task.isCancelled { try await forwarder.ended() }
      return ProcessUsage.residentBytes()
    case .failure(let error): throw error
    }
  }

  /// Returns `true` after too long a time without a session, `false` when this task is cancelled or
  /// there is no recovery.
  private func watchSilence(_ record: SoakRecord) async -> Bool {
    guard recovery != nil else { return false }
    record.beginListening(at: clock.now)
    while (try? await clock.sleep(for: Self.silenceInterval)) != nil {
      if record.silence(at: clock.now) > Self.silenceLimit { return true }
    }
    return false
  }

  /// Returns `true` when the device did not answer within its time limit, `false` when it did or
  /// this task is cancelled.
  private func firstAnswerTimedOut(_ record: SoakRecord) async -> Bool {
    guard let answerTimeout, (try? await clock.sleep(for: answerTimeout)) != nil else { return false }
    return record.counts.sessions == 0
  }

  /// The failure of a run in which no session was ever open.
  /// - Parameter lateness: what prevents a verdict about the device.
  static func noAnswer(at port: String, lateness: String?) -> Failure {
    if let lateness { return tooLate("no answer from \(port.printable)", lateness) }
    return Failure(
      .noAnswer, "no answer from \(port.printable)",
      remedy: "check it with: notibot count -p \(port.printable); or wait for it with --wait")
  }

  /// The failure of a run that the computer was too slow for.
  static func tooLate(_ finding: String, _ lateness: String) -> Failure {
    Failure(
      .unfitEnvironment, "\(finding); but \(lateness), so this proves nothing about the device",
      remedy: "run fewer programs at once, or use a faster computer")
  }

  private func send(_ forwarder: Forwarder, _ record: SoakRecord, until end: ContinuousClock.Instant)
    async throws
    -> Int
  {
    var progress = Progress("soak", total: max(1, Int(duration.inSeconds * 10)))
    let start = clock.now
    var (sent, memory) = (0, 0)
    while clock.now < end {
      let elapsed = (clock.now - start).inSeconds
      progress.update(Int(min(elapsed, duration.inSeconds) * 10))
      if memory == 0, elapsed > duration.inSeconds / 10 { memory = ProcessUsage.residentBytes() }
      if record.isSampleDue(at: clock.now, every: duration / SoakRecord.samplesLimit) {
        record.addSample(at: clock.now, resends: await forwarder.statistics.host.link.resent)
      }
      let due = min(Self.batchLimit, Int(elapsed * rate) + 1 - sent)
      guard due > 0 else {
        try await clock.sleep(until: min(end, start + .seconds(Double(sent) / rate)))
        continue
      }
      // Without a device the outbox is full before the time is over.
      let batch = record.acquireIndices(due).map {
        SubmissionRequest(.add(notification($0)), token: UInt64($0), whenFull: .reject)
      }
      let accepted = await forwarder.submit(batch).values.count {
        if case .success = $0 { true } else { false }
      }
      record.addAccepted(accepted)
      sent += accepted
      if accepted < due { try await clock.sleep(for: .milliseconds(100)) }
      await withdraw(record.drainExcess(over: keep), forwarder)
      try Task.checkCancellation()
      if record.lacksIdentity {
        throw Failure(
          .refused, "the device does not support identities: notifications could not be removed from it",
          remedy: "use firmware that announces feature bits 1 and 2")
      }
    }
    progress.update(max(1, Int(duration.inSeconds * 10)))
    return memory
  }

  private func notification(_ index: Int) -> DisplayNotification {
    DisplayNotification(
      app: "Soak", title: "\(prefix)\(index)", text: String(repeating: "x", count: index * 31 % 240),
      timestamp: UInt32(clamping: Int(Date().timeIntervalSince1970)))
  }

  // MARK: Settling and comparing

  /// Waits until all notifications are delivered, and makes room for them; undelivered ones are in
  /// the record.
  private func settle(_ forwarder: Forwarder, _ record: SoakRecord) async {
    let settling = Task {
      for await _ in record.steps() {
        // Also after the last delivery: a restart can have put delivered ones back into the outbox.
        let isSettled = record.isSettled
        await withdraw(record.drainExcess(over: keep), forwarder)
        if isSettled { break }
      }
      try? await forwarder.finish()
    }
    let limiting = Task {
      try await patience.wait(Self.settleLimit) { record.counts.results }
      settling.cancel()
    }
    await withTaskCancellationHandler {
      await settling.value
    } onCancel: {
      settling.cancel()
    }
    limiting.cancel()
  }

  private func withdraw(_ numbers: [Int64], _ forwarder: Forwarder) async {
    _ = await forwarder.submit(
      numbers.map {
        SubmissionRequest(.remove(OutboxNumber(rawValue: $0)), token: Self.removalTokens + UInt64($0))
      })
  }

  /// Opens another session, in which both sides compare, reads the display if possible, and removes
  /// the rest.
  private func check(_ port: PortName, _ record: SoakRecord, _ report: inout SoakReport) async throws {
    let compared = record.beginCheck(mustAgree: report.undelivered == 0)
    let held = record.held
    let sessions = record.counts.sessions
    try await forward(port, record) { forwarder in
      if await first(of: compared, within: Self.checkLimit) {
        report.check = .digest
        if let shown = await target.shown() {
          compare(shown, with: held, &report)
          report.check = .list
        }
      } else if record.counts.sessions > sessions {
        // A comparison that does not end in agreement.
        report.lateness = patience.reasonAgainstVerdict
        if report.lateness == nil {
          report.differences += 1
        } else {
          report.trouble = "host and device did not finish comparing the display"
        }
      } else {
        report.trouble = "the device did not answer at the end, so its display could not be compared"
        return
      }
      await withdraw(record.drainExcess(over: 0), forwarder)
      await settle(forwarder, record)
      // This session can have delivered what an earlier one could not in time.
      report.undelivered = min(report.undelivered, await forwarder.statistics.unfinished)
    }
  }

  /// Waits for the next element of a stream. Returns false if there is none within the limit.
  private func first(of stream: AsyncStream<Void>, within limit: Duration) async -> Bool {
    await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        for await _ in stream { return true }
        return false
      }
      group.addTask { [patience] in
        try? await patience.wait(limit)
        return false
      }
      defer { group.cancelAll() }
      return await group.next() ?? false
    }
  }

  /// Each held notification must be on the display once, unless the outbox still has it, and no
  /// other one of this soak.
  private func compare(_ shown: [String], with held: [Int64], _ report: inout SoakReport) {
    let titles = shown.compactMap { json -> String? in
      let title = (try? DisplayNotification(parsingDetailed: Array(json.utf8)))?.title
      return title?.hasPrefix(prefix) == true ? title : nil
    }
    let distinct = Set(titles).count
    report.doubled += titles.count - distinct
    report.lost += max(0, held.count - distinct - report.undelivered)
    report.doubled += max(0, distinct - held.count - report.undelivered)
  }
}
