@_spi(Machines) import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct EmulatedDeviceTests {
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
      #expect(live.value.inbound.count <= 2 && live.value.outbound.count <= 8, "seed \(seed), step \(step)")
    }
  }
}
