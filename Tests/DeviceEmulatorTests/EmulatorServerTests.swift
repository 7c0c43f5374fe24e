import Foundation
import Glibc
import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

@Suite(.serialized)
struct EmulatorServerTests {
  @Test func `a host that opens the port gets answers`() async throws {
    try await withEmulator { server, path in
      let host = try HostPort(path)
      let session = try host.openSession()
      try host.write(.data, channel: .att, session: session, payload: [0x0A, 0x03, 0x00])
      #expect(try host.nextFrame(.data).payload == [0x0B, 0x00, 0x00])
      #expect(await server.statistics.session == session)
    }
  }

  @Test func `only its owner can use the port, which is behind a link that is removed with the emulator`()
    async throws
  {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try await withEmulator(link: link) { _, path in
      #expect(path == link)
      #expect(mode(of: link).map { $0 & S_IFMT } == S_IFLNK)
      let target = try FileManager.default.destinationOfSymbolicLink(atPath: link)
      #expect(target.hasPrefix("/dev/pts/"))
      #expect(mode(of: target).map { $0 & 0o777 } == 0o600)
    }
    #expect(directory.names.isEmpty)
  }

  @Test func `the port can be closed and opened again, and the store is still there`() async throws {
    try await withEmulator { server, path in
      for round in UInt8(1)...3 {
        let host = try HostPort(path)
        let session = try host.openSession()
        try host.write(.data, channel: .att, session: session, payload: [0x02, 0x05, 0x02])
        try host.write(
          .data, channel: .att, session: session, sequence: 1,
          payload: [0x12, 0x06, 0x00] + Array(sampleJSON.utf8))
        try host.write(.data, channel: .att, session: session, sequence: 2, payload: [0x0A, 0x03, 0x00])
        let answers = try (0..<3).map { _ in try host.nextFrame(.data).payload }
        #expect(answers.last == [0x0B, round, 0x00])
      }
      #expect(await eventually { await !server.isHostPresent })
    }
  }

  @Test func `a host does not receive bytes that were meant for the previous one`() async throws {
    try await withEmulator { server, path in
      do {
        let host = try HostPort(path)
        let session = try host.openSession()
        for _ in 0..<2000 { try host.write(.ping, session: session) }
        #expect(await eventually { await server.statistics.framesReceived > 2000 })
      }
      #expect(await eventually { await !server.isHostPresent })
      #expect(await eventually { await server.waitingBytes == 0 })
      let host = try HostPort(path)
      #expect(await eventually { await server.isHostPresent })
      #expect(try host.read(milliseconds: 20).isEmpty)
      _ = try host.openSession()
    }
  }

  @Test func `bytes that a host writes before it closes are handled`() async throws {
    try await withEmulator { server, path in
      do {
        let host = try HostPort(path)
        let session = try host.openSession()
        try host.write(.fin, session: session)
      }
      #expect(await eventually { await server.statistics.session == nil })
    }
  }

  @Test func `a host that does not read grows no queue, and no frame is cut`() async throws {
    try await withEmulator(.standard) { server, path in
      let host = try HostPort(path)
      let session = try host.openSession()
      for round in 0..<4000 {
        try host.write(.ping, session: session)
        if round % 10 == 0 { _ = await server.perform(.log(String(repeating: "x", count: 200))) }
      }
      let limit = EmulatorServer.writeBufferLimitBytes + 16_384
      #expect(await server.waitingBytes <= limit)
      let sent = await server.statistics.bytesSent
      #expect(sent < 200_000)
      var pongs = 0
      while await server.waitingBytes > 0 { pongs += try host.nextFrame().header.type == .pong ? 1 : 0 }
      try host.write(.data, channel: .att, session: session, payload: [0x0A, 0x03, 0x00])
      while true {
        let frame = try host.nextFrame()
        if frame.header.type == .pong { pongs += 1 }
        if frame.header.type == .data { break }
      }
      #expect(pongs > 0)
      // Text consists of whole lines: only the end was dropped, and no frame became text.
      #expect(host.text.allSatisfy { $0 >= 0x0A && $0 < 0x7F })
    }
  }

