import NotibotHost
import Reports

/// Samples the counters of a device while it is measured.
enum BenchSampler {
  /// Beyond this number every other sample is dropped, and the interval doubled.
  private static let samplesLimit = 240
  private static let firstInterval = Duration.milliseconds(25)

  /// Runs `body`, and returns its result with the samples taken meanwhile.
  static func sampling<Result: Sendable>(
    _ device: Device, _ body: () async throws -> Result
  ) async throws -> (Result, [RunSample]) {
    let task = Task { await samples(of: device) }
    do {
      let result = try await body()
      task.cancel()
      return (result, await task.value)
    } catch {
      task.cancel()
      _ = await task.value
      throw error
    }
  }

  /// Until this task is cancelled.
  private static func samples(of device: Device) async -> [RunSample] {
    let clock = ContinuousClock()
    let start = clock.now
    let before = await device.statistics
    var (samples, interval): ([RunSample], Duration) = ([], firstInterval)
    while true {
      let isOver = (try? await clock.sleep(for: interval)) == nil
      let now = await device.statistics
      samples.append(
        RunSample(
          seconds: (clock.now - start).inSeconds, delivered: now.att.responses - before.att.responses,
          resends: now.link.resent - before.link.resent, residentBytes: ProcessUsage.residentBytes()))
      if isOver { return samples }
      if samples.count >= samplesLimit {
        samples = samples.enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        interval *= 2
      }
    }
  }
}
