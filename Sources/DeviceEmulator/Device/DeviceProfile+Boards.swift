/// Profiles of commercial boards, and of typical hardware faults.
extension DeviceProfile {
  /// A USB adapter that sends its buffer with the next USB frame, 1 ms later.
  private static func adapter(_ name: String, _ summary: String, packetBytes: Int) -> DeviceProfile {
    var profile = DeviceProfile(name: name, summary: summary)
    profile.wire = WireModel(
      pace: .paced(bitsPerSecond: 115_200), latency: .milliseconds(1), chunkLimitBytes: packetBytes)
    return profile
  }

  package static let cp2102 = adapter(
    "cp2102", "a UART behind a CP2102: the host's baud rate, 1 ms each way, packets of 64 bytes",
    packetBytes: 64)

  package static let ch340 = adapter(
    "ch340", "a UART behind a CH340: the host's baud rate, 1 ms each way, packets of 32 bytes",
    packetBytes: 32)

  /// A full-speed packet has 64 bytes, of which an FTDI chip uses two for its status.
  package static let ftdi = {
    var profile = adapter(
      "ftdi", "a UART behind an FT232: towards the host, less than 62 bytes wait up to 16 ms for more",
      packetBytes: 64)
    profile.wire.gathering = .init(packetBytes: 62, timer: .milliseconds(16))
    return profile
  }()

  /// Source: ESP-IDF's `usb_serial_jtag` driver, which drops bytes that the host has not read after
  /// 50 ms.
  package static let usbSerialJTAG = {
    var profile = DeviceProfile(
      name: "usb-serial-jtag",
      summary:
        "USB of the chip itself: 64-byte packets, the port disappears at each restart, unread writes are cut")
    profile.wire = WireModel(
      pace: .fixed(bitsPerSecond: 8_000_000), latency: .microseconds(125), chunkLimitBytes: 64)
    profile.wire.writeTimeout = .milliseconds(50)
    profile.vanishesAtReset = true
    profile.resetWiring = .usbSerialJTAG
    return profile
  }()

  package static let resetOnOpen = {
    var profile = adapter(
      "reset-on-open", "as cp2102, but it restarts when the port is opened", packetBytes: 64)
    profile.resetsOnOpen = true
    return profile
  }()

  package static let bareEnable = {
    var profile = adapter(
      "bare-enable", "as cp2102, but EN has no capacitor: download mode needs DTR and RTS in one step",
      packetBytes: 64)
    profile.resetWiring = .bare
    return profile
  }()

  package static let brownout = {
    var profile = adapter(
      "brownout", "as cp2102, but its supply fails 0.2 to 2 s after each boot", packetBytes: 64)
    profile.brownoutAfter = .milliseconds(200) ... .milliseconds(2000)
    return profile
  }()

  /// A page of 4096 bytes holds about 32 notifications.
  package static let slowFlash = {
    var profile = DeviceProfile(
      name: "slow-flash",
      summary: "as default, but for 85 to 150 ms after each 32nd notification nothing runs")
    profile.flash = FlashModel(writesPerErase: 32, eraseTime: .milliseconds(85) ... .milliseconds(150))
    return profile
  }()

  /// Boards whose Bluetooth stack has a server of its own.
  private static func stacked(
    _ name: String, _ summary: String, firstHandle: UInt16, _ traits: ServerTraits
  ) -> DeviceProfile {
    var profile = DeviceProfile(name: name, summary: summary)
    profile.stack = StackServer(firstHandle: firstHandle, traits: traits)
    return profile
  }

  package static let stackNimBLE = stacked(
    "stack-nimble", "as default, but NimBLE serves the attributes of connections, from handle 14",
    firstHandle: 14, .nimble)

  /// Source: ESP-IDF's logs of `gatts_demo`: the first service is at handle 40.
  package static let stackBluedroid = stacked(
    "stack-bluedroid", "as default, but Bluedroid serves the attributes of connections, from handle 40",
    firstHandle: 40, .bluedroid)

  package static let stackEager = {
    var traits = ServerTraits.nimble
    traits.notifiesInsideWrite = true
    return stacked(
      "stack-eager", "as stack-nimble, but it notifies from within the handler of a write, against ATT-18",
      firstHandle: 14, traits)
  }()
}
