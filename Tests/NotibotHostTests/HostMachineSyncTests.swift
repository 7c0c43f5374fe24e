import NotibotProtocol
import Testing

@testable import NotibotHost

/// Channel 0 of a session: SYNC, its answer, and the messages of a device.
struct HostMachineSyncTests {
  static let all: Features = [.pipelinedRequests, .optionalKeys, .sync]
  static let request = SyncRequest(source: 0x0102_0304, knownID: 5, holdings: Holdings(count: 2, digest: 6))
  /// SYNC as NTF-30 lays it out.
  static let requestBytes: [UInt8] = [1, 4, 3, 2, 1, 5, 0, 0, 0, 2, 0, 6, 0, 0, 0, 0, 0, 0, 0]

  private static func synced(source: UInt8, sequence: UInt8, ack: UInt8) -> Frame {
    let payload: [UInt8] =
      [2, source, 3, 2, 1, 2, 0, 6, 0, 0, 0, 0, 0, 0, 0] + [9, 0, 0, 0, 64, 0, 0x42, 0x1D, 0x07, 0xB0]
    return ScriptedDevice.frame(.data, channel: .link, sequence: sequence, ack: ack, payload: payload)
  }

  private static let answer = SyncAnswer(
    source: 0x0102_0304, holdings: Holdings(count: 2, digest: 6), highestID: 9, capacity: 64,
    bootID: ScriptedDevice.bootID)

  @Test(arguments: [
    (0b1111, true, true), (0b0111, true, true), (0b0011, true, false), (0b0101, false, false),
    (0b0000, false, false), (0b11111, true, true), (0b10011, true, false), (0b10101, false, false),
  ])
  func `identity and SYNC are in use when the device announces them, SYNC alone counts as neither`(
    features: UInt32, hasIdentity: Bool, hasSync: Bool
  ) {
    var device = ScriptedDevice.makeLinked(features: Features(rawValue: features))
    device.receive(ScriptedDevice.pdu([0x03, 0x05, 0x02], sequence: 0, ack: 1))
    guard case .opened(let info)? = device.drainActions().first else {
      Issue.record("not opened")
      return
    }
    #expect(info.hasIdentity == hasIdentity)
    #expect(info.hasSync == hasSync)
    #expect(info.keepsActions == (features == 0b11111))
  }

  @Test func `a host that offers no identity has none, whatever the device says`() throws {
    var configuration = HostConfiguration()
    configuration.offersIdentity = false
    var device = ScriptedDevice.makeOpening(configuration)
    let syn = try Syn(parsing: device.sent[0].payload)
    #expect(syn.features == [.pipelinedRequests, .framedLog])
    device = ScriptedDevice.makeReady(configuration, features: Self.all)
    let isSent = device.machine.sendSync(Self.request, now: device.now)
    #expect(!isSent)
  }

  @Test func `source and run are those that were set before the session`() throws {
    var device = ScriptedDevice()
    device.machine.setIdentity(source: 7, run: 3)
    device.connect()
    let syn = try Syn(parsing: device.sent[0].payload)
    #expect(syn.source == 7)
    #expect(syn.run == 3)
  }

  @Test func `SYNC is sent on channel 0 in order with the requests, and its answer is reported`() {
    var device = ScriptedDevice.makeReady(features: Self.all)
    device.submit(.readCount)
    let isSent = device.machine.sendSync(Self.request, now: device.now)
    #expect(isSent)
    device.submit(.readCount)
    let sent = device.drainSent()
    #expect(sent.map(\.header.channel) == [.att, .link, .att])
    #expect(sent[1].payload == Self.requestBytes)
    device.receive(Self.synced(source: 4, sequence: 1, ack: 4))
    #expect(device.drainActions() == [.event(.sync(.synced(Self.answer)))])
    #expect(device.machine.statistics.sync.answers == 1)
  }

  @Test func `a SYNC behind more requests than the device takes waits for them`() {
    var device = ScriptedDevice.makeReady(
      features: Self.all, limits: LinkLimits(frames: 16, requests: 1, mtu: 517, bytes: 4096))
    device.submit(.readCount)
    device.submit(.readCount)
    device.machine.sendSync(Self.request, now: device.now)
    device.drain()
    #expect(device.drainSent().map(\.header.channel) == [.att])
    device.receive(ScriptedDevice.pdu([0x0B, 0, 0], sequence: 1, ack: 2))
    #expect(device.drainSent().filter { $0.header.type == .data }.map(\.header.channel) == [.att, .link])
  }

