import DeviceEmulator
import NotibotProtocol

/// Restarts and unplugs an emulator at random.
struct SoakDisturbance: Sendable {
  let target: SoakTarget
  let end: ContinuousClock.Instant
  let length: Duration
  let seed: UInt64

  /// Runs until the end, or until this task is cancelled; returns the counts.
  func run() async -> (reboots: Int, unplugs: Int) {
    guard target.isEmulated else { return (0, 0) }
    let clock = ContinuousClock()
    var random = SeededGenerator(seed: seed)
    var (reboots, unplugs) = (0, 0)
    // Often enough for a short soak, rarely enough for a long one to have undisturbed times.
    let pause = min(10, max(0.2, length.inSeconds / 8))
    do {
      while true {
        try await clock.sleep(for: .seconds(Double.random(in: 0.5...1.5, using: &random) * pause))
        guard clock.now < end else { break }
        if Bool.random(using: &random) {
          let reason: ResetReason = Bool.random(using: &random) ? .panic : .brownout
          if await target.perform(.reboot(reason))?.ok == true { reboots += 1 }
        } else if await target.perform(.unplug)?.ok == true {
          unplugs += 1
          try await clock.sleep(for: .seconds(Double.random(in: 0.02...0.5, using: &random)))
          _ = await target.perform(.plug)
        }
      }
    } catch {
      // Cancelled: the caller turns the faults off.
    }
    return (reboots, unplugs)
  }
}
