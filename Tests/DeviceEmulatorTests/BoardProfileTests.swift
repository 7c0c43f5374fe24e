import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct BoardProfileTests {
  /// How many bytes arrive together, in order, when the device sends `count` bytes at once at
  /// 921600 baud.
  private func packets(_ profile: DeviceProfile, _ count: Int) -> [(moment: Instant, count: Int)] {
    var wire = PacedWire(model: profile.wire)
    wire.setBitsPerSecond(921_600)
    wire.send([UInt8](repeating: 7, count: count), .toHost, now: .zero)
    var found: [(Instant, Int)] = []
    while let deadline = wire.nextDeadline {
      while let bytes = wire.nextArrival(.toHost, now: deadline) { found.append((deadline, bytes.count)) }
    }
    return found
  }

  @Test func `every profile has a unique name`() {
    #expect(Set(DeviceProfile.all.map(\.name)).count == DeviceProfile.all.count)
    for profile in DeviceProfile.all { #expect(DeviceProfile.named(profile.name) == profile) }
  }

  @Test(arguments: [(DeviceProfile.cp2102, [64, 64, 22]), (.ch340, [32, 32, 32, 32, 22])])
  func `a UART behind an adapter runs at the host's rate, in its packets, 1 ms later`(
    profile: DeviceProfile, sizes: [Int]
  ) {
    let found = packets(profile, 150)
    #expect(found.map(\.count) == sizes)
    #expect(found.last?.moment == .ms(1) + PacedWire.lineTime(ofBytes: 150, at: 921_600))
  }

  @Test func `an FTDI chip sends full packets at once and keeps the rest for 16 ms`() {
    let found = packets(.ftdi, 150)
    #expect(found.map(\.count) == [62, 62, 26])
    let at = { (bytes: Int) in PacedWire.lineTime(ofBytes: bytes, at: 921_600) + .milliseconds(1) }
    #expect(found.map(\.moment) == [.zero + at(62), .zero + at(124), .ms(16) + at(125)])
  }

  @Test func `bytes that arrive in time fill an FTDI packet, later ones start another`() {
    var wire = PacedWire(model: DeviceProfile.ftdi.wire)
    wire.setBitsPerSecond(1_000_000)
    wire.send([UInt8](repeating: 1, count: 30), .toHost, now: .zero)
    wire.send([UInt8](repeating: 2, count: 32), .toHost, now: .ms(10))
    #expect(wire.nextArrival(.toHost, now: Instant(nanoseconds: 11_319_999)) == nil)
    #expect(wire.nextArrival(.toHost, now: Instant(nanoseconds: 11_320_000))?.count == 62)
    wire.send([3], .toHost, now: .ms(20))
    wire.send([4], .toHost, now: .ms(40))
    #expect(wire.nextArrival(.toHost, now: .ms(40)) == [3])
    #expect(wire.queuedBytes(.toHost) == 1)
    #expect(wire.nextArrival(.toHost, now: .ms(58)) == [4])
    #expect(wire.queuedBytes(.toHost) == 0)
  }

  @Test func `an FTDI chip does not delay bytes towards the device`() {
    var wire = PacedWire(model: DeviceProfile.ftdi.wire)
    wire.setBitsPerSecond(1_000_000)
    wire.send([1, 2], .toDevice, now: .zero)
    #expect(wire.nextDeadline == Instant(nanoseconds: 1_020_000))
  }

  @Test func `a small answer over FTDI takes 16 ms longer`() throws {
    func answerTime(_ profile: DeviceProfile) throws -> Duration {
      var rig = try LineRig(profile)
      let session = try rig.openSession()
      let start = rig.now
      rig.send(.ping, session: session)
      rig.advance(by: .milliseconds(100))
      return try #require(rig.arrivals.first).moment - start
    }
    let difference = try answerTime(.ftdi) - answerTime(.cp2102)
    #expect(difference > .milliseconds(14) && difference <= .milliseconds(16))
  }

  @Test func `the host cannot set the rate of native USB`() throws {
    var rig = try LineRig(.usbSerialJTAG)
    rig.wired.setBitsPerSecond(9600)
    #expect(rig.wired.wire.bitsPerSecond == 8_000_000)
    rig.advance(by: .seconds(1))
    #expect(packets(.usbSerialJTAG, 150).map(\.count) == [64, 64, 22])
  }

  @Test func `native USB disappears with the device and comes back with it`() throws {
    var rig = try LineRig(.usbSerialJTAG)
    _ = try rig.openSession()
    #expect(rig.wired.perform(.reboot(.panic), now: rig.now) == .done)
    #expect(!rig.wired.isPresent)
    rig.send([1, 2, 3])
    rig.advance(by: .milliseconds(299))
    #expect(!rig.wired.isPresent)
    rig.advance(by: .milliseconds(101))
    #expect(rig.wired.isPresent)
    // The output of ROM and boot loader is lost.
    #expect(rig.frames.first?.header.type == .hello)
    #expect(rig.boots == 2)
    #expect(!String(decoding: rig.arrivals.flatMap(\.bytes), as: UTF8.self).contains("rst:"))
  }

  @Test func `native USB cuts a write that the host does not read in 50 ms, and begins the next with a zero`()
    throws
  {
    var rig = try LineRig(.usbSerialJTAG)
    let session = try rig.openSession()
    _ = rig.wired.perform(.log(String(repeating: "x", count: 200)), now: rig.now)
    rig.advance(by: .milliseconds(60), isReading: false)
    _ = rig.wired.perform(.log("lost"), now: rig.now)
    #expect(rig.wired.cutBytes > 140)
    #expect(rig.wired.statistics.cutBytes == rig.wired.cutBytes)
    rig.read()
    #expect(rig.arrivals.flatMap(\.bytes).count == 64)
    _ = rig.wired.perform(.log("kept"), now: rig.now)
    rig.advance(by: .milliseconds(5))
    let later = rig.arrivals.flatMap(\.bytes).dropFirst(64)
    #expect(later.first == 0)
    #expect(String(decoding: later, as: UTF8.self).contains("kept"))
    rig.send(.ping, session: session)
    rig.advance(by: .milliseconds(5))
    #expect(rig.frames.last?.header.type == .pong)
  }

  @Test func `a board that resets on open does so at each open`() throws {
    var rig = try LineRig(.resetOnOpen)
    rig.advance(by: .seconds(1))
    for count in UInt32(2)...3 {
      rig.wired.noticeHost(isPresent: true, now: rig.now)
      rig.advance(by: .seconds(1))
      #expect(rig.boots == count)
      rig.wired.noticeHost(isPresent: false, now: rig.now)
      rig.advance(by: .seconds(1))
      #expect(rig.boots == count)
    }
  }

  @Test func `a brown-out happens 0.2 to 2 s after each boot, indefinitely`() throws {
    var rig = try LineRig(.brownout)
    rig.advance(by: .seconds(120))
    // Between one boot per 2.3 s and one per 0.5 s.
    #expect((53...241).contains(Int(rig.boots)))
    #expect(rig.wired.device.link.boot.reason == .brownout)
    var quick = try LineRig(.brownout)
    quick.advance(by: .milliseconds(199))
    #expect(!quick.wired.device.isRestarting)
    quick.advance(by: .milliseconds(1801))
    #expect(quick.boots == 2 || quick.wired.device.isRestarting)
  }

  @Test func `a supply also fails when the timer fires late`() {
    var device = EmulatedDevice(profile: .brownout, seed: 1, now: .zero)
    device.handleTimeout(now: .ms(3000))
    #expect(device.isRestarting)
  }

  @Test func `no timer of the link runs while a page is erased`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession()
    rig.device.flash = .erasing(until: .ms(6000), held: [])
    rig.device.handleTimeout(now: .ms(5500))
    #expect(rig.device.statistics.session == session)
  }

  @Test func `work that became due while a page was erased is done afterwards`() throws {
    var rig = DeviceRig()
    _ = try rig.openSession()
    rig.device.flash = .erasing(until: .ms(1500), held: [])
    rig.now = .ms(1500)
    rig.device.handleTimeout(now: rig.now)
    rig.send([])
    #expect(rig.frameTypes() == [.ping])
  }

  @Test func `a page erase blocks everything for 85 to 150 ms and loses nothing`() throws {
    var rig = try LineRig(.slowFlash)
    let session = try rig.openSession()
    rig.send(.data, channel: .att, session: session, payload: [0x02, 0x05, 0x02])
    for index in UInt8(1)...32 {
      rig.send(
        .data, channel: .att, session: session, sequence: index, ack: index,
        payload: [0x12, 0x06, 0x00] + Array(sampleJSON.utf8))
    }
    #expect(rig.wired.device.store.count == 32)
    rig.forget()
    let start = rig.now
    rig.send(.ping, session: session)
    #expect(rig.frames.isEmpty)
    rig.advance(by: .milliseconds(84))
    #expect(rig.frames.isEmpty)
    rig.advance(by: .milliseconds(70))
    #expect(rig.frames.map(\.header.type).contains(.pong))
    let answered = try #require(rig.arrivals.first).moment - start
    #expect(answered >= .milliseconds(85) && answered <= .milliseconds(150))
    #expect(rig.wired.statistics.deafBytes == 0)
  }

  @Test func `the bytes received during an erase are bounded`() throws {
    var device = EmulatedDevice(profile: .slowFlash, seed: 1, now: .zero)
    device.flash = .erasing(until: .ms(100), held: [])
    for _ in 0..<100 { device.receive([UInt8](repeating: 0x41, count: 1000), now: .ms(1)) }
    #expect(device.statistics.deafBytes == UInt64(100_000 - EmulatedDevice.heldInputLimitBytes))
    device.handleTimeout(now: .ms(100))
    #expect(device.statistics.textBytesReceived == UInt64(EmulatedDevice.heldInputLimitBytes))
  }

  @Test func `each erase comes after so many further writes`() throws {
    var profile = DeviceProfile.quiet
    profile.flash = FlashModel(writesPerErase: 2, eraseTime: .milliseconds(100) ... .milliseconds(100))
    var rig = DeviceRig(profile: profile)
    let session = try rig.openSession()
    rig.send(data: [0x02, 0x05, 0x02], sequence: 0, session: session)
    var erasing: [Bool] = []
    for sequence in UInt8(1)...6 {
      rig.send(data: [0x12, 0x06, 0x00] + Array(sampleJSON.utf8), sequence: sequence, session: session)
      erasing.append(rig.device.flash != .idle)
      // Late, as the timer of a busy computer.
      rig.advance(by: .milliseconds(150))
      #expect(rig.device.flash == .idle)
    }
    #expect(erasing == [false, true, false, true, false, true])
  }

  @Test func `an erase ends also when the timer fires late`() {
    var device = EmulatedDevice(profile: .slowFlash, seed: 1, now: .zero)
    device.flash = .erasing(until: .ms(100), held: [])
    device.handleTimeout(now: .ms(99))
    #expect(device.flash != .idle)
    device.handleTimeout(now: .ms(101))
    #expect(device.flash == .idle)
  }

  @Test func `received bytes are counted over all reads`() {
    var device = EmulatedDevice(profile: .quiet, seed: 1, now: .zero)
    for _ in 0..<3 { device.receive([0x41, 0x42], now: .zero) }
    #expect(device.statistics.bytesReceived == 6)
  }
}
