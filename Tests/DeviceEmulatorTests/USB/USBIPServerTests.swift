import NIOCore
import NIOPosix
import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

/// Emulators exported over TCP, with a USB/IP host written by hand at the other end.
@Suite(.serialized)
struct USBIPServerTests {
  static let list: [UInt8] = [0x01, 0x11, 0x80, 0x05, 0, 0, 0, 0]

  static func imports(_ busID: String) -> [UInt8] {
    [0x01, 0x11, 0x80, 0x03, 0, 0, 0, 0] + busID.utf8 + [UInt8](repeating: 0, count: 32 - busID.utf8.count)
  }

  @Test func `the list has each plugged device with its interfaces, and the server closes`() async throws {
    try await withExports([.jtag, .cp2102]) { servers, port in
      var host = try USBIPConnection.open(port)
      host.write(Self.list)
      var answer = await host.rest()
      #expect(answer.count == 652)
      #expect(Array(answer.prefix(12)) == [0x01, 0x11, 0, 5, 0, 0, 0, 0, 0, 0, 0, 2])
      let busID: [UInt8] = [0x31, 0x2D, 0x31, 0]
      #expect(Array(answer[268..<272]) == busID)
      // Bus 1, device 2, full speed, then 303a:1001, revision 1.01, class ef/02/01, 3 interfaces.
      let record: [UInt8] = [
        0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 0x30, 0x3A, 0x10, 0x01, 0x01, 0x01, 0xEF, 2, 1, 1, 1, 3,
        2, 2, 0, 0, 10, 2, 0, 0, 0xFF, 0xFF, 1, 0,
      ]
      // After the header of 12 bytes.
      #expect(Array(answer[300..<336]) == record)
      _ = await servers[1].perform(.unplug)
      host = try USBIPConnection.open(port)
      host.write(Self.list)
      answer = await host.rest()
      #expect(answer.count == 336)
    }
  }

  @Test(arguments: USBPersonality.allCases)
  func `a session opens through the endpoints of each hardware`(personality: USBPersonality) async throws {
    try await withExports([personality]) { servers, port in
      let host = try await imported(port)
      let syn = Frame(
        FrameHeader(type: .syn, direction: .fromHost, channel: .link, session: 0, credit: 64),
        payload: Syn(nonce: 7, limits: DeviceProfile.usualLimits).encoded()
      ).encoded()
      host.write(
        USBHost.set(1, 0, 9, 1) + USBHost.read(2)
          + USBHost.write(3, endpoint: UInt32(personality.dataOut), syn))
      #expect(await eventually { await servers[0].statistics.session != nil })
      // Of SET_CONFIGURATION and the write; the device's own bytes are in the read.
      #expect(await host.bytes(48) == USBHost.done(1, actual: 0))
    }
  }

  @Test func `the lines of each driver reset the chip into its loader`() async throws {
    let requests: [(USBPersonality, [[UInt8]])] = [
      (.cp2102, [USBHost.set(1, 0x41, 7, 0x0302), USBHost.set(2, 0x41, 7, 0x0301)]),
      (.ftdi, [USBHost.set(1, 0x40, 1, 0x0302), USBHost.set(2, 0x40, 1, 0x0301)]),
      (
        .jtag,
        [USBHost.set(1, 0x21, 0x22, 1), USBHost.set(2, 0x21, 0x22, 3), USBHost.set(3, 0x21, 0x22, 2)]
      ),
    ]
    for (personality, steps) in requests {
      var profile = personality.profile
      profile.vanishesAtReset = false
      try await withExports([personality], profile: profile) { servers, port in
        let host = try await imported(port)
        for step in steps {
          host.write(step)
          _ = await host.bytes(48)
        }
        #expect(await eventually { await servers[0].statistics.chip == "download" })
      }
    }
  }

