import NotibotProtocol
import Testing

@testable import DeviceEmulator

struct PacedWireTests {
  private func makeWire(_ rate: UInt32 = 100_000, latency: Duration = .zero) -> PacedWire {
    PacedWire(model: WireModel(pace: .paced(bitsPerSecond: rate), latency: latency))
  }

  /// All arriving bytes and their times, at each deadline.
  private func arrivals(on wire: inout PacedWire, _ direction: PacedWire.Direction) -> [(Instant, [UInt8])] {
    var found: [(Instant, [UInt8])] = []
    while let deadline = wire.nextDeadline {
      while let bytes = wire.nextArrival(direction, now: deadline) { found.append((deadline, bytes)) }
    }
    return found
  }

  @Test func `a byte takes ten bits`() {
    #expect(PacedWire.lineTime(ofBytes: 1, at: 9600) == .nanoseconds(1_041_666))
    #expect(PacedWire.lineTime(ofBytes: 92_160, at: 921_600) == .seconds(1))
  }

  @Test func `bytes arrive when their last bit and the latency have elapsed`() {
    var wire = makeWire(latency: .milliseconds(16))
    wire.send([UInt8](repeating: 7, count: 10), .toDevice, now: .ms(100))
    #expect(wire.nextDeadline == .ms(117))
    #expect(wire.nextArrival(.toDevice, now: .ms(116)) == nil)
    #expect(wire.nextArrival(.toHost, now: .ms(117)) == nil)
    #expect(wire.nextArrival(.toDevice, now: .ms(117))?.count == 10)
    #expect(wire.nextDeadline == nil)
  }

  @Test func `bytes arrive in packets of at most 64`() {
    var wire = makeWire()
    let sent = (0..<150).map { UInt8($0) }
    wire.send(sent, .toHost, now: .zero)
    let found = arrivals(on: &wire, .toHost)
    #expect(found.map(\.1.count) == [64, 64, 22])
    #expect(found.map(\.0) == [Instant(nanoseconds: 6_400_000), .init(nanoseconds: 12_800_000), .ms(15)])
    #expect(found.flatMap(\.1) == sent)
  }

  @Test func `bytes sent later leave after those before them`() {
    var wire = makeWire()
    wire.send([UInt8](repeating: 1, count: 50), .toHost, now: .zero)
    wire.send([UInt8](repeating: 2, count: 50), .toHost, now: .ms(1))
    #expect(arrivals(on: &wire, .toHost).map(\.0) == [.ms(5), .ms(10)])
  }

  @Test func `a second of line time carries the line's bytes and no more`() {
    var wire = makeWire(921_600)
    wire.send([UInt8](repeating: 1, count: 200_000), .toDevice, now: .zero)
    #expect(wire.nextArrival(.toDevice, now: .ms(1000)).map(\.count) == 92_160)
    #expect(wire.queuedBytes(.toDevice) == 107_840)
  }

  @Test func `both directions run at once`() {
    var wire = makeWire()
    wire.send([1], .toHost, now: .zero)
    wire.send([2], .toDevice, now: .zero)
    let moment = Instant(nanoseconds: 100_000)
    #expect(wire.nextArrival(.toHost, now: moment) == [1])
    #expect(wire.nextArrival(.toDevice, now: moment) == [2])
  }

  @Test func `a new rate applies to bytes sent from then on`() {
    var wire = makeWire()
    wire.send([UInt8](repeating: 1, count: 50), .toHost, now: .zero)
    wire.setBitsPerSecond(10_000)
    wire.send([UInt8](repeating: 2, count: 5), .toHost, now: .zero)
    #expect(arrivals(on: &wire, .toHost).map(\.0) == [.ms(5), .ms(10)])
  }

  @Test(arguments: [UInt32(0), 1, 299])
  func `a rate of 0 (hang up) runs at 300 baud`(rate: UInt32) {
    var wire = makeWire()
    wire.setBitsPerSecond(rate)
    wire.send([1, 2, 3], .toHost, now: .zero)
    #expect(wire.nextDeadline == .ms(100))
  }

