package import NotibotProtocol

/// Whether the device can refuse a write. Source: PROTOCOL.md NTF-9.
package enum DeviceMode: String, Equatable, Sendable, CaseIterable {
  /// Answers according to PROTOCOL.md.
  case strict
  /// Answers success where a common BLE library would, and does not store the value.
  case firmware
}

/// How the store handles notifications beyond its capacity.
package enum StorePolicy: Equatable, Sendable {
  /// Keeps all of `capacity`, refuses further ones. Source: PROTOCOL.md NTF-8.
  case refuseWhenFull
  /// Accepts every one, counts it indefinitely and remembers the last `kept` of them: for runs of a
  /// million.
  case remember(kept: Int)
}

/// How the device handles DATA frames that arrive before a missing one. Source: PROTOCOL.md LNK-32.
package enum OutOfOrderFrames: Equatable, Sendable {
  /// Keeps them until the hole is filled, which takes memory for all granted frames.
  case kept
  /// Drops them; the host retransmits all frames from the hole on.
  case dropped
}

/// Console output in addition to frames.
package struct ConsoleModel: Equatable, Sendable {
  /// Whether ROM and boot loader print at each boot.
  package var hasBootText: Bool
  /// The interval at which a running device logs a line; nil for never. 1 ms or more.
  package var logInterval: Duration?

  package init(hasBootText: Bool, logInterval: Duration?) {
    self.hasBootText = hasBootText
    self.logInterval = logInterval
  }

  /// Prints nothing on its own.
  package static let silent = ConsoleModel(hasBootText: false, logInterval: nil)
}

/// How a device's flash blocks everything else: while a page is erased, nothing runs.
package struct FlashModel: Equatable, Sendable {
  /// A page is erased after this many accepted notifications. 1 or more.
  package var writesPerErase: Int
  /// The duration of an erase.
  package var eraseTime: ClosedRange<Duration>

  package init(writesPerErase: Int, eraseTime: ClosedRange<Duration>) {
    self.writesPerErase = writesPerErase
    self.eraseTime = eraseTime
  }
}

/// A Bluetooth stack that serves the attributes to connections; sessions have the device's own
/// server.
package struct StackServer: Equatable, Sendable {
  /// The handle of the service.
  package var firstHandle: UInt16
  package var traits: ServerTraits
}

/// A device that the emulator can be: limits, store, console and line.
package struct DeviceProfile: Equatable, Sendable {
  /// Its name for users.
  package var name: String
  /// Its purpose, in one line.
  package var summary: String
  /// Its base MAC address.
  package var deviceID = DeviceID(octets: [0x24, 0x6F, 0x28, 0xAA, 0xBB, 0xCC])
  package var mode: DeviceMode = .strict
  /// The limits that it announces to a host. Source: PROTOCOL.md LNK-8.
  package var limits: LinkLimits = DeviceProfile.usualLimits
  package var outOfOrder: OutOfOrderFrames = .kept
  /// Its features in SYNACK; a device in firmware mode omits bits 1, 2 and 4. Source:
  /// PROTOCOL.md LNK-9.
  package var features: Features = [.pipelinedRequests, .optionalKeys, .sync, .framedLog, .keptActions]
  /// How many notifications the store holds. 1...65535.
  package var capacity: UInt16 = 1024
  package var policy: StorePolicy = .refuseWhenFull
  /// How many writers are known at the same time. 4...65535. Source: PROTOCOL.md NTF-22.
  package var writersLimit = WriterRecords.limit
  /// The size of each bearer's queue of Data notifications. 8...65535. Source: PROTOCOL.md ATT-19.
  package var eventsLimit = ATTBearer.eventsLimit
  /// The handle of the service where the device serves it itself, up to
  /// `NotibotProfile.lastFirstHandle`.
  package var firstHandle = NotibotProfile.Handle.service
  /// nil: connections have the server of sessions.
  package var stack: StackServer?
  /// The device name in GAP, if there is one.
  package var bluetoothName = DeviceProfile.usualBluetoothName
  package var console = ConsoleModel(hasBootText: true, logInterval: .seconds(10))
  package var wire: WireModel = .direct
  /// The duration of a restart, from the reset to the first HELLO. 0...60 s.
  package var rebootTime: Duration = .milliseconds(300)
  /// Whether opening the port restarts the device, as DTR and RTS do on many boards.
  package var resetsOnOpen = false
  /// Whether the port disappears while the device restarts: the chip is its own USB device.
  package var vanishesAtReset = false
  /// The function of DTR and RTS.
  package var resetWiring: ResetCircuit.Wiring = .capacitor
  /// The time from a boot until the supply fails and the device restarts; nil for never.
  package var brownoutAfter: ClosedRange<Duration>?
  /// nil for a flash without noticeable erase times.
  package var flash: FlashModel?

  package init(name: String, summary: String) {
    self.name = name
    self.summary = summary
  }

  package static let usualBluetoothName = "Notibot"

  /// 16 frames, 8 requests, 4096 bytes. Source: PROTOCOL.md LNK-8.
  package static let usualLimits = LinkLimits(frames: 16, requests: 8, mtu: 517, bytes: 4096)
}

