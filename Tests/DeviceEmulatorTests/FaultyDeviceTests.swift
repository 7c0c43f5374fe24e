import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// A device behind its line in virtual time, and the bytes that a host would have read, with their
/// times.
struct LineRig {
  var wired: WiredDevice
  var now = Instant.zero
  private(set) var arrivals: [(moment: Instant, bytes: [UInt8])] = []
  private var decoder = FrameDecoder(receiving: .fromDevice)
  var frames: [Frame] = []

  init(_ profile: DeviceProfile, faults: String = "off", seed: UInt64 = 1) throws {
    wired = WiredDevice(profile: profile, seed: seed, faults: try FaultSpec(parsing: faults), now: .zero)
    read()
  }

  mutating func send(_ bytes: [UInt8]) {
    wired.receive(bytes, now: now)
    read()
  }

  mutating func send(
    _ type: FrameType, channel: Channel = .link, session: UInt16 = 0, sequence: UInt8 = 0, ack: UInt8 = 0,
    payload: [UInt8] = []
  ) {
    let header = FrameHeader(
      type: type, direction: .fromHost, channel: channel, session: session, sequence: sequence, ack: ack,
      credit: 64)
    send(Frame(header, payload: payload).encoded())
  }

  /// Lets time pass; a reading host takes the received bytes.
  mutating func advance(by duration: Duration, isReading: Bool = true) {
    let end = now + duration
    while let deadline = wired.nextDeadline, deadline <= end, isReading || deadline > now {
      now = max(now, deadline)
      wired.handleTimeout(now: now)
      if isReading { read() }
    }
    now = end
    wired.handleTimeout(now: now)
    if isReading { read() }
  }

  /// Opens a session, whatever the line's latency.
  mutating func openSession() throws -> UInt16 {
    advance(by: .milliseconds(500))
    frames = []
    send(
      .syn,
      payload: Syn(
        nonce: 1, features: [.pipelinedRequests],
        limits: LinkLimits(frames: 64, requests: 8, mtu: 517, bytes: 65_536)
      ).encoded())
    advance(by: .milliseconds(60))
    let session = try #require(frames.last { $0.header.type == .synack }).header.session
    send(.ack, session: session)
    advance(by: .milliseconds(60))
    forget()
    return session
  }

  mutating func forget() {
    frames = []
    arrivals = []
  }

  mutating func read() {
    while let bytes = wired.nextTransmit() {
      arrivals.append((now, bytes))
      decoder.receive(bytes)
    }
    while let event = decoder.nextEvent() {
      if case .frame(let frame) = event { frames.append(frame) }
    }
  }

  var boots: UInt32 { wired.statistics.bootCount }
}

struct FaultyDeviceTests {
  @Test func `a restart at a byte restarts the device and loses the bytes after it`() throws {
    var rig = try LineRig(.quiet, faults: "reboot@20")
    rig.send([UInt8](repeating: 0x41, count: 50))
    #expect(rig.wired.device.isRestarting)
    #expect(rig.wired.statistics.textBytesReceived == 19)
    #expect(rig.wired.statistics.faults == ["reboot": 1, "lost-bytes": 0])
    rig.forget()
    rig.advance(by: DeviceProfile.quiet.rebootTime)
    #expect(rig.boots == 2)
    #expect(try Hello(parsing: try #require(rig.frames.first).payload).resetReason == .brownout)
  }

  @Test func `a restart towards the host cuts the frame in transmission`() throws {
    var rig = try LineRig(.quiet, faults: "reboot@10/to-host")
    #expect(rig.arrivals.flatMap(\.bytes).count == 9)
    rig.advance(by: .milliseconds(300))
    #expect(rig.boots == 2)
    #expect(rig.frames.map(\.header.type) == [.hello])
  }

  @Test func `a pulled plug removes the port for its time, and the device keeps running`() throws {
    var rig = try LineRig(.quiet, faults: "unplug@100,unplug-ms=700")
    let session = try rig.openSession()
    rig.send([UInt8](repeating: 0x41, count: 100))
    #expect(!rig.wired.isPresent)
    rig.send(.ping, session: session)
    rig.advance(by: .milliseconds(699))
    #expect(!rig.wired.isPresent)
    #expect(rig.frames.isEmpty)
    rig.advance(by: .milliseconds(1))
    #expect(rig.wired.isPresent)
    rig.send([0])
    rig.send(.ping, session: session)
    #expect(rig.frames.map(\.header.type) == [.pong])
    #expect(rig.boots == 1)
  }

  @Test func `a stalled line queues the host's bytes, and reports when it is full`() throws {
    var rig = try LineRig(.quiet, faults: "stall@1,stall-ms=200,dir=to-device")
    rig.send([UInt8](repeating: 0x41, count: WiredDevice.receiveBufferBytes))
    #expect(rig.wired.isFull)
    #expect(rig.wired.statistics.bytesReceived == 0)
    rig.advance(by: .milliseconds(200))
    #expect(!rig.wired.isFull)
    #expect(rig.wired.statistics.bytesReceived == UInt64(WiredDevice.receiveBufferBytes))
  }

  @Test func `a line that stalls towards the host grows no queue`() throws {
    var rig = try LineRig(.quiet, faults: "stall=1/to-host,stall-ms=60000")
    for _ in 0..<1000 { rig.send(Frame.syn(9).encoded()) }
    for _ in 0..<1000 {
      rig.wired.device.log(String(repeating: "x", count: 1000))
      rig.read()
    }
    let waiting = rig.wired.faults?.queuedBytes(.toHost) ?? 0
    #expect((1..<20_000).contains(waiting))
  }

  @Test func `faults can be changed on a running line`() throws {
    var rig = try LineRig(.quiet, faults: "loss=1")
    rig.send([1, 2, 3])
    #expect(rig.wired.statistics.bytesReceived == 0)
    #expect(rig.wired.statistics.faultSpec == "loss=1.0,seed=1")
    rig.wired.setFaults(.off)
    rig.send([1, 2, 3])
    #expect(rig.wired.statistics.bytesReceived == 3)
    #expect(rig.wired.statistics.faults == nil)
  }

  @Test func `closing the port ends deafness`() throws {
    var rig = try LineRig(.quiet, faults: "deaf@1")
    rig.send([1, 2, 3])
    rig.wired.noticeHost(isPresent: false, now: rig.now)
    rig.wired.noticeHost(isPresent: true, now: rig.now)
    rig.send([4])
    #expect(rig.wired.statistics.bytesReceived == 1)
  }

  @Test func `faults and pacing work together`() throws {
    var rig = try LineRig(.cp2102, faults: "dup=1/to-host")
    rig.advance(by: .seconds(1))
    var clean = try LineRig(.cp2102)
    clean.advance(by: .seconds(1))
    let expected = clean.arrivals.flatMap(\.bytes).flatMap { [$0, $0] }
    #expect(rig.arrivals.flatMap(\.bytes).starts(with: expected.prefix(2000)))
  }
}