  @Test func `pulling the plug removes port and link, and reinserting it restores them`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try await withEmulator(link: link) { server, path in
      let host = try HostPort(path)
      let session = try host.openSession()
      #expect(await server.perform(.unplug).ok)
      #expect(throws: HostPort.Failure.gone) { while true { _ = try host.read() } }
      #expect(directory.names.isEmpty)
      #expect(await server.perform(.unplug).error == "the device is unplugged already")
      #expect(await server.perform(.plug).port == link)
      #expect(await server.perform(.plug).error == "the device is plugged in already")
      // The device kept running: its session is still the old one.
      let again = try HostPort(link)
      try again.write(.ping, session: session)
      #expect(try again.nextFrame().header.type == .pong)
    }
  }

  @Test func `if two clients plug it in at once, one succeeds`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try await withEmulator(link: link) { server, _ in
      _ = await server.perform(.unplug)
      async let first = server.perform(.plug)
      async let second = server.perform(.plug)
      let replies = await [first, second]
      #expect(replies.count { $0.ok } == 1)
      _ = try HostPort(link).openSession()
    }
    #expect(directory.names.isEmpty)
  }

  @Test func `an emulator that has stopped stays stopped`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    let server = try await EmulatorServer.start(profile: .standard, link: link, seed: 1)
    let host = try HostPort(link)
    _ = try host.openSession()
    await server.stop()
    #expect(throws: HostPort.Failure.gone) { while true { _ = try host.read() } }
    for command in [DeviceCommand.plug, .unplug, .statistics] {
      #expect(await server.perform(command).error == "the emulator has stopped")
    }
    await server.stop()
    #expect(directory.names.isEmpty)
  }

  @Test func `a restart is visible on the open port`() async throws {
    try await withEmulator { server, path in
      let host = try HostPort(path)
      _ = try host.openSession()
      #expect(await server.perform(.reboot(.panic)).ok)
      let hello = try Hello(parsing: try host.nextFrame(.hello).payload)
      #expect(hello.resetReason == .panic)
      #expect(hello.bootCount == 2)
    }
  }

  @Test(arguments: [speed_t(B921600), speed_t(B9600)])
  func `a paced line runs at the rate that the host set`(rate: speed_t) async throws {
    try await withEmulator(.devkit) { server, path in
      let host = try HostPort(path, rate: rate)
      _ = try host.openSession()
      #expect(await server.bitsPerSecond == (rate == speed_t(B9600) ? 9600 : 921_600))
    }
  }

  @Test func `a paced line takes its time`() async throws {
    try await withEmulator(.devkit) { _, path in
      let host = try HostPort(path, rate: speed_t(B115200))
      let start = ContinuousClock.now
      _ = try host.openSession()
      // 16 ms each way, and more than 8 ms for the 57 bytes of SYN and the SYNACK.
      #expect(ContinuousClock.now - start >= .milliseconds(40))
    }
  }

  // MARK: Boards and faults

  @Test func `a port that goes with its device comes back under the same link`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try await withEmulator(.usbSerialJTAG, link: link) { server, _ in
      let host = try HostPort(link)
      _ = try host.openSession()
      #expect(await server.perform(.reboot(.panic)).ok)
      #expect(throws: HostPort.Failure.gone) { while true { _ = try host.read() } }
      #expect(await server.perform(.plug).error?.contains("brings it back on its own") == true)
      #expect(await eventually { await server.portPath == link })
      _ = try HostPort(link).openSession()
      #expect(await server.statistics.bootCount == 2)
    }
    #expect(directory.names.isEmpty)
  }

  @Test func `a port that a fault took away stays away once it is unplugged`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try await withEmulator(link: link) { server, _ in
      #expect(await server.perform(.faults(try FaultSpec(parsing: "unplug@1,unplug-ms=5000"))).ok)
      try HostPort(link).write([1])
      #expect(await eventually { await server.portPath == nil })
      // Long before the fault ends, however busy the computer is.
      #expect(await server.perform(.unplug).ok)
      #expect(await eventually { await server.isLinePresent })
      #expect(directory.names.isEmpty)
      #expect(await server.perform(.plug).port == link)
    }
  }

  @Test func `opening the port restarts a board that resets on open`() async throws {
    try await withEmulator(.resetOnOpen) { server, path in
      let host = try HostPort(path)
      #expect(try Hello(parsing: try host.nextFrame(.hello).payload).bootCount == 2)
    }
  }

  @Test func `the faults of a run can be read and repeated`() async throws {
    let spec = try FaultSpec(parsing: "loss@3/to-device")
    let server = try await EmulatorServer.start(profile: .quiet, faults: spec, seed: 9)
    #expect(await server.faultSpec.description == "loss@3/to-device,seed=9")
    let host = try HostPort(try #require(await server.portPath))
    try host.write([0x41, 0x42, 0x43, 0x44])
    #expect(await eventually { await server.statistics.bytesReceived == 3 })
    #expect(await server.statistics.faults == ["loss": 1, "lost-bytes": 1])
    #expect(await server.perform(.faults(.off)).ok)
    #expect(await server.statistics.faults == nil)
    await server.stop()
  }

  // MARK: Links

  @Test func `a file in the link's place is left alone`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try Data("mine".utf8).write(to: URL(fileURLWithPath: link))
    await #expect(throws: PortError.self) { try await withEmulator(link: link) { _, _ in } }
    #expect(try String(contentsOfFile: link, encoding: .utf8) == "mine")
  }

  @Test func `the link of a running emulator is left alone`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/null")
    await #expect(throws: PortError.self) { try await withEmulator(link: link) { _, _ in } }
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == "/dev/null")
  }

  @Test func `the link of a killed emulator is replaced`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/pts/99999")
    try await withEmulator(link: link) { _, path in _ = try HostPort(path).openSession() }
  }

  @Test func `another program's link in the same place is not removed`() async throws {
    let directory = try TemporaryDirectory()
    let link = directory.file("port")
    try await withEmulator(link: link) { _, _ in
      try FileManager.default.removeItem(atPath: link)
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/null")
    }
    #expect(directory.names == ["port"])
  }
}
