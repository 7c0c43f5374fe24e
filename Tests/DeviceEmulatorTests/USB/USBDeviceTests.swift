import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

/// What a USB/IP host gets from a device after the import.
@Suite struct USBDeviceTests {
  // The 98 bytes of an ESP32-S3, as `lsusb -v` shows them.
  static let jtagConfiguration: [UInt8] = [
    0x09, 0x02, 0x62, 0x00, 0x03, 0x01, 0x00, 0xC0, 0xFA, 0x08, 0x0B, 0x00, 0x02, 0x02, 0x02, 0x00, 0x00,
    0x09, 0x04, 0x00, 0x00, 0x01, 0x02, 0x02, 0x00, 0x00, 0x05, 0x24, 0x00, 0x10, 0x01, 0x04, 0x24, 0x02,
    0x02, 0x05, 0x24, 0x06, 0x00, 0x01, 0x05, 0x24, 0x01, 0x03, 0x01, 0x07, 0x05, 0x82, 0x03, 0x40, 0x00,
    0x01, 0x09, 0x04, 0x01, 0x00, 0x02, 0x0A, 0x02, 0x00, 0x00, 0x07, 0x05, 0x01, 0x02, 0x40, 0x00, 0x01,
    0x07, 0x05, 0x81, 0x02, 0x40, 0x00, 0x01, 0x09, 0x04, 0x02, 0x00, 0x02, 0xFF, 0xFF, 0x01, 0x00, 0x07,
    0x05, 0x02, 0x02, 0x40, 0x00, 0x01, 0x07, 0x05, 0x83, 0x02, 0x40, 0x00, 0x01,
  ]
  static let jtagDevice: [UInt8] = [
    0x12, 0x01, 0x00, 0x02, 0xEF, 0x02, 0x01, 0x40, 0x3A, 0x30, 0x01, 0x10, 0x01, 0x01, 0x01, 0x02, 0x03,
    0x01,
  ]