  @Test func `an unpaced line has latency only, and cannot be paced`() {
    var wire = PacedWire(model: WireModel(pace: .unpaced, latency: .milliseconds(3)))
    wire.setBitsPerSecond(300)
    wire.send([UInt8](repeating: 1, count: 5000), .toHost, now: .zero)
    #expect(wire.nextArrival(.toHost, now: .ms(3))?.count == 5000)
  }

  @Test func `pulling the plug loses the bytes in flight in that direction`() {
    var wire = makeWire()
    wire.send([1], .toHost, now: .zero)
    wire.send([2], .toDevice, now: .zero)
    wire.discard(.toHost, now: .zero)
    #expect(arrivals(on: &wire, .toDevice).map(\.1) == [[2]])
    #expect(wire.queuedBytes(.toHost) == 0)
  }

  @Test func `unsent bytes are those that have not left`() {
    var wire = makeWire()
    wire.send([UInt8](repeating: 1, count: 100), .toHost, now: .zero)
    #expect(wire.unsentBytes(.toHost, now: .zero) == 100)
    #expect(wire.unsentBytes(.toHost, now: .ms(4)) == 60)
    #expect(wire.unsentBytes(.toHost, now: .ms(11)) == 0)
    #expect(wire.unsentBytes(.toDevice, now: .zero) == 0)
  }
}

struct WiredDeviceTests {
  /// Lets time pass; returns the bytes that a host could read, and when.
  private func run(_ wired: inout WiredDevice, until end: Instant) -> [(Instant, Int)] {
    var found: [(Instant, Int)] = []
    var now = Instant.zero
    while true {
      while let bytes = wired.nextTransmit() { found.append((now, bytes.count)) }
      guard let deadline = wired.nextDeadline, deadline <= end else { return found }
      now = max(now, deadline)
      wired.handleTimeout(now: now)
    }
  }

  @Test func `boot text is printed at the rate of the line`() {
    var wired = WiredDevice(profile: .devkit, seed: 1, now: .zero)
    let found = run(&wired, until: .ms(190))
    let bytes = found.map(\.1).reduce(0, +)
    var direct = WiredDevice(profile: .standard, seed: 1, now: .zero)
    guard let expected = direct.nextTransmit() else {
      return #expect(Bool(false), "no boot text")
    }
    #expect(bytes == expected.count)
    #expect(found.last?.0 == .ms(16) + PacedWire.lineTime(ofBytes: bytes, at: 115_200))
  }

  @Test func `a device on a slow line makes a frame only when there is room for it`() {
    var profile = DeviceProfile.quiet
    profile.wire = WireModel(pace: .paced(bitsPerSecond: 9600))
    var wired = WiredDevice(profile: profile, seed: 1, now: .zero)
    for index in UInt64(0)..<10 {
      let syn = Frame(
        FrameHeader(type: .syn, direction: .fromHost),
        payload: Syn(nonce: index, versions: .init(lowest: 9, highest: 9)).encoded())
      wired.receive(syn.encoded(), now: .zero)
    }
    _ = run(&wired, until: .ms(600))
    #expect(wired.wire.unsentBytes(.toHost, now: .ms(600)) < WiredDevice.transmitBufferBytes + 100)
  }

  @Test func `a line that holds too many bytes from the host reports it`() {
    var wired = WiredDevice(profile: .devkit, seed: 1, now: .zero)
    wired.receive([UInt8](repeating: 0x41, count: WiredDevice.receiveBufferBytes), now: .zero)
    #expect(wired.isFull)
    wired.handleTimeout(now: .ms(1000))
    #expect(!wired.isFull)
  }

  @Test func `a direct line passes bytes without delay`() {
    var wired = WiredDevice(profile: .quiet, seed: 1, now: .zero)
    while wired.nextTransmit() != nil {}
    wired.receive(Frame.syn(7).encoded(), now: .zero)
    #expect(wired.nextTransmit() != nil)
  }
}
