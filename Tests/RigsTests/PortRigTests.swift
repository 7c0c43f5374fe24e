import Conformance
import DeviceEmulator
import NIOCore
import NIOPosix
import SerialLink
import Testing

@testable import Rigs

/// If a board is named by its identity, the suite writes to no other.
@Suite struct PortRigTests {
  private func withEmulator(_ body: (PortName) async throws -> Void) async throws {
    let server = try await EmulatorServer.start(profile: .standard, seed: 1)
    do {
      try await body(.address(.tty(path: try #require(await server.portPath))))
    } catch {
      await server.stop()
      throw error
    }
    await server.stop()
  }

  @Test func `the named board is used`() async throws {
    try await withEmulator { port in
      let rig = try await PortRig.open(port, name: "id", deviceID: "24:6f:28:aa:bb:cc")
      #expect(rig.offers.contains(.session))
      await rig.close()
    }
  }

  @Test func `another board is refused before any request to it`() async throws {
    try await withEmulator { port in
      let error = try await #require(throws: PortRig.WrongDevice.self) {
        try await PortRig.open(port, name: "id", deviceID: "24:6F:28:00:00:01")
      }
      #expect(error.description == "the device here is 24:6F:28:AA:BB:CC, not 24:6F:28:00:00:01")
    }
  }
}

/// What a line reports that has ended.
@Suite struct ChannelLineTests {
  @Test func `a write to a port in use reports that, not a pulled cable`() async throws {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .bind(host: "127.0.0.1", port: 0).get()
    let number = try #require(server.localAddress?.port)
    let name = try PortName(parsing: "socket://127.0.0.1:\(number)")
    let port = try await PortRig.openChannel(name, SerialOptions())
    let line = try await ChannelLine { port }
    let refusal = PortError(.serverBusy("in use"), port: name.description, operation: "open")
    port.channel.pipeline.fireErrorCaught(refusal)
    try await port.channel.closeFuture.get()
    let error = await #expect(throws: PortError.self) { try await line.write([0]) }
    guard case .serverBusy = error?.code else {
      Issue.record("\(String(describing: error))")
      return
    }
    try await server.close()
  }
}
