import CFirmwareHost
import Conformance
package import NotibotProtocol

/// The C reference firmware at the far end of a virtual line. Its time is in whole milliseconds.
package struct FirmwareDevice: VirtualPeer {
  /// A port polls at least once in 24 days (`nb_device_poll`); this one does after 20.
  private static let pollLimitMs: UInt32 = 20 * 24 * 3_600_000

  private let memory: FirmwareMemory
  private var milliseconds: UInt64

  /// - Parameter library: the build of the firmware.
  /// - Throws: a finding if the firmware refuses the profile.
  package init(
    profile: FirmwareProfile, library: FirmwareLibrary = .linked, seed: UInt64, now: Instant
  ) throws {
    milliseconds = now.wholeMilliseconds
    memory = try FirmwareMemory(profile: profile, table: library.table, seed: seed, nowMs: now.clockMs)
  }

  package mutating func receive(_ bytes: [UInt8], now: Instant) {
    milliseconds = now.wholeMilliseconds
    memory.table.receive(memory.host, bytes, bytes.count, now.clockMs)
  }

  package mutating func handleTimeout(now: Instant) {
    milliseconds = now.wholeMilliseconds
    memory.table.poll(memory.host, now.clockMs)
  }

  package mutating func nextBytes(now: Instant) -> [UInt8]? {
    let bytes = [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
      count = memory.table.take(memory.host, buffer.baseAddress, buffer.count)
    }
    return bytes.isEmpty ? nil : bytes
  }

  package var nextDeadline: Instant? {
    let left = memory.table.deadline(memory.host, UInt32(truncatingIfNeeded: milliseconds))
    let wait = min(left, Self.pollLimitMs)
    return Instant(nanoseconds: Int64(milliseconds + UInt64(wait)) * 1_000_000)
  }

  /// The JSON of the stored notifications, in no particular order.
  package var stored: [[UInt8]] {
    (0..<Int(memory.capacity)).map { index in
      [UInt8](unsafeUninitializedCapacity: 512) { buffer, count in
        count = memory.table.stored(memory.host, index, buffer.baseAddress, buffer.count)
      }
    }.filter { !$0.isEmpty }
  }

  /// The counters of the receiver since the latest boot.
  var receiverCounters: DecoderCounters {
    var counters = nb_host_counters_t()
    memory.table.counters(memory.host, &counters)
    return DecoderCounters(
      frames: UInt64(counters.frames), crcErrors: UInt64(counters.crc_errors),
      malformed: UInt64(counters.malformed), textBytes: UInt64(counters.text_bytes),
      echoes: UInt64(counters.echoes), overruns: UInt64(counters.overruns))
  }

  /// Passes a control record to the firmware (`nb_control.h`).
  ///
  /// - Returns: 0, or a negative error of the firmware.
  mutating func perform(_ record: [UInt8], now: Instant) -> Int32 {
    milliseconds = now.wholeMilliseconds
    return memory.table.control(memory.host, record, record.count, now.clockMs)
  }
}

/// Owns the memory of one firmware. A line and its control share it, on one task.
private final class FirmwareMemory {
  let host: OpaquePointer
  let table: nb_host_table_t
  let capacity: UInt16

  init(profile: FirmwareProfile, table: nb_host_table_t, seed: UInt64, nowMs: UInt32) throws {
    capacity = profile.capacity
    var profile = profile.hostProfile
    guard let host = table.create(&profile, seed, nowMs) else {
      throw CaseEnd.fault("the firmware refuses a valid configuration", file: #fileID, line: #line)
    }
    self.host = host
    self.table = table
  }

  deinit { table.destroy(host) }
}

extension Instant {
  fileprivate var wholeMilliseconds: UInt64 { UInt64(max(0, nanoseconds) / 1_000_000) }
  /// The firmware's clock, which wraps.
  fileprivate var clockMs: UInt32 { UInt32(truncatingIfNeeded: wholeMilliseconds) }
}
