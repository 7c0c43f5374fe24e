import CFirmwareHost
package import NotibotProtocol

/// The C reference firmware at the far end of a virtual line. Time in it is whole milliseconds.
package struct FirmwareDevice: VirtualPeer {
  private let memory: FirmwareMemory
  private var milliseconds: UInt64

  /// - Throws: `RigTrouble` when the firmware refuses the profile.
  package init(profile: FirmwareProfile, seed: UInt64, now: Instant) throws {
    milliseconds = now.wholeMilliseconds
    memory = try FirmwareMemory(profile: profile, seed: seed, nowMs: now.clockMs)
  }

  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    milliseconds = now.wholeMilliseconds
    nb_host_receive(memory.host, bytes, bytes.count, now.clockMs)
  }

  package mutating func handleTimeout(now: Instant) {
    milliseconds = now.wholeMilliseconds
    nb_host_poll(memory.host, now.clockMs)
  }

  package mutating func nextBytes(now: Instant) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
      count = nb_host_take(memory.host, buffer.baseAddress, buffer.count)
    }
    return bytes.isEmpty ? nil : bytes
  }

  package var nextDeadline: Instant? {
    let left = nb_host_deadline(memory.host, UInt32(truncatingIfNeeded: milliseconds))
    guard left != .max else { return nil }
    return Instant(nanoseconds: Int64(milliseconds + UInt64(left)) * 1_000_000)
  }

  /// Hands a control record over (`nb_control.h`).
  ///
  /// - Returns: 0, or a negative error of the firmware.
  mutating func perform(_ record: [UInt8], now: Instant) -> Int32 {
    milliseconds = now.wholeMilliseconds
    return nb_host_control(memory.host, record, record.count, now.clockMs)
  }
}

/// Owns the memory of one firmware. A line and its control hold the same one, on one task.
private final class FirmwareMemory {
  let host: OpaquePointer

  init(profile: FirmwareProfile, seed: UInt64, nowMs: UInt32) throws {
    var profile = profile.hostProfile
    guard let host = nb_host_create(&profile, seed, nowMs) else {
      throw RigTrouble("the firmware refuses its profile", remedy: "see the limits in notibot.h")
    }
    self.host = host
  }

  deinit { nb_host_destroy(host) }
}

extension Instant {
  fileprivate var wholeMilliseconds: UInt64 { UInt64(max(0, nanoseconds) / 1_000_000) }
  /// The firmware's clock, which wraps.
  fileprivate var clockMs: UInt32 { UInt32(truncatingIfNeeded: wholeMilliseconds) }
}
