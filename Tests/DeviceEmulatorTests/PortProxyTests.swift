import Foundation
import Glibc
import NotibotProtocol
import Rigs
import SerialLink
import Synchronization
import Testing

@testable import DeviceEmulator

@Suite(.serialized)
struct PortProxyTests {
  /// The events of a proxy.
  private final class Log: Sendable {
    private let events = Mutex<[PortProxy.Event]>([])

    func add(_ event: PortProxy.Event) { events.withLock { $0.append(event) } }
    var all: [PortProxy.Event] { events.withLock { $0 } }
  }

  /// Runs `body` with an emulator and a proxy in front of it; both are stopped on every exit.
  private func withProxy(
    _ profile: DeviceProfile = .quiet, faults: String = "off",
    _ body: (EmulatorServer, PortProxy, String, Log) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let log = Log()
    try await withEmulator(profile, link: directory.file("board")) { server, board in
      let link = directory.file("port")
      let proxy = try await PortProxy.start(
        port: .address(.tty(path: board)), bitsPerSecond: 460_800, link: link,
        faults: try FaultSpec(parsing: faults),
        seed: 1,
        report: log.add)
      do {
        try await body(server, proxy, link, log)
        await proxy.stop()
      } catch {
        await proxy.stop()
        throw error
      }
      #expect(!directory.names.contains("port"))
    }
  }

  /// A host behind the proxy, once both have noticed it.
  private func openHost(_ link: String, rate: speed_t? = nil) async throws -> HostPort {
    #expect(await eventually { mode(of: link) != nil })
    return try HostPort(link, rate: rate)
  }

  @Test func `bytes pass both ways`() async throws {
    try await withProxy { server, _, link, _ in
      let host = try await openHost(link)
      let session = try host.openSession()
      try host.write(.data, channel: .att, session: session, payload: [0x0A, 0x03, 0x00])
      #expect(try host.nextFrame(.data).payload == [0x0B, 0x00, 0x00])
      #expect(await server.statistics.session == session)
    }
  }

  @Test func `a new host gets a line without the bytes of the previous one`() async throws {
    try await withProxy { _, _, link, _ in
      for _ in 0..<3 { _ = try await openHost(link).openSession() }
    }
  }

  @Test func `a large transfer loses no byte`() async throws {
    try await withProxy { server, proxy, link, _ in
      let host = try await openHost(link)
      let session = try host.openSession()
      for _ in 0..<200 {
        // As many as the device answers at once.
        for _ in 0..<DeviceLink.pongsLimit { try host.write(.ping, session: session) }
        for _ in 0..<DeviceLink.pongsLimit { _ = try host.nextFrame(.pong) }
      }
      #expect(await server.statistics.crcErrors == 0)
      #expect(await server.statistics.textBytesReceived == 0)
      #expect(await proxy.faultCounts.total == 0)
    }
  }

  @Test(arguments: [speed_t(B9600), speed_t(B921600)])
  func `the host's rate reaches the board`(rate: speed_t) async throws {
    try await withProxy(.devkit) { server, _, link, log in
      let host = try await openHost(link, rate: rate)
      _ = try host.openSession()
      #expect(await server.bitsPerSecond == (rate == speed_t(B9600) ? 9600 : 921_600))
      #expect(log.all.isEmpty)
    }
  }

  @Test func `faults happen on the way`() async throws {
    try await withProxy(faults: "loss@70/to-device") { server, proxy, link, _ in
      let host = try await openHost(link)
      let session = try host.openSession()
      #expect(try await passesPing(host, session))
      #expect(await proxy.faultCounts[.loss] == 1)
      let statistics = await server.statistics
      #expect(statistics.crcErrors + statistics.malformedCandidates + statistics.textBytesReceived > 0)
    }
  }

  /// Whether one of a few PINGs is answered.
  private func passesPing(_ host: HostPort, _ session: UInt16) async throws -> Bool {
    for _ in 0..<3 { try host.write(.ping, session: session) }
    return try host.nextFrame(.pong).header.session == session
  }

