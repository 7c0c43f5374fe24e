import ArgumentParser
import Commands
import Conformance
import DeviceEmulator
import HostSuite
import NotibotHost
import NotibotProtocol
import Rigs
import SerialLink

/// `notibot-dev drive`: the work of scripts/dev instructions, on one thread, without a line.
struct DriveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "drive", abstract: "Pass notifications through one part of the program.",
    shouldDisplay: false)

  /// The part that does the work.
  enum Part: String, ExpressibleByArgument, CaseIterable {
    /// A frame with a notification is encoded and decoded.
    case frames
    /// A notification is written as JSON and parsed.
    case json
    /// The links of host and emulated device with their frames, against each other.
    case link
    /// Attribute client and server with store, over a connection without a session.
    case attributes
    /// Host and emulated device, against each other.
    case pair
    /// One of them, with the recorded bytes of the other.
    case host
    case device
    /// The device in C, with the recorded bytes of a host.
    case core
  }

  @Argument(help: "The part.")
  var part: Part

  @Option(help: ArgumentHelp("Notifications, 1-10000.", valueName: "number"))
  var count = 1000

  func validate() throws {
    guard (1...10_000).contains(count) else { throw ValidationError("--count must be 1 to 10000") }
  }

  func run() throws {
    switch part {
    case .frames: try passFrames()
    case .json: try passJSON()
    case .link: try passLink()
    case .attributes: try passAttributes()
    case .pair: _ = try Traffic(count: count, device: Self.makeDevice())
    case .host:
      let traffic = try Traffic(count: count, device: Self.makeDevice())
      try traffic.repeatHost()
    case .device: try Traffic(count: count, device: Self.makeDevice()).repeatDevice(Self.makeDevice())
    case .core: try Traffic(count: count, device: Self.makeCore()).repeatDevice(Self.makeCore())
    }
  }

  private static func makeDevice() -> VirtualDevice {
    VirtualDevice(wired: WiredDevice(profile: .bench, seed: Traffic.seed, now: .zero))
  }

  private static func makeCore() throws -> FirmwareDevice {
    try FirmwareDevice(profile: .standard, seed: Traffic.seed, now: .zero)
  }

  private func passFrames() throws {
    var decoder = FrameDecoder(receiving: .fromHost)
    var wire: [UInt8] = []
    let payload = Traffic.json(0)
    var received = 0
    for number in 0..<count {
      wire.removeAll(keepingCapacity: true)
      let header = FrameHeader(
        type: .data, direction: .fromHost, channel: .att, session: 1,
        sequence: UInt8(truncatingIfNeeded: number))
      Frame.encode(header, payload: payload, into: &wire)
      decoder.receive(wire)
      while let event = decoder.nextEvent() { if case .frame = event { received += 1 } }
    }
    guard received == count else { throw Self.wrong("\(received) of \(count) frames") }
  }

  private func passJSON() throws {
    var bytes: [UInt8] = []
    let notification = DisplayNotification(
      app: "Mail", title: "Jane Doe", text: String(repeating: "See you. ", count: 8), timestamp: 1)
    for _ in 0..<count {
      bytes.removeAll(keepingCapacity: true)
      _ = notification.encode(into: &bytes)
      guard try DisplayNotification(parsing: bytes) == notification else { throw Self.wrong("other JSON") }
    }
  }

  private func passLink() throws {
    let board = SharedBoard(
      deviceID: nil, firmwareName: nil, firmwareVersion: nil, buildHash: nil, capacity: 64,
      features: .pipelinedRequests, bootID: 1, bootCount: 1, resetReason: .powerOn)
    var device = SharedLine(board: board, seed: Traffic.seed, now: .zero)
    var host = LinkSession(configuration: HostConfiguration())
    var decoder = FrameDecoder(receiving: .fromDevice)
    let request = [ATTOpcode.writeRequest.rawValue, 6, 0] + Traffic.json(0)
    var (sent, answered) = (0, 0)
    host.open(nonce: 1, clock: nil, limit: nil, now: .zero)
    // A round opens the session, and none passes less than one window.
    for _ in 0...count where answered < count {
      while sent < count, sent - answered < Traffic.inFlight, host.send(request) { sent += 1 }
      host.flush(now: .zero)
      device.receive(host.drainOutput(), now: .zero)
      while let event = device.nextEvent() {
        if case .request = event { device.send([ATTOpcode.writeResponse.rawValue], on: .att) }
      }
      while let bytes = device.nextTransmit() { decoder.receive(bytes) }
      while let event = decoder.nextEvent() {
        if case .frame(let frame) = event { host.receive(frame, now: .zero) }
      }
      while let action = host.nextAction() { if case .received = action { answered += 1 } }
    }
    guard answered == count else { throw Self.wrong("\(answered) of \(count) answers") }
  }

  private func passAttributes() throws {
    var host = ConnectionMachine(configuration: HostConfiguration())
    let wired = WiredDevice(profile: .bench, seed: Traffic.seed, now: .zero)
    var device = VirtualDevice(wired: wired, bearer: .connections)
    let request = HostRequest.sendEncoded(Traffic.json(0))
    var accepted = 0
    device.connect(now: .zero)
    host.connect(now: .zero)
    while accepted < count {
      // One request is in flight (ATT-6).
      guard let action = host.nextAction() else { throw Self.wrong("\(accepted) of \(count) answers") }
      switch action {
      case .write(let bytes):
        device.receive(bytes, now: .zero)
        while let bytes = device.nextBytes(now: .zero) { host.receive(bytes.span, now: .zero) }
        continue
      case .opened: break
      case .completed(_, .accepted): accepted += 1
      case .completed, .event, .text, .ended: throw Self.wrong("\(action)")
      }
      _ = host.submit(request, now: .zero)
    }
  }

  static func wrong(_ what: String) -> Failure {
    Failure(.testFailed, "the parts do not agree: \(what)")
  }
}

