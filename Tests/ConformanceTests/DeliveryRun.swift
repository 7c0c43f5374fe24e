import Conformance
import HostSuite
import DeviceEmulator
import NotibotHost
import NotibotProtocol

/// Notifications sent by the host machine through a faulty line to the emulator's device, in
/// virtual time, with the outcome of each: the host's report compared with the device's store.
///
/// The driver here acts like the one in production: when a session ends it reopens the port and
/// connects; when the port is gone it waits for it. It resends requests that were never sent, and
/// none whose outcome is unknown.
struct DeliveryRun {
  /// The outcomes of the notifications.
  struct Outcome: Equatable, Sendable {
    /// Answered with success.
    var accepted = 0
    /// Reported as an unknown outcome.
    var unknown = 0
    /// Not reported within the limit, or reported as another failure.
    var unresolved = 0
    /// Stored with bytes that were never sent.
    var wrong = 0
    /// Stored more than once.
    var doubled = 0
    /// Accepted, but neither in the store nor lost by a restart of the device.
    var lost = 0
    var sessions = 0
    var faults = FaultCounts()
    /// The duration in virtual time.
    var duration = Duration.zero
  }

  /// The limit of one run, in virtual time.
  static let timeLimit = Duration.seconds(600)

  private let both: HostAndDevice
  private let payloads: [[UInt8]]
  /// Outstanding requests, with the payload of each.
  private var requests: [HostRequestID: Int] = [:]
  private var unsent: [Int]
  private var outcome = Outcome()
  private var acceptedIndices: Set<Int> = []
  private var endsSeen = 0
  private var bootCount: UInt32

  /// - Parameters:
  ///   - profile: a device whose store has room for `count`.
  ///   - faults: the faults of the line, during the whole run.
  init(profile: DeviceProfile, faults: FaultSpec, seed: UInt64, count: Int) {
    var configuration = HostConfiguration()
    configuration.pendingRequestsLimit = count
    both = HostAndDevice(profile: profile, seed: seed, configuration: configuration, faults: faults)
    payloads = (0..<count).map { index in
      Array(
        #"{"app":"Mail","title":"\#(index)","text":"\#(String(repeating: "text ", count: index % 60))","timestamp":\#(index)}"#
          .utf8)
    }
    unsent = Array(payloads.indices)
    bootCount = both.device.device.statistics.bootCount
  }

  /// Sends all, and returns the outcomes.
  mutating func run() -> Outcome {
    both.withHost { $0.connect(now: $1) }
    while both.now < .zero + Self.timeLimit {
      submit()
      if requests.isEmpty, unsent.isEmpty { break }
      let endsBefore = endsSeen
      _ = both.run(within: .seconds(10)) { both in
        !both.device.isPresent || both.host.ends.count > endsBefore || both.host.results.count >= 1
      }
      collect()
      followPort()
      reconnect()
    }
    outcome.unresolved += requests.count + unsent.count
    return checked()
  }

  private mutating func submit() {
    for index in unsent {
      let id = both.withHost { $0.submit(.sendEncoded(payloads[index]), now: $1) }
      requests[id] = index
    }
    unsent = []
  }

  private mutating func collect() {
    for (id, result) in both.host.drainResults() {
      guard let index = requests.removeValue(forKey: id) else {
        outcome.unresolved += 1
        continue
      }
      switch result {
      case .accepted:
        outcome.accepted += 1
        acceptedIndices.insert(index)
      case .failed(.outcomeUnknown): outcome.unknown += 1
      case .failed(.notSent): unsent.append(index)
      case .failed(.queueFull), .failed(.badLength), .failed(.unsupported), .refused, .count, .response,
        .sent:
        outcome.unresolved += 1
      }
    }
    if both.device.device.statistics.bootCount != bootCount {
      // The store was lost with the restart; notifications that were accepted before are not
      // checked.
      bootCount = both.device.device.statistics.bootCount
      acceptedIndices = []
    }
  }

  private mutating func followPort() {
    guard !both.device.isPresent else { return }
    both.withHost { $0.receiveEndOfStream(now: $1) }
    _ = both.run(within: .seconds(10)) { $0.device.isPresent }
  }

  private mutating func reconnect() {
    guard both.host.ends.count > endsSeen else { return }
    endsSeen = both.host.ends.count
    both.reopenPort()
    both.withHost { $0.connect(now: $1) }
  }

  private mutating func checked() -> Outcome {
    let sent = Set(payloads)
    let stored = both.device.device.store.items.map(\.json)
    outcome.wrong = stored.count { !sent.contains($0) }
    outcome.doubled = stored.count - Set(stored).count
    let present = Set(stored)
    outcome.lost = acceptedIndices.count { !present.contains(payloads[$0]) }
    outcome.sessions = both.host.openedCount
    outcome.faults = both.device.faultCounts
    outcome.duration = both.now - .zero
    return outcome
  }
}
