import NotibotProtocol
import Testing

@testable import DeviceEmulator

/// The deadlines of a device, at their moment and also when the timer fires late, its limits, and
/// its counters.
struct EmulatedDeviceLimitsTests {
  private static func makeDevice(_ profile: DeviceProfile = .quiet) -> EmulatedDevice {
    var device = EmulatedDevice(profile: profile, seed: 1, now: .zero)
    while device.nextTransmit() != nil {}
    return device
  }

  private static func makeErasing(until: Instant) -> EmulatedDevice {
    var device = makeDevice()
    device.flash = .erasing(until: until, held: [])
    return device
  }

  // MARK: Deadlines

  @Test(arguments: [Int64(300), 301, 5000])
  func `a device boots 300 ms after a restart, or when its timer fires`(moment: Int64) {
    var device = Self.makeDevice()
    device.restart(.panic)
    #expect(device.nextDeadline == .ms(300))
    device.handleTimeout(now: .ms(299))
    #expect(device.isRestarting)
    device.handleTimeout(now: .ms(moment))
    #expect(device.state == .running)
  }

  @Test(arguments: [Int64(700), 701, 5000])
  func `a supply that fails restarts the device at its time, or when its timer fires`(moment: Int64) {
    var profile = DeviceProfile.quiet
    profile.brownoutAfter = .milliseconds(700) ... .milliseconds(700)
    var device = Self.makeDevice(profile)
    device.handleTimeout(now: .ms(699))
    #expect(device.state == .running)
    device.handleTimeout(now: .ms(moment))
    #expect(device.state == .restarting(until: .ms(moment + 300), .brownout))
  }

  @Test(arguments: [Int64(90), 91, 5000])
  func `an erase ends at its time, or when the timer fires, and the kept bytes are handled`(moment: Int64) {
    var device = Self.makeErasing(until: .ms(90))
    device.receive(Frame.syn(1).encoded(), now: .ms(5))
    device.handleTimeout(now: .ms(89))
    #expect(device.nextTransmit() == nil)
    device.handleTimeout(now: .ms(moment))
    #expect(device.flash == .idle)
    #expect(device.nextTransmit() != nil)
  }

  @Test func `the first periodic line comes an interval after the boot, then each interval`() {
    var device = Self.makeDevice(.devkit)
    #expect(device.chatterDeadline == .ms(1000))
    device.handleTimeout(now: .ms(999))
    #expect(device.console.isEmpty)
    device.handleTimeout(now: .ms(1200))
    #expect(!device.console.isEmpty)
    #expect(device.chatterDeadline == .ms(2200))
    #expect(device.uptimeMs == 1200)
  }

  @Test func `an erase takes its time from the request on, and each needs as many writes again`() {
    var profile = DeviceProfile.quiet
    profile.flash = FlashModel(writesPerErase: 2, eraseTime: .milliseconds(90) ... .milliseconds(90))
    var rig = SyncRig(profile: profile)
    rig.open()
    var erasesAfter: [Int] = []
    for count in 1...6 {
      _ = rig.write(Array(sampleJSON.utf8))
      if case .erasing(let until, _) = rig.device.flash {
        #expect(until == rig.rig.now + .milliseconds(90))
        erasesAfter.append(count)
      }
      _ = rig.advance(by: .milliseconds(100))
    }
    #expect(erasesAfter == [2, 4, 6])
    #expect(rig.device.eraseCount == 3)
  }

  // MARK: Limits and counters

  @Test func `8192 bytes are kept during an erase, and the others are counted as lost`() {
    var device = Self.makeErasing(until: .ms(90))
    let pieces = [(8000, 0), (192, 0), (1, 1), (3, 4)] as [(Int, UInt64)]
    for (length, lost) in pieces {
      device.receive([UInt8](repeating: 7, count: length), now: .zero)
      #expect(device.deafBytes == lost)
    }
    let kept = [UInt8](repeating: 7, count: EmulatedDevice.heldInputLimitBytes)
    #expect(device.flash == .erasing(until: .ms(90), held: kept))
    device = Self.makeErasing(until: .ms(90))
    device.receive([UInt8](repeating: 7, count: 8195), now: .zero)
    #expect(device.deafBytes == 3)
  }