extension DeviceProfile {
  /// Every profile with a name, the default one first.
  package static let all: [DeviceProfile] = [
    standard, firmware, wide, devkit, quiet, mtu23, tiny, large, bench, cp2102, ch340, ftdi, usbSerialJTAG,
    resetOnOpen, bareEnable, brownout, slowFlash, stackNimBLE, stackBluedroid, stackEager,
  ]

  /// The profile called `name`; nil if there is none.
  package static func named(_ name: String) -> DeviceProfile? {
    all.first { $0.name == name }
  }

  package static let standard = DeviceProfile(
    name: "default",
    summary: "a strict device on a line without limits, with boot text and a log line each 10 s")

  package static let firmware = {
    var profile = DeviceProfile(
      name: "firmware",
      summary: "as default, but it answers every write with success, and drops out-of-order frames")
    profile.mode = .firmware
    profile.outOfOrder = .dropped
    return profile
  }()

  package static let wide = {
    var profile = DeviceProfile(
      name: "wide", summary: "64 frames, 32 requests, 16 KiB: a chip with memory to spare")
    profile.limits = LinkLimits(frames: 64, requests: 32, mtu: 517, bytes: 16_384)
    return profile
  }()

  package static let devkit = {
    var profile = DeviceProfile(
      name: "devkit",
      summary: "a UART behind a USB adapter: the host's baud rate, 16 ms each way, a log line per second")
    // The bytes that a line at 921600 baud carries during a latency of 32 ms do not fit in 16
    // frames.
    profile.limits = DeviceProfile.wide.limits
    profile.wire = WireModel(pace: .paced(bitsPerSecond: 115_200), latency: .milliseconds(16))
    profile.console.logInterval = .seconds(1)
    return profile
  }()

  package static let quiet = {
    var profile = DeviceProfile(name: "quiet", summary: "as default, but the console is silent")
    profile.console = .silent
    return profile
  }()

  package static let mtu23 = {
    var profile = DeviceProfile(
      name: "mtu23", summary: "as default, but ATT stays at 23 bytes: long writes everywhere")
    profile.limits.mtu = 23
    return profile
  }()

  package static let tiny = {
    var profile = DeviceProfile(
      name: "tiny",
      summary: "2 frames, 1 request, 1080 bytes, room for 4 notifications: the protocol's minimum")
    profile.outOfOrder = .dropped
    profile.limits = LinkLimits(frames: 2, requests: 1, mtu: 517, bytes: 1080)
    profile.capacity = 4
    return profile
  }()

  package static let large = {
    var profile = DeviceProfile(name: "large", summary: "as quiet, with room for 65535 notifications")
    profile.console = .silent
    profile.capacity = .max
    return profile
  }()

  package static let bench = {
    var profile = DeviceProfile(
      name: "bench", summary: "as wide, silent, and the store is never full: for runs of a million")
    profile.limits = DeviceProfile.wide.limits
    profile.console = .silent
    profile.capacity = .max
    profile.policy = .remember(kept: 256)
    return profile
  }()
}
