import NIOCore
import NIOPosix
import NotibotProtocol
import SerialLink
import Testing

@testable import DeviceEmulator

/// An emulator's port over TCP, with the client of this project at the other end.
@Suite(.serialized)
struct NetworkPortTests {
  @Test func `a port over RFC 2217 opens, and every byte passes in both directions`() async throws {
    try await withNetworkEmulator(.rfc2217) { server, port in
      let host = try await NetworkHost.open(port)
      try await host.write(Frame(header(.syn), payload: syn).encoded())
      // A nonce of 0xFF bytes is returned in SYNACK: it is escaped in both directions.
      #expect(await eventually { await server.statistics.session != nil })
      #expect(await eventually { await host.received().contains { $0 == 0xFF } })
      await host.close()
      #expect(await eventually { await !server.isHostPresent })
    }
  }

  @Test func `modem lines reset the chip into the application or into its loader`() async throws {
    try await withNetworkEmulator(.rfc2217) { server, port in
      let host = try await NetworkHost.open(port)
      let boot = await server.statistics.bootCount
      try await host.perform(.lines(ModemLines(dtr: false, rts: true)))
      #expect(await server.statistics.chip == "held")
      try await host.perform(.lines(ModemLines(dtr: false, rts: false)))
      #expect(await eventually { await server.statistics.bootCount == boot + 1 })
      try await host.perform(.lines(ModemLines(dtr: false, rts: true)))
      try await host.perform(.lines(ModemLines(dtr: true, rts: false)))
      #expect(await server.statistics.chip == "download")
      #expect(await eventually { await host.text().hasSuffix("waiting for download\r\n") })
      #expect(await server.statistics.lineResets == 2)
      await host.close()
    }
  }

  @Test func `opening and closing the port resets nothing`() async throws {
    try await withNetworkEmulator(.rfc2217) { server, port in
      for _ in 0..<3 { await (try NetworkHost.open(port)).close() }
      #expect(await eventually { await !server.isHostPresent })
      #expect(await server.statistics.bootCount == 1)
      #expect(await server.statistics.lineResets == 0)
    }
  }

  @Test func `a chip that is held in reset starts when its host disconnects`() async throws {
    try await withNetworkEmulator(.rfc2217) { server, port in
      let host = try await NetworkHost.open(port)
      try await host.perform(.lines(ModemLines(dtr: false, rts: true)))
      await host.close()
      #expect(await eventually { await server.statistics.bootCount == 2 })
    }
  }

  @Test func `the rate paces the line, and purging and breaks are confirmed`() async throws {
    var profile = DeviceProfile.standard
    profile.wire = WireModel(pace: .paced(bitsPerSecond: 115_200))
    try await withNetworkEmulator(.rfc2217, profile: profile) { server, port in
      let host = try await NetworkHost.open(port, bitsPerSecond: 460_800)
      #expect(await server.bitsPerSecond == 460_800)
      try await host.perform(.rate(230_400))
      #expect(await server.bitsPerSecond == 230_400)
      try await host.perform(.breakState(isOn: true))
      try await host.perform(.breakState(isOn: false))
      try await host.perform(.purgeInput)
      try await host.perform(.purgeOutput)
      await host.close()
    }
  }

  @Test(arguments: [NetworkAddress.Service.rfc2217, .bytes])
  func `a second host gets the reason that the port is in use`(service: NetworkAddress.Service) async throws {
    try await withNetworkEmulator(service) { _, port in
      let host = try await NetworkHost.open(port)
      switch service {
      case .bytes:
        let other = try await NetworkHost.open(port)
        // The server's text is not mistaken for the device's output.
        #expect(await eventually { await other.hasEnded() })
        #expect(await host.hasEnded() == false)
      case .rfc2217:
        let error = await #expect(throws: PortError.self) { try await NetworkHost.open(port) }
        #expect(
          error?.code
            == .serverBusy("the server closed the connection at once with the message: Port already in use"))
      }
      await host.close()
    }
  }

  @Test func `an unplugged device disconnects its host, and is back at the same port`() async throws {
    try await withNetworkEmulator(.rfc2217) { server, port in
      let host = try await NetworkHost.open(port)
      _ = await server.perform(.unplug)
      #expect(await eventually { await host.hasEnded() })
      await #expect(throws: PortError.self) { try await NetworkHost.open(port) }
      let reply = await server.perform(.plug)
      #expect(reply.port == port.description)
      await (try NetworkHost.open(port)).close()
    }
  }

  @Test func `a client that floods the server with requests and reads no answers is disconnected`()
    async throws
  {
    try await withNetworkEmulator(.rfc2217) { server, port in
      guard case .rfc2217(let name, let number, _) = port else { return }
      let host = try await NetworkHost.open(.socket(host: name, port: number), reads: false)
      let flood = [UInt8]((0..<4096).flatMap { _ in [0xFF, 0xFA, 0x2C, 0x00, 0xFF, 0xF0] as [UInt8] })
      for _ in 0..<400 {
        do { try await host.write(flood) } catch { break }
      }
      #expect(await eventually { await !server.isHostPresent })
    }
  }

  private var syn: [UInt8] {
    Syn(nonce: .max, limits: DeviceProfile.usualLimits).encoded()
  }

  private func header(_ type: FrameType) -> FrameHeader {
    FrameHeader(type: type, direction: .fromHost, channel: .link, session: 0, credit: 64)
  }

  private func withNetworkEmulator(
    _ service: NetworkAddress.Service, profile: DeviceProfile = .standard,
    _ body: (EmulatorServer, PortAddress) async throws -> Void
  ) async throws {
    let address = NetworkAddress(service, host: "127.0.0.1", port: 0)
    let server = try await EmulatorServer.start(profile: profile, address: address, seed: 1)
    do {
      let name = try #require(await server.portPath)
      try await body(server, try PortList().address(of: try PortName(parsing: name)))
      await server.stop()
    } catch {
      await server.stop()
      throw error
    }
  }
}

/// A host that handles raw bytes, with the project's own ports.
private struct NetworkHost {
  private let channel: any NIOCore.Channel
  private let inbox: NIOLoopBound<Inbox>

  static func open(
    _ port: PortAddress, bitsPerSecond: UInt32 = 115_200, reads: Bool = true
  ) async throws -> NetworkHost {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let promise = loop.makePromise(of: NIOLoopBound<Inbox>.self)
    do {
      let channel = try await SerialChannel.open(
        port, options: SerialOptions(bitsPerSecond: bitsPerSecond), on: loop
      ) { channel in
        let inbox = Inbox()
        try channel.syncOptions?.setOption(.autoRead, value: reads)
        try channel.pipeline.syncOperations.addHandler(inbox)
        promise.succeed(NIOLoopBound(inbox, eventLoop: channel.eventLoop))
      }
      return NetworkHost(channel: channel, inbox: try await promise.futureResult.get())
    } catch {
      promise.fail(error)
      throw error
    }
  }

  func write(_ bytes: [UInt8]) async throws { try await channel.writeAndFlush(ByteBuffer(bytes: bytes)) }

  func perform(_ command: LineCommand) async throws { try await SerialChannel.perform(command, on: channel) }

  func close() async { try? await channel.close() }

  func received() async -> [UInt8] {
    let inbox = inbox
    return (try? await channel.eventLoop.submit { inbox.value.bytes }.get()) ?? []
  }

  func text() async -> String { String(decoding: await received(), as: UTF8.self) }

  func hasEnded() async -> Bool { !channel.isActive }

  final class Inbox: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    var bytes: [UInt8] = []

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      bytes += unwrapInboundIn(data).readableBytesView
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