  @Test func `a board that disappears removes the offered port and restores it`() async throws {
    try await withProxy { server, _, link, log in
      let host = try await openHost(link)
      let session = try host.openSession()
      #expect(await server.perform(.unplug).ok)
      #expect(throws: HostPort.Failure.gone) { while true { _ = try host.read() } }
      #expect(await eventually { log.all == [.broken(.boardGone)] })
      #expect(mode(of: link) == nil)
      #expect(await server.perform(.plug).ok)
      #expect(await eventually { log.all == [.broken(.boardGone), .restored] })
      let again = try await openHost(link)
      #expect(try await passesPing(again, session))
    }
  }

  @Test func `a plug that a fault pulls is reinserted after its time`() async throws {
    try await withProxy(faults: "unplug@80,unplug-ms=120") { server, proxy, link, log in
      let host = try await openHost(link)
      let session = try host.openSession()
      let start = ContinuousClock.now
      try? host.write(.ping, session: session)
      try? host.write(.ping, session: session)
      #expect(throws: HostPort.Failure.gone) { while true { _ = try host.read() } }
      #expect(await eventually { log.all == [.broken(.plugPulled), .restored] })
      #expect(ContinuousClock.now - start >= .milliseconds(120))
      let again = try await openHost(link)
      #expect(try await passesPing(again, session))
      #expect(await proxy.faultCounts[.unplug] == 1)
      #expect(await server.statistics.bootCount == 1)
    }
  }

  @Test func `a pulled plug stays out until it is reinserted, and the board keeps running`() async throws {
    try await withProxy { server, proxy, link, log in
      let host = try await openHost(link)
      let session = try host.openSession()
      await proxy.unplug()
      #expect(throws: HostPort.Failure.gone) { while true { _ = try host.read() } }
      #expect(mode(of: link) == nil)
      await proxy.unplug()
      try await proxy.plug()
      let again = try await openHost(link)
      #expect(try await passesPing(again, session))
      #expect(await server.statistics.bootCount == 1)
      #expect(log.all == [])
    }
  }

  @Test func `a silenced board receives nothing, and the host keeps its port`() async throws {
    try await withProxy { server, proxy, link, log in
      let host = try await openHost(link)
      let session = try host.openSession()
      #expect(try await passesPing(host, session))
      #expect(try host.nextFrame(.pong).header.type == .pong && host.nextFrame(.pong).header.type == .pong)
      let taken = await proxy.takenBytes
      try await proxy.silenceBoard()
      let received = await server.statistics.bytesReceived
      try host.write(.ping, session: session)
      #expect(await eventually { await proxy.takenBytes > taken })
      await #expect(throws: PortError.self) { try await proxy.silenceBoard() }
      try await proxy.reopenBoard()
      #expect(await server.statistics.bytesReceived == received)
      #expect(try await passesPing(host, session))
      #expect(log.all == [])
    }
  }

  @Test func `a stall delays and loses nothing`() async throws {
    try await withProxy(faults: "stall@90/to-device,stall-ms=80") { server, _, link, _ in
      let host = try await openHost(link)
      let session = try host.openSession()
      let start = ContinuousClock.now
      try host.write(.ping, session: session)
      try host.write(.ping, session: session)
      #expect(try host.nextFrame().header.type == .pong)
      #expect(try host.nextFrame().header.type == .pong)
      #expect(ContinuousClock.now - start >= .milliseconds(80))
      #expect(await server.statistics.crcErrors == 0)
    }
  }

  @Test func `a port that is in use is refused`() async throws {
    try await withProxy { _, _, link, _ in
      #expect(throws: PortError.self) {
        _ = try SerialPort.open(link.replacingOccurrences(of: "/port", with: "/board"))
      }
    }
  }

  @Test func `without a port there is no proxy, and nothing is left behind`() async throws {
    let directory = try TemporaryDirectory()
    await #expect(throws: PortError.self) {
      _ = try await PortProxy.start(
        port: .address(.tty(path: "/dev/notibot-nothing")), bitsPerSecond: 115_200,
        link: directory.file("port"),
        faults: .off,
        seed: 1)
    }
    #expect(directory.names.isEmpty)
  }

  @Test func `a proxy that waits for its board can be stopped`() async throws {
    try await withProxy { server, proxy, _, log in
      #expect(await server.perform(.unplug).ok)
      #expect(await eventually { log.all == [.broken(.boardGone)] })
      await proxy.stop()
      #expect(log.all == [.broken(.boardGone)])
    }
  }
}