/// What a host and a device get while notifications pass between them.
private struct Traffic {
  static let seed: UInt64 = 7
  static let inFlight = 32

  private enum Step {
    case submit(HostRequest)
    case bytes([UInt8])
    case timeout
  }

  private var toHost: [(Step, Instant)] = []
  private var toDevice: [(Step, Instant)] = []
  private var bytesOfHost = 0
  private var bytesOfDevice = 0

  /// A notification that replaces the one before, so that no store is ever full. Of 118 bytes.
  static func json(_ number: Int) -> [UInt8] {
    var json = first
    var rest = number % 10_000
    for index in ((json.count - 5)..<(json.count - 1)).reversed() {
      json[index] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
    return json
  }

  private static let first = Array(
    #"{"app":"Mail","title":"Jane","text":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","timestamp":1,"id":1,"src":5,"rev":10000}"#
      .utf8)

  private static func makeHost() -> HostMachine {
    var configuration = HostConfiguration()
    configuration.pendingRequestsLimit = 64
    return HostMachine(configuration: configuration, seed: seed)
  }

  /// Passes notifications from a host to `device`.
  init(count: Int, device: some VirtualPeer) throws {
    var (host, device, now) = (Self.makeHost(), device, Instant.zero)
    var (submitted, accepted, isOpen) = (0, 0, false)
    host.connect(now: now)
    while accepted < count {
      while submitted < count, submitted - accepted < Self.inFlight, isOpen {
        let request = HostRequest.sendEncoded(Self.json(submitted))
        toHost.append((.submit(request), now))
        _ = host.submit(request, now: now)
        submitted += 1
      }
      var isMoving = false
      while let action = host.nextAction() {
        switch action {
        case .write(let bytes):
          toDevice.append((.bytes(bytes), now))
          bytesOfHost += bytes.count
          device.receive(bytes, now: now)
          isMoving = true
        case .completed(_, .accepted): accepted += 1
        case .opened: isOpen = true
        case .completed, .event, .text, .ended: throw DriveCommand.wrong("\(action)")
        }
      }
      while let bytes = device.nextBytes(now: now) {
        toHost.append((.bytes(bytes), now))
        bytesOfDevice += bytes.count
        host.receive(bytes, now: now)
        isMoving = true
      }
      if isMoving { continue }
      guard let next = [host.nextDeadline, device.nextDeadline].compactMap({ $0 }).min(),
        next < .zero + .seconds(60)
      else { throw DriveCommand.wrong("nothing is due after \(accepted) notifications") }
      now = max(now, next)
      if let deadline = device.nextDeadline, deadline <= now {
        toDevice.append((.timeout, now))
        device.handleTimeout(now: now)
      }
      if let deadline = host.nextDeadline, deadline <= now {
        toHost.append((.timeout, now))
        host.handleTimeout(now: now)
      }
    }
  }

  /// The same again with the host alone.
  func repeatHost() throws {
    var host = Self.makeHost()
    host.connect(now: .zero)
    var count = 0
    for (step, now) in toHost {
      switch step {
      case .submit(let request): _ = host.submit(request, now: now)
      case .bytes(let bytes): host.receive(bytes, now: now)
      case .timeout: host.handleTimeout(now: now)
      }
      while let action = host.nextAction() { if case .write(let bytes) = action { count += bytes.count } }
    }
    guard count >= bytesOfHost else { throw DriveCommand.wrong("\(count) of \(bytesOfHost) bytes") }
  }

  /// The same again with the device alone.
  func repeatDevice(_ device: some VirtualPeer) throws {
    var device = device
    var count = 0
    for (step, now) in toDevice {
      switch step {
      case .bytes(let bytes): device.receive(bytes, now: now)
      case .timeout: device.handleTimeout(now: now)
      case .submit: break
      }
      while let bytes = device.nextBytes(now: now) { count += bytes.count }
    }
    guard count >= bytesOfDevice else { throw DriveCommand.wrong("\(count) of \(bytesOfDevice) bytes") }
  }
}