  @Test func `bytes that a restarting device does not read are counted, in all pieces`() {
    var device = Self.makeDevice()
    device.restart(.panic)
    for count in [2, 3, 4] { device.receive([UInt8](repeating: 0, count: count), now: .ms(1)) }
    #expect(device.deafBytes == 9)
    #expect(device.bytesReceived == 9)
  }

  @Test func `the bytes of both directions are counted, in all pieces`() {
    var device = EmulatedDevice(profile: .quiet, seed: 1, now: .zero)
    var sent = 0
    for nonce in [UInt64(1), 2, 3] {
      device.receive(Frame.syn(nonce).encoded(), now: .zero)
      while let bytes = device.nextTransmit() { sent += bytes.count }
    }
    #expect(device.bytesSent == UInt64(sent))
    #expect(device.bytesReceived == UInt64(3 * Frame.syn(1).encoded().count))
  }

  @Test func `each boot counts one more, and each restart takes another id`() {
    var device = Self.makeDevice()
    var counts: [UInt32] = []
    for moment in [1000, 2000, 3000] as [Int64] {
      let id = device.link.boot.id
      device.restart(.panic)
      device.handleTimeout(now: .ms(moment))
      counts.append(device.link.boot.count)
      #expect(device.link.boot.id != id)
      #expect(device.link.boot.time == .ms(moment))
    }
    #expect(counts == [2, 3, 4])
  }

  @Test func `each release of EN is counted, and prints the loader's text only with a console`() {
    for profile in [DeviceProfile.quiet, .standard] {
      var device = Self.makeDevice(profile)
      for _ in 0..<3 {
        device.hold(now: .zero)
        device.release(into: .download, now: .zero)
      }
      #expect(device.lineResets == 3)
      #expect(device.state == .downloading)
      #expect(device.console.isEmpty == !profile.console.hasBootText)
    }
  }

  @Test func `a transmission takes frames up to its limit, and the rest follows in the next one`() throws {
    var rig = DeviceRig()
    let session = try rig.openSession()
    let ping = Frame.host(.ping, session: session).encoded()
    var lengths: [Int] = []
    rig.device.transmitLimitBytes = 1
    for _ in 0..<3 { rig.device.receive(ping, now: .zero) }
    while let bytes = rig.device.nextTransmit() { lengths.append(bytes.count) }
    #expect(lengths.count == 3)
    rig.device.transmitLimitBytes = lengths[0] + 1
    for _ in 0..<3 { rig.device.receive(ping, now: .zero) }
    #expect(rig.device.nextTransmit()?.count == 2 * lengths[0])
    #expect(rig.device.nextTransmit()?.count == lengths[0])
  }

  // MARK: The time of day

  @Test func `the clock counts whole seconds since it was set, up to the range of exp`() {
    let time = TimeOfDay(seconds: 1000, at: .ms(500))
    #expect(
      [500, 1499, 1500, 2499, 61_500].map { time.seconds(at: .ms($0)) } == [1000, 1000, 1001, 1001, 1061])
    #expect(TimeOfDay(seconds: .max, at: .zero).seconds(at: .ms(5000)) == .max)
    #expect(time.moment(of: 1002) == .ms(2500) && time.moment(of: 7) == .ms(500))
  }

  @Test func `a notification expires in the second of its time, and also when that is noticed later`() {
    for (moment, count) in [(Int64(1999), 1), (2000, 0), (5000, 0)] {
      var rig = SyncRig()
      rig.open(source: homeSource, clock: 1000)
      _ = rig.write(identified(id: 1, tail: #","exp":1002"#))
      rig.rig.device.handleTimeout(now: .ms(moment))
      #expect(rig.device.store.count == count, "\(moment)")
    }
  }
}