  @Test func `a SYNCED that nobody asked for, or of another source, is counted and dropped`() {
    var device = ScriptedDevice.makeReady(features: Self.all)
    device.receive(Self.synced(source: 4, sequence: 1, ack: 1))
    device.machine.sendSync(Self.request, now: device.now)
    device.drain()
    device.receive(Self.synced(source: 5, sequence: 2, ack: 2))
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.sync.ignored == 2)
    device.receive(Self.synced(source: 4, sequence: 3, ack: 2))
    #expect(device.drainActions() == [.event(.sync(.synced(Self.answer)))])
  }

  @Test(arguments: [[9], [2, 0], [4, 1, 0], [4, 9, 1, 0, 0, 0, 2, 0, 0, 0], requestBytes] as [[UInt8]])
  func `a message of channel 0 that a host cannot use is acknowledged, counted and dropped`(payload: [UInt8])
  {
    var device = ScriptedDevice.makeReady(features: Self.all)
    device.receive(ScriptedDevice.frame(.data, channel: .link, sequence: 1, ack: 1, payload: payload))
    device.pass(.milliseconds(10))
    #expect(device.drainActions().isEmpty)
    #expect(device.drainSent().last?.header.ack == 2)
    #expect(device.machine.statistics.sync.malformed == 1)
  }

  @Test func `RESYNC and GONE are reported`() {
    var device = ScriptedDevice.makeReady(features: Self.all)
    device.receive(ScriptedDevice.frame(.data, channel: .link, sequence: 1, ack: 1, payload: [3]))
    device.receive(
      ScriptedDevice.frame(
        .data, channel: .link, sequence: 2, ack: 1, payload: [4, 2, 4, 3, 2, 1, 8, 0, 0, 0]))
    let key = NotificationKey(source: 0x0102_0304, id: 8)
    #expect(
      device.drainActions() == [.event(.sync(.resync)), .event(.sync(.gone(.evicted, key)))])
  }

  @Test func `without SYNC in use channel 0 is not served`() {
    var device = ScriptedDevice.makeReady(features: [.pipelinedRequests, .optionalKeys])
    device.receive(ScriptedDevice.frame(.data, channel: .link, sequence: 1, ack: 1, payload: [3]))
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.link.unknownChannel == 1)
  }

  @Test(arguments: [Duration.zero, .milliseconds(3)])
  func `a SYNC without an answer for 30 s ends the session, and the next one starts clean`(late: Duration) {
    var device = ScriptedDevice.makeReady(features: Self.all)
    device.machine.sendSync(Self.request, now: device.now)
    device.drain()
    for second in 1..<30 as Range<UInt8> {
      device.pass(.seconds(1))
      device.receive(ScriptedDevice.frame(.pong, ack: 2, payload: [second]))
    }
    #expect(device.drainActions().isEmpty)
    device.wake(after: .seconds(1) + late)
    #expect(device.drainActions() == [.ended(.transactionTimedOut)])
    let isSent = device.machine.sendSync(Self.request, now: device.now)
    #expect(!isSent)
  }

  @Test func `no TAKEN is lost while the device grants no credit`() {
    var device = ScriptedDevice.makeReady(features: Self.all.union(.keptActions), credit: 1)
    for press in 1...100 as ClosedRange<UInt32> {
      device.machine.sendTaken(source: 5, press: press, now: device.now)
    }
    device.drain()
    var (presses, ack): ([[UInt8]], UInt8) = ([], 1)
    while case let sent = device.drainSent().filter({ $0.header.type == .data }), !sent.isEmpty {
      presses += sent.map(\.payload)
      ack += UInt8(sent.count)
      device.receive(ScriptedDevice.frame(.ack, ack: ack, credit: 8))
    }
    #expect(presses == (1...100).map { SyncMessage.taken(source: 5, press: $0).encoded() })
  }

  @Test func `a closing session accepts no SYNC`() {
    var device = ScriptedDevice.makeReady(features: Self.all)
    device.close()
    let isSent = device.machine.sendSync(Self.request, now: device.now)
    #expect(!isSent)
  }

  @Test func `SYNCs beyond the limit are not accepted`() {
    var device = ScriptedDevice.makeReady(features: Self.all)
    let taken = (0..<6).map { _ in device.machine.sendSync(Self.request, now: device.now) }
    #expect(taken == [true, true, true, true, false, false])
  }
}
