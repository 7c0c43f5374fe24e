import Conformance
import DeviceEmulator
import NotibotHost
import NotibotProtocol
import SuiteWire

/// Host machine and emulated device together, in virtual time: properties that only both ends can
/// show.
extension HostSuite {
  static let system = Suite.chapter(.throughput) {
    Case.host(
      "LNK-40/paced-921600", "At 921600 baud and 16 ms each way notifications use 95 % of the line, or more",
      also: ["LNK-50", "ATT-6"]
    ) { _, bench in
      var profile = DeviceProfile.bench
      profile.wire = WireModel(pace: .paced(bitsPerSecond: 921_600), latency: .milliseconds(16))
      try measureLine(bench, profile, bitsPerSecond: 921_600, count: 2000)
    }

    Case.host(
      "LNK-51/paced-115200", "At 115200 baud too, and nothing is retransmitted because it is slow",
      also: ["LNK-40"]
    ) { _, bench in
      var profile = DeviceProfile.bench
      profile.wire = WireModel(pace: .paced(bitsPerSecond: 115_200), latency: .milliseconds(16))
      try measureLine(bench, profile, bitsPerSecond: 115_200, count: 500)
    }

    Case.host(
      "LNK-34/damaged-share",
      "With one frame in a hundred corrupted a line of 921600 baud still carries 90 % of its limit, or more",
      also: ["LNK-32", "LNK-33"]
    ) { probe, bench in
      for latency in [Duration.milliseconds(16), .milliseconds(1)] {
        var profile = DeviceProfile.bench
        profile.wire = WireModel(pace: .paced(bitsPerSecond: 921_600), latency: latency)
        // Frames of about 490 bytes on the line. The faults are drawn once for all runs: in 8 s of
        // line a loss among the last frames counts for more than its share, and one draw in fifty
        // is below 90 %. `scripts/dev measure` has the long run.
        var faults = FaultSpec(rules: [FaultSpec.Rule(.flip, .rate(2.03e-5))])
        faults.seed = 1
        let both = try bench.makeHostAndDevice(profile, faults: faults) { $0.lineBitsPerSecond = 921_600 }
        let share = measureShare(bench, both, Sample.json(length: 465), bitsPerSecond: 921_600, count: 1500)
        probe.expect(share >= 0.9, "\(share) of the line with \(latency) each way")
        let link = both.host.machine.statistics.link
        probe.expect(link.resent > 0, "no frame was corrupted with \(latency) each way")
        // A corrupted frame is sent again once; one in a hundred of them is corrupted again.
        probe.expect(link.resent <= 45, "\(link.resent) of 1500 sent again with \(latency) each way")
      }
    }

    Case.host(
      "LNK-41/window-kept", "Under load the host never exceeds credit or bytes, whatever the device's limits",
      also: ["LNK-42", "LNK-8", "NTF-10"]
    ) { probe, bench in
      for var profile in [DeviceProfile.tiny, .standard, .wide, .mtu23] {
        profile.capacity = 1000
        let both = try bench.makeHostAndDevice(profile)
        let ids = (0..<400).map { index in
          both.withHost { $0.submit(.sendEncoded(Sample.json(length: 80 + index)), now: $1) }
        }
        let isDone = both.run(within: .seconds(120)) { $0.host.results.count == ids.count }
        probe.expect(isDone, "\(both.host.results.count) of 400 results on \(profile.name)")
        probe.expect(
          "accepted on \(profile.name)", ids.filter { both.host.results[$0] == .accepted }.count, is: 400)
        probe.expect("frames beyond the credit on \(profile.name)", both.window.framesBeyondCredit, is: 0)
        probe.expect("times beyond the bytes on \(profile.name)", both.window.timesBeyondBytes, is: 0)
        probe.expect("stored on \(profile.name)", both.device.device.store.storedCount, is: 400)
      }
    }

    Case.host(
      "ATT-5/refusals-in-between", "Each of 600 writes gets its own answer, refused ones among them",
      also: ["NTF-1", "ATT-6"]
    ) { probe, bench in
      let both = try bench.makeHostAndDevice(.standard)
      let ids = (0..<600).map { index in
        let json = index % 3 == 1 ? [0x7B] : Sample.json("number \(index)")
        return both.withHost { $0.submit(.sendEncoded(json), now: $1) }
      }
      let isDone = both.run(within: .seconds(60)) { $0.host.results.count == ids.count }
      probe.expect(isDone, "\(both.host.results.count) of 600 results")
      for (index, id) in ids.enumerated() {
        let expected = index % 3 == 1 ? HostResult.refused(ATTError(rawValue: 0x80)) : .accepted
        probe.expect("result \(index)", both.host.results[id], is: expected)
      }
      probe.expect("stored", both.device.device.store.storedCount, is: 400)
    }

    Case.host(
      "FRM-3/damaged-line",
      "With every 700th byte wrong in both directions each notification is stored once, in order",
      also: ["LNK-34", "LNK-32", "LNK-51", "FRM-15", "NTF-38"]
    ) { _, bench in
      var passed = 0
      try checkLossy(bench) { bytes, _ in
        var corrupted = bytes
        for index in corrupted.indices {
          passed += 1
          if passed % 700 == 0 { corrupted[index] ^= 0x10 }
        }
        return corrupted
      }
    }

    Case.host(
      "LNK-34/lost-runs",
      "With runs of 1 to 128 bytes lost in both directions each notification is stored once, in order",
      also: ["FRM-6", "LNK-33", "LNK-51"]
    ) { _, bench in
      var random = SeededGenerator(seed: bench.seed)
      var untilLoss = 2000
      try checkLossy(bench) { bytes, _ in
        var kept: [UInt8] = []
        var lost = 0
        for byte in bytes {
          untilLoss -= 1
          if untilLoss == 0 {
            lost = Int(random.next() % 128) + 1
            untilLoss = 1500 + Int(random.next() % 3000)
          }
          if lost > 0 { lost -= 1 } else { kept.append(byte) }
        }
        return kept
      }
    }
  }
  static let systemReconnection = Suite.chapter(.reconnection) {
    Case.host(
      "LNK-52/idle-minute", "A session without work stays open for ten minutes, by PINGs alone",
      also: ["LNK-53"]
    ) { probe, bench in
      let both = try bench.makeHostAndDevice(.quiet)
      _ = both.run(within: .seconds(600)) { !$0.host.ends.isEmpty }
      probe.expect("ends", both.host.ends, is: [])
      probe.expect("events", both.host.events, is: [])
      let id = both.withHost { $0.submit(.readCount, now: $1) }
      let isDone = both.run(within: .seconds(1)) { $0.host.results[id] != nil }
      probe.expect(isDone, "the count cannot be read after ten minutes")
    }

    Case.host(
      "LNK-22/restart-under-load",
      "A restart under load: every request ends once, and the next session works",
      also: ["LNK-23", "LNK-10", "NTF-12"]
    ) { probe, bench in
      let both = try bench.makeHostAndDevice(.standard)
      let ids = (0..<200).map { index in
        both.withHost { $0.submit(.sendEncoded(Sample.json("number \(index)")), now: $1) }
      }
      both.perform(.stall)
      let more = (0..<20).map { _ in both.withHost { $0.submit(.readCount, now: $1) } }
      both.perform(.reboot(.panic))
      let hasEnded = both.run(within: .seconds(2)) { !$0.host.ends.isEmpty }
      probe.expect(hasEnded, "the restart was not detected")
      guard case .deviceRestarted? = both.host.ends.first else {
        return probe.expect(false, "the session ended by \(both.host.ends)")
      }
      probe.expect("results", both.host.results.count, is: ids.count + more.count)
      both.withHost { $0.connect(now: $1) }
      let isOpen = both.run(within: .seconds(2)) { $0.host.openedCount == 2 }
      probe.expect(isOpen, "no session after the restart")
      let id = both.withHost { $0.submit(.readCount, now: $1) }
      _ = both.run(within: .seconds(1)) { $0.host.results[id] != nil }
      probe.expect("Count after the restart", both.host.results[id], is: .count(0))
    }

    Case.host(
      "LNK-23/port-gone", "When the port disappears each unanswered request is reported as outcome unknown"
    ) { probe, bench in
      let both = try bench.makeHostAndDevice(.standard)
      both.perform(.stall)
      let ids = (0..<3).map { _ in both.withHost { $0.submit(.readCount, now: $1) } }
      both.withHost { $0.receiveEndOfStream(now: $1) }
      probe.expect("ends", both.host.ends, is: [.portGone])
      for id in ids {
        probe.expect("a result", both.host.results[id], is: .failed(.outcomeUnknown(.portGone)))
      }
    }
  }

