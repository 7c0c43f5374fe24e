import Conformance
import DeviceEmulator
import HostSuite
import NotibotHost
import NotibotProtocol
import Rigs
import Testing

/// The host machine and the C firmware at the two ends of a faulty line, in virtual time: two
/// independent codecs and implementations of the protocol.
@Suite struct FirmwareThroughFaultsTests {
  private static let damage =
    "flip=3e-4,loss=2e-4,insert=2e-4,dup=2e-4,run=1e-4,short=1e-4,garbage=3e-5,splice=1e-3,stale=1e-3,stall=1e-4"

  @Test(arguments: 1...24 as ClosedRange<UInt64>)
  func `damaged bytes cost time, not notifications`(seed: UInt64) throws {
    let profile = FirmwareProfile.all[Int(seed) % FirmwareProfile.all.count]
    var run = try FaultyRun(profile: profile, faults: Self.damage, seed: seed, count: 60)
    let outcome = run.run()
    #expect(outcome.faults > 5, "\(profile.name), seed \(seed): \(outcome)")
    #expect(outcome.accepted + outcome.unknown == 60, "\(profile.name), seed \(seed): \(outcome)")
    #expect(
      outcome.lost == 0 && outcome.wrong == 0 && outcome.doubled == 0,
      "\(profile.name), seed \(seed): \(outcome)")
  }

  @Test(arguments: FirmwareProfile.all)
  func `a clean line delivers all in one session`(profile: FirmwareProfile) throws {
    var run = try FaultyRun(profile: profile, faults: "off", seed: 1, count: 60)
    let outcome = run.run()
    #expect(outcome.accepted == 60 && outcome.sessions == 1, "\(profile.name): \(outcome)")
    #expect(outcome.lost == 0 && outcome.wrong == 0 && outcome.doubled == 0, "\(profile.name): \(outcome)")
  }
}

/// Notifications from the host machine through a faulty line to the firmware, and the outcome of
/// each.
private struct FaultyRun {
  struct Outcome {
    var accepted = 0
    var unknown = 0
    /// Accepted, but not in the store.
    var lost = 0
    /// Stored, but never sent.
    var wrong = 0
    /// Stored twice.
    var doubled = 0
    var sessions = 0
    var faults = UInt64(0)
  }

  private static let timeLimit = Duration.seconds(600)
  private var host: VirtualHost
  private var device: FirmwareDevice
  private var wire: FaultyWire
  private var now = Instant.zero
  private let payloads: [[UInt8]]
  private var unsent: [Int]
  private var requests: [HostRequestID: Int] = [:]
  private var accepted: Set<Int> = []
  private var endsSeen = 0
  private var outcome = Outcome()

  init(profile: FirmwareProfile, faults: String, seed: UInt64, count: Int) throws {
    var configuration = HostConfiguration()
    configuration.pendingRequestsLimit = count
    host = VirtualHost(configuration: configuration, seed: seed)
    device = try FirmwareDevice(profile: profile, seed: seed, now: .zero)
    wire = FaultyWire(spec: try FaultSpec(parsing: faults), seed: seed)
    payloads = (0..<count).map { index in
      let text = String(repeating: "text ", count: index % 60)
      return Array(#"{"app":"Mail","title":"\#(index)","text":"\#(text)","timestamp":\#(index)}"#.utf8)
    }
    unsent = Array(payloads.indices)
  }

  mutating func run() -> Outcome {
    host.machine.connect(now: now)
    while now < .zero + Self.timeLimit {
      submit()
      exchange()
      collect()
      if requests.isEmpty, unsent.isEmpty { break }
      if host.ends.count > endsSeen {
        endsSeen = host.ends.count
        host.machine.connect(now: now)
        continue
      }
      guard unsent.isEmpty else { continue }
      let deadlines = [host.nextDeadline, device.nextDeadline, wire.nextDeadline].compactMap { $0 }
      guard let next = deadlines.min() else { break }
      now = max(now, next)
      if let deadline = device.nextDeadline, deadline <= now { device.handleTimeout(now: now) }
      if let deadline = host.nextDeadline, deadline <= now { host.handleTimeout(now: now) }
    }
    let stored = device.stored
    outcome.accepted = accepted.count
    outcome.lost = accepted.count { !stored.contains(payloads[$0]) }
    outcome.wrong = stored.count { !payloads.contains($0) }
    outcome.doubled = stored.count - Set(stored).count
    outcome.sessions = host.openedCount
    outcome.faults = UInt64(wire.counts.total)
    return outcome
  }

  private mutating func submit() {
    for index in unsent {
      let id = host.machine.submit(.sendEncoded(payloads[index]), now: now)
      requests[id] = index
    }
    unsent = []
  }

  private mutating func exchange() {
    var isMoving = true
    while isMoving {
      isMoving = false
      while let bytes = host.nextBytes(now: now) { wire.send(bytes, .toDevice) }
      while case .bytes(let bytes)? = wire.next(.toDevice, now: now) {
        device.receive(bytes, now: now)
        isMoving = true
      }
      while let bytes = device.nextBytes(now: now) { wire.send(bytes, .toHost) }
      while case .bytes(let bytes)? = wire.next(.toHost, now: now) {
        host.receive(bytes, now: now)
        isMoving = true
      }
    }
  }

  private mutating func collect() {
    for (id, result) in host.drainResults() {
      guard let index = requests.removeValue(forKey: id) else { continue }
      switch result {
      case .accepted: accepted.insert(index)
      case .failed(.outcomeUnknown): outcome.unknown += 1
      case .failed(.notSent): unsent.append(index)
      default: break  // Counted by the difference to the sum.
      }
    }
  }
}
