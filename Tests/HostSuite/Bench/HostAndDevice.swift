import Conformance
package import DeviceEmulator
package import NotibotHost
package import NotibotProtocol
package import SuiteWire

/// The host machine and the emulator's device at the two ends of one virtual line, and a tap on it.
///
/// The two share only the codec; a case asserts on the output of the tap and on the final state of
/// both ends, so that neither is its own witness.
package final class HostAndDevice {
  package private(set) var now = Instant.zero
  package var host: VirtualHost
  package var device: WiredDevice
  /// A filter for bytes on the line; default: no change.
  package var lineFilter: (_ bytes: [UInt8], _ sender: WireFrame.Sender) -> [UInt8] = { bytes, _ in bytes }
  package private(set) var window = WindowTap()
  private var isHeldBack = false

  /// - Parameter faults: faults of the bytes and the line, at the device's end.
  package init(
    profile: DeviceProfile, seed: UInt64, configuration: HostConfiguration, faults: FaultSpec = .off
  ) {
    host = VirtualHost(configuration: configuration, seed: seed)
    device = WiredDevice(profile: profile, seed: seed, faults: faults, now: .zero)
    window.bytesLimit = Int(profile.limits.bytes)
    window.framesLimit = Int(profile.limits.frames)
  }

  /// Performs an action on the host, and its immediate effects.
  package func withHost<Result>(_ body: (inout HostMachine, Instant) -> Result) -> Result {
    let result = body(&host.machine, now)
    exchange()
    return result
  }

  /// Performs an action on the device.
  package func perform(_ command: DeviceCommand) {
    _ = device.perform(command, now: now)
    exchange()
  }

  /// The host closes its port and opens it again, as it does in production between two sessions.
  package func reopenPort() {
    device.noticeHost(isPresent: false, now: now)
    device.noticeHost(isPresent: true, now: now)
    exchange()
  }

  /// Lets time pass until a condition is true.
  ///
  /// - Returns: whether it became true within the limit.
  package func run(within limit: Duration, until isDone: (HostAndDevice) -> Bool) -> Bool {
    let end = now + limit
    exchange()
    while !isDone(self) {
      let deadlines = [host.nextDeadline, device.nextDeadline].compactMap { $0 }
      guard let next = deadlines.min(), next <= end else {
        now = end
        return false
      }
      now = max(now, next)
      if let deadline = device.nextDeadline, deadline <= now { device.handleTimeout(now: now) }
      if let deadline = host.nextDeadline, deadline <= now { host.handleTimeout(now: now) }
      exchange()
    }
    return true
  }

  private func exchange() {
    var isMoving = true
    while isMoving {
      isMoving = false
      if device.isFull != isHeldBack {
        isHeldBack = device.isFull
        host.machine.handleWritability(!isHeldBack, now: now)
      }
      while let bytes = host.nextBytes(now: now) {
        window.see(bytes, from: .host)
        device.receive(lineFilter(bytes, .host), now: now)
        isMoving = true
      }
      while let bytes = device.nextTransmit() {
        let arrived = lineFilter(bytes, .device)
        window.see(arrived, from: .device)
        host.receive(arrived, now: now)
        isMoving = true
      }
    }
  }
}

/// Compares the host's DATA frames with the device's grants (LNK-41, LNK-42).
package struct WindowTap {
  package var framesLimit = 0
  package var bytesLimit = 0
  /// DATA frames sent beyond the credit.
  package private(set) var framesBeyondCredit = 0
  /// How many times the bytes of unhandled frames exceeded the device's limit.
  package private(set) var timesBeyondBytes = 0
  package private(set) var dataFrames = 0
  /// Bytes of DATA frames sent for the first time, zeros included.
  package private(set) var dataBytes = 0
  private var session: UInt16 = 0
  private var limit = 0
  private var sizes: [Int] = []
  private var hostStream = FrameSplitter(from: .host)
  private var deviceStream = FrameSplitter(from: .device)

  package init() {}

  mutating func see(_ bytes: [UInt8], from sender: WireFrame.Sender) {
    switch sender {
    case .host:
      hostStream.receive(bytes)
      for case .frame(let frame) in hostStream.drainItems() where frame.kind == .data { seeData(frame) }
    case .device:
      deviceStream.receive(bytes)
      for case .frame(let frame) in deviceStream.drainItems() { seeGrant(frame) }
    }
  }

  private mutating func seeGrant(_ frame: WireFrame) {
    if frame.kind == .synAck, frame.session != session {
      session = frame.session
      sizes = []
      limit = Int(frame.credit)
    }
    guard frame.session == session, ![.udata, .rst, .hello].contains(frame.kind) else { return }
    // Serial arithmetic: how far the ack is behind the next number.
    let behind = Int(UInt8(truncatingIfNeeded: sizes.count) &- frame.ack)
    guard behind <= 64 else { return }
    limit = max(limit, sizes.count - behind + Int(frame.credit))
  }

  private mutating func seeData(_ frame: WireFrame) {
    guard frame.session == session, frame.seq == UInt8(truncatingIfNeeded: sizes.count) else { return }
    dataFrames += 1
    dataBytes += frame.bytes.count
    sizes.append(frame.payload.count + 12)
    if sizes.count > limit { framesBeyondCredit += 1 }
    let unhandled = sizes.dropFirst(max(0, limit - framesLimit)).reduce(0, +)
    if unhandled > bytesLimit { timesBeyondBytes += 1 }
  }
}

extension HostCaseBench {
  /// Host and device on a line, connected; returns when the host reports that it is ready.
  package func makeHostAndDevice(
    _ profile: DeviceProfile, faults: FaultSpec = .off,
    _ configure: (inout HostConfiguration) -> Void = { _ in }
  ) throws -> HostAndDevice {
    var configuration = HostConfiguration()
    configuration.pendingRequestsLimit = 4096
    configure(&configuration)
    let both = HostAndDevice(profile: profile, seed: seed, configuration: configuration, faults: faults)
    both.withHost { $0.connect(now: $1) }
    guard both.run(within: .seconds(5), until: { $0.host.openedCount == 1 }) else {
      throw CaseEnd.fault("no session within 5 s: \(both.host.ends)", file: #fileID, line: #line)
    }
    return both
  }
}