  /// Sends notifications as fast as the window allows, and compares their bytes with the capacity
  /// of the line.
  private static func measureLine(
    _ bench: HostCaseBench, _ profile: DeviceProfile, bitsPerSecond: Int, count: Int
  ) throws {
    let both = try bench.makeHostAndDevice(profile) { $0.lineBitsPerSecond = bitsPerSecond }
    let json = Sample.json("a notification, with a text of the usual length")
    let share = measureShare(bench, both, json, bitsPerSecond: bitsPerSecond, count: count)
    bench.probe.expect(share >= 0.95, "\(share) of the line")
    bench.probe.expect("frames sent twice", both.host.machine.statistics.link.resent, is: 0)
  }

  /// Sends a notification many times, as fast as the window allows. Returns the share of the line's
  /// time that its frames need, each counted once.
  private static func measureShare(
    _ bench: HostCaseBench, _ both: HostAndDevice, _ json: [UInt8], bitsPerSecond: Int, count: Int
  ) -> Double {
    let start = both.now
    let before = both.window.dataBytes
    for _ in 0..<count { _ = both.withHost { $0.submit(.sendEncoded(json), now: $1) } }
    let isDone = both.run(within: .seconds(120)) { $0.host.results.count == count }
    bench.probe.expect(isDone, "\(both.host.results.count) of \(count) results")
    let bytes = both.window.dataBytes - before
    return Double(bytes) * 10 / Double(bitsPerSecond) / (both.now - start).inSeconds
  }

