import NotibotProtocol
import Testing

@testable import NotibotHost

/// A SYN was sent, or the link is closed. Source: PROTOCOL.md LNK-10...LNK-21.
struct LinkOpeningTests {
  private func patient() -> HostConfiguration {
    var configuration = HostConfiguration()
    configuration.connectTimeout = nil
    return configuration
  }

  @Test func `the same SYN is sent after 250 ms, then every 500 ms, from 10 s on every 2 s`() {
    var device = ScriptedDevice.makeOpening(patient())
    let first = device.drainSent()
    var moments: [Int64] = []
    while device.now < Instant(nanoseconds: 15_000_000_000) {
      device.pass(.milliseconds(1))
      for frame in device.drainSent() {
        #expect(frame == first[0])
        moments.append(device.now.nanoseconds / 1_000_000)
      }
    }
    let halfSeconds = stride(from: Int64(250), through: 10_250, by: 500)
    #expect(moments == Array(halfSeconds) + [12_250, 14_250])
  }

  @Test func `a SYN that answers a HELLO after exactly 10 s is repeated after 2 s`() {
    var device = ScriptedDevice.makeOpening(patient())
    device.pass(.seconds(10))
    _ = device.drainSent()
    device.receive(ScriptedDevice.hello())
    #expect(device.drainSent().count == 1)
    device.pass(.milliseconds(1999))
    #expect(device.drainSent().isEmpty)
    device.pass(.milliseconds(1))
    #expect(device.drainSent().count == 1)
  }

  @Test func `a SYN has the host's identity and receive limits`() throws {
    var configuration = patient()
    configuration.source = 0xC0FF_EE01
    configuration.run = 3
    let device = ScriptedDevice.makeOpening(configuration)
    let syn = try Syn(parsing: device.sent[0].payload)
    #expect(syn.versions == VersionRange(lowest: 1, highest: 1))
    #expect(syn.features == [.pipelinedRequests, .optionalKeys, .sync, .framedLog, .keptActions])
    #expect(syn.limits == LinkLimits(frames: 64, requests: 32, mtu: 517, bytes: 65_536))
    #expect(syn.source == 0xC0FF_EE01)
    #expect(syn.run == 3)
    #expect(device.sent[0].header.session == 0)
  }

  @Test func `each attempt has a nonce of its own`() {
    var device = ScriptedDevice.makeOpening()
    let first = device.nonce()
    device.pass(.seconds(2))
    device.connect()
    #expect(device.nonce() != first)
  }

  @Test func `a HELLO is answered by the same SYN at once`() {
    var device = ScriptedDevice.makeOpening()
    let syn = device.drainSent()
    device.receive(ScriptedDevice.hello())
    #expect(device.drainSent() == syn)
  }

