import Conformance
import DeviceEmulator
import NIOCore
import NIOPosix
import NotibotProtocol
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
      let error = try await #require(throws: Failure.self) {
        try await PortRig.open(port, name: "id", deviceID: "24:6F:28:00:00:01")
      }
      #expect(error.message == "id: the device here is 24:6F:28:AA:BB:CC, not 24:6F:28:00:00:01")
    }
  }
}

/// A rig gives back the state of a device that is not its own.
@Suite struct GiveBackTests {
  /// The state of an emulator that was changed before a run, after the run.
  private func statistics(
    after run: (any Rig) async -> Void, att: Bool
  ) async throws -> DeviceStatistics {
    let directory = try PrivateDirectory.make(for: "test")
    defer { directory.remove() }
    let (control, socket) = (directory.path + "/control", directory.path + "/att")
    let server = try await EmulatorServer.start(
      profile: .standard, controlSocket: control, attSocket: socket, seed: 1)
    let client = ControlClient(path: control)
    for command: DeviceCommand in [.mode(.firmware), .fill(7)] { _ = try await client.perform(command) }
    let port = PortName.address(.tty(path: try #require(await server.portPath)))
    let rig: any Rig =
      att
      ? try await BLERig.open(socket, control: control)
      : try await PortRig.open(port, name: "test", control: control)
    await run(rig)
    await rig.close()
    let statistics = try #require(try await client.perform(.statistics).statistics)
    await server.stop()
    return statistics
  }

  private static let strict = Case("NTF-1/strict", "It changes much, and fails", chapter: .notifications) {
    _, bench in
    let control = try bench.requireControl()
    try await control.perform(.fill(99))
    try await control.perform(.stall)
    throw CaseEnd.fault("wrong", file: "f", line: 1)
  }

  @Test(arguments: [true, false])
  func `mode, other writers and the application are as before`(att: Bool) async throws {
    let after = try await statistics(
      after: { rig in _ = await Runner(rig: rig, seed: 1, gauge: nil).run(Self.strict) }, att: att)
    #expect(after.mode == "firmware")
    #expect(after.otherWritersCount == 7)
    #expect(!after.isStalled)
  }

  @Test func `also after a run that was cancelled`() async throws {
    let after = try await statistics(
      after: { rig in
        _ = await Runner(rig: rig, seed: 1, gauge: nil).run(Self.strict)
        withUnsafeCurrentTask { $0?.cancel() }
      }, att: false)
    #expect(after.mode == "firmware")
  }
}

/// A device that falls silent ends the run.
@Suite struct SilentDeviceTests {
  /// A device that ceases to send after a number of bytes.
  private struct Failing: VirtualPeer {
    var device = VirtualDevice(wired: WiredDevice(profile: .quiet, seed: 1, now: .zero))
    var bytesLeft: Int

    mutating func receive(_ bytes: [UInt8], now: Instant) { device.receive(bytes, now: now) }
    mutating func handleTimeout(now: Instant) { device.handleTimeout(now: now) }
    mutating func nextBytes(now: Instant) -> [UInt8]? {
      guard let bytes = device.nextBytes(now: now) else { return nil }
      bytesLeft -= bytes.count
      return bytesLeft < 0 ? [] : bytes
    }
    var nextDeadline: Instant? { device.nextDeadline }
  }

  private static let reading = (1...9).map { number in
    Case("NTF-10/read-\(number)", "Count is read", chapter: .notifications) { _, bench in
      try await bench.probe.openSession()
      for _ in 0..<10 { _ = try await bench.probe.readCount() }
    }
  }

  private func results(bytes: Int) async throws -> (words: [String], loss: String?) {
    let board = try await PlainBoardRig(Failing(bytesLeft: bytes), seed: 1, isStrict: true)
    let rig = RecoveringRig(board)
    let queue = CaseQueue(Self.reading, policy: RunPolicy()) { _ in }
    await queue.run(on: rig, seed: 1)
    return (await queue.results.map(\.outcome.word), rig.loss?.message)
  }

  @Test func `a device that falls silent fails its case, and ends the run`() async throws {
    let (words, loss) = try await results(bytes: 1500)
    #expect(words.dropLast(2).allSatisfy { $0 == "passed" } && words.suffix(2) == ["failed", "errored"])
    #expect(words.count < Self.reading.count)
    let reason = "the device has sent nothing since NTF-10/read-\(words.count - 1), and answers no opening"
    #expect(loss == reason)
  }

  /// A rig whose port stays away from its third case on.
  private final class Unplugged: Rig {
    let name = "unplugged"
    let offers: Set<Need> = [.session]
    private var runs = 0

    func makeBench(for testCase: Case, seed: UInt64) throws -> Bench {
      runs += 1
      guard runs < 3 else { throw RigTrouble("the port is gone", remedy: "plug it in", part: .port) }
      let device = VirtualDevice(wired: WiredDevice(profile: .standard, seed: seed, now: .zero))
      return Bench(line: VirtualLine(peer: device, now: .zero), control: nil, clock: .real, seed: seed)
    }

    func finish(_ bench: Bench) {}
    func close() {}
  }

  @Test func `a port that stays away is one error, and ends the run`() async throws {
    let rig = RecoveringRig(Unplugged())
    let queue = CaseQueue(Self.reading, policy: RunPolicy()) { _ in }
    await queue.run(on: rig, seed: 1)
    #expect(await queue.results.map(\.outcome.word) == ["passed", "passed", "errored"])
    #expect(rig.loss?.part == .port)
  }

  @Test func `a device that answers ends no run`() async throws {
    let (words, loss) = try await results(bytes: .max)
    #expect(words == [String](repeating: "passed", count: Self.reading.count))
    #expect(loss == nil)
  }
}

/// What a line reports that has ended.
@Suite struct ChannelLineTests {
  @Test func `a server that closes before the first case is a port that is gone`() async throws {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { $0.close() }
      .bind(host: "127.0.0.1", port: 0).get()
    let number = try #require(server.localAddress?.port)
    let name = try PortName(parsing: "socket://127.0.0.1:\(number)")
    let error = await #expect(throws: RigTrouble.self) { try await PortRig.open(name, name: "port") }
    #expect(error?.part == .port)
    try await server.close()
  }

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