  /// Sends notifications over a line with faults, and compares the store with the accepted ones.
  private static func checkLossy(
    _ bench: HostCaseBench, _ lineFilter: @escaping ([UInt8], WireFrame.Sender) -> [UInt8]
  ) throws {
    for outOfOrder in [OutOfOrderFrames.kept, .dropped] {
      var profile = DeviceProfile.standard
      profile.outOfOrder = outOfOrder
      let both = try bench.makeHostAndDevice(profile)
      both.lineFilter = lineFilter
      checkLossy(bench, both)
    }
  }

  private static func checkLossy(_ bench: HostCaseBench, _ both: HostAndDevice) {
    let ids = (0..<300).map { index in
      both.withHost { $0.submit(.sendEncoded(Sample.json("number \(index)")), now: $1) }
    }
    let isDone = both.run(within: .seconds(300)) { $0.host.results.count == ids.count }
    bench.probe.expect(isDone, "\(both.host.results.count) of 300 results; \(both.host.ends)")
    bench.probe.expect("accepted", ids.filter { both.host.results[$0] == .accepted }.count, is: 300)
    let stored = both.device.device.store.items.map { String(decoding: $0.json, as: UTF8.self) }
    let expected = (0..<300).map { String(decoding: Sample.json("number \($0)"), as: UTF8.self) }
    bench.probe.expect(stored == expected, "the store holds \(stored.count) items, not those 300 in order")
    bench.probe.expect("wrong text accepted", stored.filter { !expected.contains($0) }, is: [])
    bench.probe.expect("frames beyond the credit", both.window.framesBeyondCredit, is: 0)
  }
}