  @Test func `a SYNACK with another nonce opens nothing`() {
    var device = ScriptedDevice.makeOpening()
    device.receive(ScriptedDevice.synack(nonce: device.nonce() ^ 1))
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.link.foreign == 1)
    #expect(device.machine.statistics.link.sessions == 0)
  }

  @Test func `a SYNACK of a version that was not offered is malformed`() {
    var device = ScriptedDevice.makeOpening()
    device.receive(ScriptedDevice.synack(nonce: device.nonce(), version: 2))
    #expect(device.machine.statistics.link.malformed == 1)
    #expect(device.machine.statistics.link.sessions == 0)
  }

  @Test func `a SYNACK without a session is malformed`() {
    var device = ScriptedDevice.makeOpening()
    device.receive(ScriptedDevice.synack(nonce: device.nonce(), session: 0))
    #expect(device.machine.statistics.link.malformed == 1)
  }

  @Test(arguments: [FrameType.hello, .synack, .rst])
  func `bad TLVs are counted and dropped`(type: FrameType) {
    var device = ScriptedDevice.makeOpening()
    _ = device.drainSent()
    let header = FrameHeader(type: type, direction: .fromDevice)
    device.receive(Frame(header, payload: [0x81, 4, 0x4E, 0x42]))
    #expect(device.drainSent().isEmpty)
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.link.malformed == 1)
  }

  @Test func `an RST with the nonce ends the attempt with its reason`() {
    var device = ScriptedDevice.makeOpening()
    device.receive(ScriptedDevice.rst(.noCommonVersion, nonce: device.nonce()))
    let versions = VersionRange(lowest: 1, highest: 1)
    #expect(device.drainActions() == [.ended(.refused(reason: .noCommonVersion, versions: versions))])
    #expect(device.machine.nextDeadline == nil)
  }

  @Test func `any other RST changes nothing while a SYN is pending`() {
    var device = ScriptedDevice.makeOpening()
    device.receive(ScriptedDevice.rst(.malformed, nonce: device.nonce() ^ 1), ScriptedDevice.rst(.noSession))
    #expect(device.drainActions().isEmpty)
  }

  @Test(arguments: [FrameType.data, .ack, .nak, .ping, .pong, .fin, .udata])
  func `a frame of some session is foreign while a SYN is pending`(type: FrameType) {
    var device = ScriptedDevice.makeOpening()
    _ = device.drainSent()
    device.receive(ScriptedDevice.frame(type, ack: 0, payload: [0]))
    #expect(device.drainSent().isEmpty)
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.link.foreign == 1)
  }

  @Test(arguments: FrameType.allCases.filter { $0.isPossible(.fromDevice) })
  func `while closed, all frames except a sessionless log frame are ignored`(type: FrameType) {
    var device = ScriptedDevice()
    device.receive(ScriptedDevice.frame(type, channel: .log, session: 1, ack: 0, payload: [0x41]))
    #expect(device.drainActions().isEmpty)
    #expect(device.sent.isEmpty)
    #expect(device.machine.statistics.link.foreign == 1)
  }

  @Test func `framed console text needs no session`() {
    var device = ScriptedDevice()
    let frame = ScriptedDevice.frame(.udata, channel: .log, session: 0, ack: 0, payload: [0x41])
    device.receive(frame)
    #expect(device.drainActions() == [.event(.log([0x41]))])
    device.connect()
    device.receive(frame)
    #expect(device.drainActions() == [.event(.log([0x41]))])
  }

  @Test func `unordered data on an unserved channel is dropped and counted`() {
    var device = ScriptedDevice()
    device.receive(ScriptedDevice.frame(.udata, channel: .rig, session: 0, ack: 0, payload: [0x41]))
    #expect(device.drainActions().isEmpty)
    #expect(device.machine.statistics.link.unknownChannel == 1)
  }

  @Test func `closing while a SYN is pending ends the attempt`() {
    var device = ScriptedDevice.makeOpening()
    _ = device.drainSent()
    device.close()
    #expect(device.drainSent().isEmpty)
    #expect(device.drainActions() == [.ended(.closed)])
  }

  @Test func `closing and timeouts do not affect a closed machine`() {
    var device = ScriptedDevice()
    device.close()
    device.machine.handleTimeout(now: device.now)
    device.machine.receiveEndOfStream(now: device.now)
    device.drain()
    #expect(device.drainActions().isEmpty)
    #expect(device.sent.isEmpty)
    #expect(device.machine.nextDeadline == nil)
  }

  @Test func `a port that ends while a SYN is pending ends the attempt`() {
    var device = ScriptedDevice.makeOpening()
    device.machine.receiveEndOfStream(now: device.now)
    device.drain()
    #expect(device.drainActions() == [.ended(.portGone)])
  }

  @Test func `a SYN is repeated, and the attempt ends, even if the timer fires late`() {
    var device = ScriptedDevice.makeOpening()
    let syn = device.drainSent()
    device.machine.handleTimeout(now: .zero + .milliseconds(300))
    device.drain()
    #expect(device.drainSent() == syn)
    device.machine.handleTimeout(now: .zero + .milliseconds(2500))
    device.drain()
    #expect(device.drainActions() == [.ended(.noAnswer)])
  }

  @Test func `a session that is not open accepts no payload`() {
    var link = LinkSession(configuration: HostConfiguration())
    #expect(link.room == 0)
    let isTaken = link.send([0x0A, 3, 0])
    #expect(!isTaken)
    link.open(nonce: 1, clock: nil, limit: nil, now: .zero)
    #expect(link.room == 0)
  }

  @Test func `connecting twice sends one SYN`() {
    var device = ScriptedDevice.makeOpening()
    device.connect()
    #expect(device.sent.count == 1)
  }

  @Test func `requests wait for the session, and fail as not sent when none opens`() {
    var device = ScriptedDevice.makeOpening()
    let id = device.submit(.readCount)
    #expect(device.drainActions().isEmpty)
    device.pass(.seconds(2))
    #expect(device.drainActions() == [.completed(id, .failed(.notSent(.noAnswer))), .ended(.noAnswer)])
  }

  @Test func `a request without any attempt to connect fails at once`() {
    var device = ScriptedDevice()
    let id = device.submit(.readCount)
    #expect(device.drainActions() == [.completed(id, .failed(.notSent(.closed)))])
  }

  @Test func `a later session can have more time than the first`() {
    var device = ScriptedDevice.makeReady()
    device.receive(ScriptedDevice.hello(bootID: 2))
    _ = device.drainActions()
    device.connect()
    device.pass(.milliseconds(9_999))
    #expect(device.drainActions().isEmpty)
    device.pass(.milliseconds(1))
    #expect(device.drainActions() == [.ended(.noAnswer)])
  }
}