  @Test func `the rate and the break of each driver reach the device`() async throws {
    let requests: [(USBPersonality, rate: [UInt8], expected: UInt32, breaks: [UInt8])] = [
      (
        .jtag, USBHost.set(1, 0x21, 0x20, 0, [0, 0x10, 0x0E, 0, 0, 0, 8]), 921_600,
        USBHost.set(2, 0x21, 0x23, 0xFFFF)
      ),
      (.cp2102, USBHost.set(1, 0x41, 0x1E, 0, [0, 0x10, 0x0E, 0]), 921_600, USBHost.set(2, 0x41, 5, 1)),
      (.ftdi, USBHost.set(1, 0x40, 3, 0x8003), 923_076, USBHost.set(2, 0x40, 4, 0x4008)),
    ]
    for (personality, rate, expected, breaks) in requests {
      var profile = personality.profile
      profile.wire.pace = .paced(bitsPerSecond: 115_200)
      try await withExports([personality], profile: profile) { servers, port in
        let host = try await imported(port)
        host.write(rate + breaks)
        _ = await host.bytes(96)
        #expect(await servers[0].bitsPerSecond == expected)
        // A break is received as a byte of zeros.
        #expect(await eventually { await servers[0].statistics.bytesReceived == 1 })
      }
    }
  }

  @Test func `a write to a slow line is answered when the line has room, and whole`() async throws {
    var profile = DeviceProfile.standard
    profile.wire = WireModel(pace: .paced(bitsPerSecond: 300))
    try await withExports([.jtag], profile: profile) { _, port in
      let host = try await imported(port)
      let chunk = [UInt8](repeating: 0x20, count: WiredDevice.receiveBufferBytes)
      host.write(USBHost.write(1, chunk))
      #expect(await host.bytes(48) == USBHost.done(1, actual: chunk.count))
      host.write(USBHost.write(2, [1, 2, 3]) + USBHost.unlink(3, 2))
      #expect(await host.bytes(48) == USBHost.unlinked(3, status: -104))
    }
  }

  @Test func `unplugging ends the connection, and plugging in exports the device again`() async throws {
    try await withExports([.jtag]) { servers, port in
      let host = try await imported(port)
      // Inside a control transfer: half of a request has arrived.
      host.write(Array(USBHost.set(1, 0x21, 0x20, 0, [0, 0xC2, 1, 0, 0, 0, 8]).dropLast(4)))
      _ = await servers[0].perform(.unplug)
      #expect(await host.rest() == [])
      let refused = try USBIPConnection.open(port)
      refused.write(Self.imports("1-1"))
      #expect(await refused.rest() == [0x01, 0x11, 0, 3, 0, 0, 0, 4])
      let reply = await servers[0].perform(.plug)
      #expect(reply.port == "usb:303a:1001:24:6F:28:AA:BB:CC")
      _ = try await imported(port)
    }
  }

  @Test func `a chip that resets has answered before its USB disappears`() async throws {
    try await withExports([.jtag]) { servers, port in
      let host = try await imported(port)
      host.write(USBHost.set(1, 0x21, 0x22, 3) + USBHost.set(2, 0x21, 0x22, 2))
      #expect(await host.rest() == USBHost.done(1, actual: 0) + USBHost.done(2, actual: 0))
      #expect(await eventually { await servers[0].exported != nil })
    }
  }

  @Test func `a device has one host, and an unknown bus id none`() async throws {
    try await withExports([.jtag]) { _, port in
      let host = try await imported(port)
      let refusals: [(String, UInt8)] = [("1-1", 2), ("1-2", 4), (String(repeating: "x", count: 32), 4)]
      for (busID, status) in refusals {
        let other = try USBIPConnection.open(port)
        other.write(Self.imports(busID))
        let expected: [UInt8] = [0x01, 0x11, 0, 3, 0, 0, 0, status]
        #expect(await other.rest() == expected)
      }
      withExtendedLifetime(host) {}
    }
  }

  static let garbage: [(name: String, bytes: [UInt8])] = [
    ("version", [0x01, 0x10, 0x80, 0x05, 0, 0, 0, 0]), ("code", [0x01, 0x11, 0x80, 0x99, 0, 0, 0, 0]),
    ("HTTP", Array("GET / HTTP/1.1\r\n\r\n".utf8)), ("zeros", [UInt8](repeating: 0, count: 5000)),
    ("garbage after the import", imports("1-1") + [UInt8](repeating: 0xA5, count: 5000)),
  ]