  @Test func `the enumeration by Linux is answered byte for byte`() {
    var device = USBDevice.make()
    func string(_ text: String) -> [UInt8] {
      [UInt8(2 + 2 * text.utf8.count), 3] + text.utf8.flatMap { [$0, 0] }
    }
    let exchanges: [(request: [UInt8], answer: [UInt8]?)] = [
      (USBHost.get(1, 0x80, 6, 0x0100, 0, 64), Self.jtagDevice),
      (USBHost.get(1, 0x80, 6, 0x0100, 0, 18), Self.jtagDevice),
      (USBHost.get(1, 0x80, 6, 0x0600, 0, 10), nil),
      (USBHost.get(1, 0x80, 6, 0x0200, 0, 9), Array(Self.jtagConfiguration.prefix(9))),
      (USBHost.get(1, 0x80, 6, 0x0200, 0, 98), Self.jtagConfiguration),
      (USBHost.get(1, 0x80, 6, 0x0300, 0, 255), [4, 3, 9, 4]),
      (USBHost.get(1, 0x80, 6, 0x0302, 0x0409, 255), string("USB JTAG/serial debug unit\0")),
      (USBHost.get(1, 0x80, 6, 0x0301, 0x0409, 255), string("Espressif\0")),
      (USBHost.get(1, 0x80, 6, 0x0303, 0x0409, 255), string("24:6F:28:AA:BB:CC")),
      (USBHost.get(1, 0x80, 6, 0x0304, 0x0409, 255), nil),
      (USBHost.get(1, 0x80, 0, 0, 0, 2), [1, 0]),
    ]
    for (request, answer) in exchanges {
      let expected = answer.map { USBHost.done(1, actual: $0.count, data: $0) } ?? USBHost.stalled(1)
      #expect(device.actions(after: request) == [.write(expected)])
    }
    #expect(
      device.actions(after: USBHost.set(2, 0x00, 9, 1))
        == [.write(USBHost.done(2, actual: 0)), .notice(.attached)])
    #expect(
      device.actions(after: USBHost.set(3, 0x21, 0x20, 0, [0x80, 0x25, 0, 0, 0, 0, 8]))
        == [.write(USBHost.done(3, actual: 7)), .perform(.rate(9600))])
  }

  @Test(arguments: USBPersonality.allCases)
  func `the descriptors have the lengths that they state`(personality: USBPersonality) {
    let configuration = personality.configurationDescriptor
    #expect(Int(configuration[2]) + Int(configuration[3]) << 8 == configuration.count)
    var offset = 0
    var interfaces: [[UInt8]] = []
    while offset < configuration.count {
      if configuration[offset + 1] == 4 { interfaces.append(Array(configuration[offset + 5...offset + 7])) }
      offset += Int(configuration[offset])
    }
    #expect(offset == configuration.count)
    #expect(interfaces == personality.interfaces)
    #expect(configuration[4] == UInt8(interfaces.count))
    #expect(personality.deviceDescriptor.count == 18)
  }

  @Test func `bytes arrive in reads in the order of both, however they are cut`() {
    let stream =
      USBHost.set(1, 0, 9, 1) + USBHost.read(2) + USBHost.write(3, Array("abc".utf8))
      + USBHost.read(4, length: 2)
    let expected: [USBDevice.Action] = [
      .write(USBHost.done(1, actual: 0)), .notice(.attached), .write(USBHost.done(3, actual: 3)),
    ]
    for split in stride(from: 0, to: stream.count, by: 7) {
      var device = USBDevice.make()
      var actions = device.actions(after: Array(stream[..<split]))
      actions += device.actions(after: Array(stream[split...]))
      #expect(actions.filter { $0 != .deliver(Array("abc".utf8)) } == expected)
      #expect(actions.contains(.deliver(Array("abc".utf8))))
      device.send(Array("12345".utf8))
      #expect(device.pendingActions() == [.write(USBHost.done(2, actual: 5, data: Array("12345".utf8)))])
      device.send(Array("678".utf8))
      #expect(device.pendingActions() == [.write(USBHost.done(4, actual: 2, data: Array("67".utf8)))])
      #expect(device.actions(after: USBHost.read(5)) == [.write(USBHost.done(5, actual: 1, data: [0x38]))])
    }
  }

  @Test func `a pending read that is unlinked is never answered`() {
    var device = USBDevice.makeOpen()
    _ = device.actions(after: USBHost.read(10))
    #expect(
      device.actions(after: USBHost.unlink(11, 10)) == [.write(USBHost.unlinked(11, status: -104))])
    device.send([1])
    #expect(device.pendingActions() == [.write(USBHost.done(901, actual: 1, data: [1]))])
    #expect(device.actions(after: USBHost.unlink(12, 901)) == [.write(USBHost.unlinked(12, status: 0))])
    #expect(device.actions(after: USBHost.unlink(13, 7777)) == [.write(USBHost.unlinked(13, status: 0))])
  }

  @Test func `a write waits for room, and an unlinked one never reaches the device`() {
    var device = USBDevice.makeOpen()
    device.setRoom(false)
    #expect(device.actions(after: USBHost.write(20, [1, 2]) + USBHost.write(21, [3])) == [])
    #expect(device.actions(after: USBHost.unlink(22, 20)) == [.write(USBHost.unlinked(22, status: -104))])
    device.setRoom(true)
    #expect(device.nextAction() == .deliver([3]))
    // The driver reports after each delivery whether there is room for the next.
    #expect(device.nextAction() == .write(USBHost.done(21, actual: 1)))
    #expect(device.nextAction() == nil)
  }

  @Test func `the chip holds what no read takes, and is full at the size of its buffer`() {
    for (personality, size) in [(USBPersonality.jtag, 64), (.cp2102, 576), (.ftdi, 256)] {
      var device = USBDevice.makeOpen(personality)
      _ = device.actions(after: USBHost.unlink(1, 901) + USBHost.read(2, length: 64))
      device.send([UInt8](repeating: 7, count: 62))
      _ = device.pendingActions()
      device.send([UInt8](repeating: 8, count: size - 1))
      #expect(!device.isFull)
      device.send([9])
      #expect(device.isFull)
    }
  }

  @Test func `only the chip's own USB keeps bytes while the port is closed`() {
    for personality in USBPersonality.allCases {
      var device = USBDevice.make(personality)
      _ = device.actions(after: USBHost.set(1, 0, 9, 1))
      device.send([0x41])
      let actions = device.actions(after: USBHost.read(2))
      let kept = actions.contains(.write(USBHost.done(2, actual: 1, data: [0x41])))
      #expect(kept == (personality == .jtag))
    }
  }

  @Test func `a write to an interface that nothing listens to is taken, other endpoints stall`() {
    var device = USBDevice.makeOpen()
    #expect(
      device.actions(after: USBHost.write(1, endpoint: 2, [1, 2])) == [.write(USBHost.done(1, actual: 2))])
    #expect(device.actions(after: USBHost.read(2, endpoint: 3)) == [])
    #expect(device.actions(after: USBHost.read(3, endpoint: 4)) == [.write(USBHost.stalled(3))])
    #expect(device.actions(after: USBHost.write(4, endpoint: 3, [1])) == [.write(USBHost.stalled(4))])
  }

  @Test func `each packet of an FTDI chip begins with two bytes of status`() {
    var device = USBDevice.makeOpen(.ftdi)
    _ = device.actions(after: USBHost.read(1, length: 512))
    device.send(Array("abc".utf8))
    #expect(
      device.pendingActions()
        == [.write(USBHost.done(901, actual: 5, data: [0xB1, 0x60] + Array("abc".utf8)))])
    device.send([UInt8](repeating: 0x55, count: 63))
    let packets = [0xB1, 0x60] + [UInt8](repeating: 0x55, count: 62) + [0xB1, 0x60, 0x55]
    #expect(device.pendingActions() == [.write(USBHost.done(1, actual: 67, data: packets))])
  }

  // MARK: Bad input

  static let broken: [(name: String, bytes: [UInt8], error: String)] = [
    ("command", USBHost.be(9) + [UInt8](USBHost.read(1).dropFirst(4)), "unknown USB/IP command 9"),
    (
      "device", USBHost.submit(1, endpoint: 1, isIn: true, length: 1, device: 3),
      "a request for device 3, which is not the imported one"
    ),
    ("direction", replacing(12, with: USBHost.be(2)), "direction 2 is neither 0 nor 1"),
    ("endpoint", replacing(16, with: USBHost.be(16)), "endpoint 16 is above 15"),
    ("length", replacing(24, with: USBHost.be(65_537)), "a transfer of 65537 bytes; the limit is 65536"),
    ("negative length", replacing(24, with: USBHost.be(.max)), "a transfer of -1 bytes; the limit is 65536"),
    (
      "isochronous", replacing(32, with: USBHost.be(8)),
      "8 isochronous packets; the device has no such endpoint"
    ),
    ("repeated", USBHost.read(1) + USBHost.read(1), "sequence number 1 is in use"),
  ]

  private static func replacing(_ offset: Int, with bytes: [UInt8]) -> [UInt8] {
    var request = USBHost.read(1)
    request.replaceSubrange(offset..<offset + 4, with: bytes)
    return request
  }

  @Test(arguments: broken.indices)
  func `a request that breaks the protocol ends the connection`(index: Int) {
    let (name, bytes, error) = Self.broken[index]
    var device = USBDevice.makeOpen()
    #expect(device.actions(after: bytes) == [.fail(Failure(ofUSBIP: error))], "\(name)")
    device.send([1])
    #expect(device.actions(after: USBHost.read(2)) == [], "\(name)")
  }

  @Test func `pending transfers have a limit, in number and in bytes`() {
    var device = USBDevice.makeOpen()
    let reads = (2...USBDevice.pendingLimit).flatMap { USBHost.read(UInt32($0)) }
    #expect(device.actions(after: reads) == [])
    #expect(device.actions(after: USBHost.read(1)) == [.fail(Failure(ofUSBIP: "too many pending transfers"))])
    device = USBDevice.makeOpen()
    device.setRoom(false)
    let chunk = [UInt8](repeating: 0, count: USBIP.transferLimitBytes)
    let count = UInt32(USBDevice.pendingBytesLimit / chunk.count)
    for number in 1...count { #expect(device.actions(after: USBHost.write(number, chunk)) == []) }
    #expect(
      device.actions(after: USBHost.write(count + 1, [0])) == [
        .fail(Failure(ofUSBIP: "too many pending transfers"))
      ])
  }

  /// Half of the bytes are those of a valid request, so that the damage gets past its header.
  @Test func `random bytes never trap, and every answer has the length that it states`() {
    for seed in UInt64(0)..<10_000 {
      var random = SeededGenerator(seed: seed)
      var device = USBDevice.make(USBPersonality.allCases[Int(seed % 3)])
      for round in UInt32(1)...12 {
        var bytes =
          switch random.next() % 4 {
          case 0: (0..<Int(random.next() % 100)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
          case 1:
            USBHost.get(
              round, UInt8(truncatingIfNeeded: random.next()), UInt8(random.next() % 32),
              UInt16(truncatingIfNeeded: random.next()), 0, UInt16(random.next() % 300))
          case 2: USBHost.unlink(round, UInt32(random.next() % 12))
          default:
            USBHost.write(round, endpoint: UInt32(random.next() % 4), [1, 2, 3]) + USBHost.read(round + 100)
          }
        if random.next() % 3 == 0, !bytes.isEmpty {
          bytes[Int(random.next() % UInt64(bytes.count))] = UInt8(truncatingIfNeeded: random.next())
        }
        device.setRoom(random.next() % 2 == 0)
        device.send([UInt8](repeating: 1, count: Int(random.next() % 80)))
        for action in device.actions(after: bytes) {
          guard case .write(let answer) = action else { continue }
          let isRead = answer.count > USBIP.headerBytes
          let stated = answer[24..<28].reduce(0) { $0 << 8 | Int($1) }
          #expect(answer.count >= USBIP.headerBytes, "seed \(seed)")
          #expect(!isRead || answer.count - USBIP.headerBytes == stated, "seed \(seed)")
        }
      }
    }
  }
}
