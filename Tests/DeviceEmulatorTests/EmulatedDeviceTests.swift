import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct EmulatedDeviceTests {
  @Test func `a write is stored, and reading the count shows it`() throws {
    var rig = DeviceRig(profile: .quiet)
    let session = try rig.openSession()
    rig.send(data: [0x02, 0x05, 0x02], sequence: 0, session: session)
    rig.send(data: [0x12, 0x06, 0x00] + Array(sampleJSON.utf8), sequence: 1, session: session)
    rig.send(data: [0x0A, 0x03, 0x00], sequence: 2, session: session)
    #expect(rig.dataPayloads() == [[0x03, 0x05, 0x02], [0x13], [0x0B, 0x01, 0x00]])
    #expect(rig.device.store.items.map(\.json) == [Array(sampleJSON.utf8)])
  }

  /// All bytes are from Python's struct and zlib.crc32, none from the encoder that the device uses.
  @Test func `the bytes of a PING are answered by the bytes of a PONG`() throws {
    var device = EmulatedDevice(profile: .quiet, seed: 1, now: .zero)
    while device.nextTransmit() != nil {}
    // SYN with nonce 0x1122334455667788, FEATURES 1, LIMITS 64/8/517/65536.
    device.receive(
      bytes(
        """
        00 03 20 24 01 01 01 01 01 18 81 04 4e 42 4f 54 82 08 88 77 66 55 44 33 22 11 83 02 01 01 05 04 01 01 01 \
        07 06 08 40 08 05 02 01 02 01 05 f8 17 9c 07 00
        """), now: .zero)
    guard let synack = device.nextTransmit() else { return #expect(Bool(false), "no SYNACK") }
    // COBS code, type 3 from the device, the low byte of the length; session 60519 is the seed's.
    #expect(synack.prefix(2) == [0x00, 0x03])
    #expect(device.statistics.session == 60519)
    device.receive(bytes("00 02 80 01 03 67 ec 01 06 40 fe 4e 7e f7 00"), now: .zero)
    #expect(device.nextTransmit() == bytes("00 03 98 01 03 67 ec 01 02 10 05 7b f3 f9 e9 00"))
  }

  // MARK: Handling

  @Test func `all queued requests are handled in order, and the resulting notifications are sent after them`()
    throws
  {
    var rig = DeviceRig()
    let session = try rig.openSession()
    let write = [UInt8](bytes("12 0600")) + Array(sampleJSON.utf8)
    let stream = [bytes("02 0502"), bytes("12 0400 0100"), write, write, bytes("0a 0300")].enumerated()
      .flatMap {
        Frame(
          FrameHeader(
            type: .data, direction: .fromHost, channel: .att, session: session, sequence: UInt8($0.offset),
            credit: 64), payload: $0.element
        ).encoded()
      }
    rig.send(stream)
    #expect(
      rig.dataPayloads() == [
        bytes("03 0502"), bytes("13"), bytes("13"), bytes("13"), bytes("0b 0200"), bytes("1b 0300 0200"),
      ])
  }

  @Test func `a stalled application answers PING and nothing else until it continues`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession()
    rig.perform(.stall)
    rig.send(data: bytes("0a 0300"), sequence: 0, session: session)
    rig.send(.ping, session: session, credit: 64)
    let frames = rig.drainFrames()
    #expect(frames.types == [.pong])
    #expect(frames.first?.payload == [0])
    #expect(rig.device.statistics.isStalled)
    rig.perform(.resume)
    #expect(rig.dataPayloads() == [bytes("0b 0000")])
  }

  @Test func `a FIN does not overtake the writes before it`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession()
    let frames = [
      (FrameType.data, Channel.att, UInt8(0), bytes("02 0502")),
      (.data, .att, 1, bytes("12 0600") + Array(sampleJSON.utf8)), (.fin, .link, 0, []),
    ].flatMap { type, channel, sequence, payload in
      Frame(
        FrameHeader(
          type: type, direction: .fromHost, channel: channel, session: session, sequence: sequence, credit: 64
        ),
        payload: payload
      ).encoded()
    }
    rig.send(frames)
    #expect(rig.device.store.count == 1)
    #expect(rig.device.statistics.session == nil)
  }

  @Test func `DATA on an unserved channel is acknowledged and dropped`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession()
    for channel in UInt8(0)..<8 where channel != 4 {
      rig.send(
        .data, channel: Channel(rawValue: channel), session: session,
        sequence: channel > 4 ? channel - 1 : channel,
        credit: 64, payload: [0x0A, 0x03, 0x00])
    }
    rig.advance(by: .milliseconds(5))
    let frames = rig.drainFrames()
    #expect(Set(frames.types) == [.ack])
    #expect(frames.last?.sketch == .init(type: .ack, sequence: 0, ack: 7, credit: 16))
    #expect(rig.device.statistics.link.unserved == 7)
  }

  @Test func `no response is lost while the host grants no credit`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession(credit: 0)
    for sequence in UInt8(0)..<16 {
      rig.send(data: bytes("0a 0300"), sequence: sequence, credit: 0, session: session)
    }
    #expect(rig.dataPayloads().isEmpty)
    // Eight answers are queued, so eight requests wait.
    rig.send(.ack, session: session, credit: 16)
    #expect(rig.dataPayloads().count == 8)
    rig.send(.ack, session: session, ack: 8, credit: 16)
    #expect(rig.dataPayloads().count == 8)
  }

  // MARK: People

  @Test func `dismissing sends the count and the item`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession()
    rig.send(data: bytes("02 0502"), sequence: 0, session: session)
    rig.send(data: bytes("12 0400 0100"), sequence: 1, session: session)
    rig.send(data: bytes("12 0700 0100"), sequence: 2, session: session)
    rig.send(data: bytes("12 0600") + Array(sampleJSON.utf8), sequence: 3, session: session)
    _ = rig.drainFrames()
    #expect(rig.perform(.action(1, 2)) == .done)
    #expect(rig.perform(.dismiss(1)) == .done)
    #expect(
      rig.dataPayloads() == [
        bytes("1b 0600") + Array(#"{"ev":"action","item":1,"act":2}"#.utf8), bytes("1b 0300 0000"),
        bytes("1b 0600") + Array(#"{"ev":"dismissed","item":1}"#.utf8),
      ])
    #expect(rig.perform(.dismiss(1)) == .refused("there is no notification 1"))
    #expect(rig.perform(.action(1, 0)) == .refused("there is no notification 1"))
  }

  @Test func `other writers change only the count`() throws {
    var rig = DeviceRig()
    rig.perform(.fill(65_536))
    let session = try rig.openSession()
    rig.send(data: bytes("0a 0300"), sequence: 0, session: session)
    #expect(rig.dataPayloads() == [bytes("0b ffff")])
    #expect(rig.perform(.list(from: nil)) == .list([]))
    rig.perform(.clear)
    #expect(rig.device.store.count == 0)
  }

  // MARK: Restarts

  @Test func `a restart ends the session, empties the store, and sends HELLO with another boot id`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession()
    rig.send(data: bytes("02 0502"), sequence: 0, session: session)
    rig.send(data: bytes("12 0600") + Array(sampleJSON.utf8), sequence: 1, session: session)
    let before = rig.device.statistics
    _ = rig.drainFrames()
    rig.perform(.reboot(.panic))
    #expect(rig.perform(.dismiss(1)) == .refused("the device is restarting"))
    rig.send(.ping, session: session)
    #expect(rig.drainFrames().isEmpty)
    rig.advance(by: DeviceProfile.quiet.rebootTime)
    let frames = rig.drainFrames()
    #expect(frames.types == [.hello])
    let hello = try Hello(parsing: try #require(frames.first).payload)
    #expect(hello.bootID != before.bootID)
    #expect(hello.bootCount == 2)
    #expect(hello.resetReason == .panic)
    #expect(rig.device.store.count == 0)
    rig.send(.ping, session: session)
    #expect(rig.frameTypes() == [.rst])
    #expect(rig.device.statistics.deafBytes > 0)
  }

  @Test func `equal seeds make equal devices, other seeds different ones`() {
    let first = DeviceRig(seed: 5)
    let second = DeviceRig(seed: 5)
    #expect(first.device == second.device)
    #expect(DeviceRig(seed: 6).device.statistics.bootID != first.device.statistics.bootID)
  }

  // MARK: Console

  @Test func `ROM, boot loader and application print before the first HELLO`() throws {
    let rig = DeviceRig(profile: .standard)
    let text = String(decoding: rig.text, as: UTF8.self)
    #expect(
      text.hasPrefix("ESP-ROM:esp32c3-api1-20210207\r\nBuild:Feb  7 2021\r\nrst:0x1 (POWERON),boot:0xc"))
    #expect(text.hasSuffix("I (312) notibot: boot 1, link on UART0\r\n"))
    #expect(rig.frames.types == [.hello])
  }

  @Test func `a panic is printed before the restart`() {
    var rig = DeviceRig(profile: .standard)
    rig.text = []
    rig.perform(.reboot(.panic))
    #expect(String(decoding: rig.text, as: UTF8.self).hasPrefix("Guru Meditation Error: Core  0 panic'ed"))
  }

  @Test func `a log line is printed between frames, without zeros`() throws {
    var rig = DeviceRig()
    _ = try rig.openSession()
    rig.advance(by: .milliseconds(12))
    rig.perform(.log("half\u{0} past ten"))
    #expect(String(decoding: rig.text, as: UTF8.self) == "I (12) notibot: half past ten\r\n")
  }

  @Test func `a host that requests it gets log lines in frames`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession(features: [.framedLog])
    rig.perform(.log(String(repeating: "x", count: 600)))
    let frames = rig.drainFrames()
    #expect(rig.text.isEmpty)
    #expect(frames.types == [.udata, .udata])
    #expect(frames.map(\.payload.count).reduce(0, +) == "I (0) notibot: \r\n".utf8.count + 600)
    let expected = FrameHeader(type: .udata, direction: .fromDevice, channel: .log, session: session)
    #expect(frames.allSatisfy { $0.header == expected })
  }

  @Test func `console text for a line that does not drain is dropped and counted`() {
    var device = EmulatedDevice(profile: .quiet, seed: 1, now: .zero)
    while device.nextTransmit() != nil {}
    for _ in 0..<100 { _ = device.perform(.log(String(repeating: "x", count: 1000)), now: .zero) }
    #expect(device.console.count == EmulatedDevice.consoleLimitBytes)
    #expect(device.statistics.consoleDroppedBytes == UInt64(100 * 1017 - EmulatedDevice.consoleLimitBytes))
  }

  @Test func `a device with a log interval logs at that interval`() {
    var rig = DeviceRig(profile: .devkit)
    rig.text = []
    rig.advance(by: .milliseconds(3500))
    let lines = String(decoding: rig.text, as: UTF8.self).split(separator: "\r\n")
    #expect(lines.map { $0.prefix(9) } == ["I (1000) ", "I (2000) ", "I (3000) "])
  }

  @Test func `the periodic log line shows whether a host is connected`() throws {
    var rig = DeviceRig(profile: .devkit)
    rig.advance(by: .milliseconds(1500))
    #expect(String(decoding: rig.text, as: UTF8.self).contains("shown, no host"))
    _ = try rig.openSession()
    rig.advance(by: .seconds(1))
    #expect(String(decoding: rig.text, as: UTF8.self).contains("shown, host connected"))
  }

  // MARK: Noise

  @Test(arguments: [Int64(1510), 1511, 9000])
  func `half a frame becomes text 10 ms or more after a timer that fires late`(moment: Int64) {
    var device = EmulatedDevice(profile: .quiet, seed: 1, now: .zero)
    device.receive(Array(Frame.syn(1).encoded().dropLast(10)), now: .zero)
    device.handleTimeout(now: .ms(1500))
    device.handleTimeout(now: .ms(1509))
    #expect(device.statistics.textBytesReceived == 0)
    device.handleTimeout(now: .ms(moment))
    #expect(device.statistics.textBytesReceived > 0)
  }

  @Test func `half a frame becomes text after a second of silence`() {
    var rig = DeviceRig()
    rig.advance(by: .seconds(1))
    rig.send(Array(Frame.syn(1).encoded().dropLast(10)))
    rig.advance(by: .milliseconds(999))
    #expect(rig.device.statistics.textBytesReceived == 0)
    rig.advance(by: .milliseconds(20))
    #expect(rig.device.statistics.textBytesReceived > 0)
    rig.send(Frame.syn(2).encoded())
    #expect(rig.frameTypes().last == .synack)
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func `a device still works after a megabyte of noise`(seed: UInt64) throws {
    var rig = DeviceRig()
    var generator = SeededGenerator(seed: seed)
    let session = try rig.openSession()
    for _ in 0..<256 {
      rig.send((0..<4096).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
      rig.frames = []
    }
    rig.send([0])
    rig.send(data: bytes("0a 0300"), sequence: 0, session: session)
    #expect(rig.dataPayloads() == [bytes("0b 0000")], "seed \(seed)")
  }

  @Test(arguments: [UInt64(1), 2, 3, 4])
  func `random frames of the live session never trap and never grow a queue`(seed: UInt64) throws {
    var rig = DeviceRig(profile: .tiny, seed: seed)
    var generator = SeededGenerator(seed: seed)
    let session = try rig.openSession()
    for step in 0..<20_000 {
      let type = FrameType.allCases.randomElement(using: &generator) ?? .data
      guard type != .hello, type != .synack else { continue }
      let payload = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
        UInt8.random(in: 0...255, using: &generator)
      }
      rig.send(
        type == .fin ? .ping : type, channel: .att, session: rig.device.statistics.session ?? session,
        sequence: .random(in: 0...255, using: &generator), ack: .random(in: 0...255, using: &generator),
        credit: .random(in: 0...255, using: &generator), payload: payload)
      rig.frames = []
      if step % 100 == 0 { rig.advance(by: .milliseconds(300)) }
      guard case .live(let live) = rig.device.link.state else { continue }
      #expect(live.inbound.count <= 2 && live.outbound.count <= 8, "seed \(seed), step \(step)")
    }
  }
}