  @Test func `a peer that breaks the protocol is disconnected, and the next one is served`() async throws {
    try await withExports([.jtag]) { servers, port in
      // Peers that stop in the middle of a message harm nobody.
      let silent = try USBIPConnection.open(port)
      silent.write(Array(Self.imports("1-1").dropLast()))
      for (name, bytes) in Self.garbage {
        let host = try USBIPConnection.open(port)
        host.write(bytes)
        let answer = await host.rest()
        #expect(answer.isEmpty || name.hasPrefix("garbage"), "\(name)")
      }
      #expect(await eventually { await !servers[0].isHostPresent })
      _ = try await imported(port)
      withExtendedLifetime(silent) {}
    }
  }

  @Test func `a peer that sends no whole message is disconnected after a time`() async throws {
    try await withExports([.jtag], handshakeLimit: .milliseconds(50)) { _, port in
      for bytes in [[], Array(Self.list.dropLast())] {
        let host = try USBIPConnection.open(port)
        host.write(bytes)
        #expect(await host.rest() == [])
      }
    }
  }

  @Test func `silent peers beyond the limit are disconnected, and their end makes room`() async throws {
    try await withExports([.jtag], handshakeLimit: .hours(1)) { servers, port in
      var silent: [USBIPConnection] = []
      for _ in 0..<USBIPListener.connectionsLimit + 1 { silent.append(try USBIPConnection.open(port)) }
      let refused = try USBIPConnection.open(port)
      #expect(await refused.rest() == [])
      silent.removeAll()
      // The end of a connection is noticed later than a new one is made.
      var answer: [UInt8] = []
      while answer.isEmpty {
        let host = try USBIPConnection.open(port)
        host.write(Self.list)
        answer = await host.rest()
      }
      #expect(answer.count > 12)
    }
  }

  /// Imports the first device. The previous connection's end can be noticed later.
  private func imported(_ port: Int) async throws -> USBIPConnection {
    while true {
      let host = try USBIPConnection.open(port)
      host.write(Self.imports("1-1"))
      let head = await host.bytes(8)
      guard head == [0x01, 0x11, 0, 3, 0, 0, 0, 0] else {
        try #require(head == [0x01, 0x11, 0, 3, 0, 0, 0, 2])
        continue
      }
      _ = await host.bytes(312)
      return host
    }
  }

  private func withExports(
    _ personalities: [USBPersonality], profile: DeviceProfile? = nil,
    handshakeLimit: TimeAmount = USBIPHandler.handshakeLimit,
    _ body: ([EmulatorServer], Int) async throws -> Void
  ) async throws {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    var servers: [EmulatorServer] = []
    for (index, personality) in personalities.enumerated() {
      let identity = USBIdentity(personality, serial: "24:6F:28:AA:BB:CC", number: UInt32(index + 1))
      servers.append(
        try await EmulatorServer.start(
          profile: profile ?? personality.profile, usb: USBPort(identity), seed: 1, on: loop))
    }
    let address = NetworkAddress(.bytes, host: "127.0.0.1", port: 0)
    let listener = try await USBIPListener.open(
      address, for: servers, handshakeLimit: handshakeLimit, on: loop)
    let outcome: Result<Void, any Error>
    do { outcome = .success(try await body(servers, listener.address.port)) } catch {
      outcome = .failure(error)
    }
    await listener.close()
    for server in servers { await server.stop() }
    try outcome.get()
  }
}

/// A connection of a USB/IP host.
private struct USBIPConnection {
  private let connection: UnixConnection

  static func open(_ port: Int) throws -> USBIPConnection {
    USBIPConnection(connection: try UnixConnection(loopbackPort: port))
  }

  func write(_ bytes: [UInt8]) { connection.send(bytes) }

  /// The next bytes; fewer if the connection ends.
  func bytes(_ count: Int) async -> [UInt8] { await connection.reading { $0.read(count) ?? [] } }

  /// Everything until the server closes.
  func rest() async -> [UInt8] {
    await connection.reading { connection in
      var bytes: [UInt8] = []
      while case let some = connection.readSome(), !some.isEmpty { bytes += some }
      return bytes
    }
  }
}
