import Glibc
import NIOCore
import NIOPosix
import Testing

@testable import SerialLink

@Suite(.timeLimit(.minutes(5))) struct SerialChannelTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func openHost(_ path: String) async throws -> Recording {
    let options = directory.options
    return try await Recording {
      try await SerialChannel.open(path: path, options: options, on: testLoop, initializer: $0)
    }
  }

  @Test func `bytes go both ways unchanged, all 256 of them`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let (master, spare) = terminal.release()
    defer {
      close(master)
      close(spare)
    }
    var host = try await openHost(path)
    let all = (0...255).map { UInt8($0) }
    #expect(write(master, all, 256) == 256)
    let received = await host.bytes(256)
    #expect(received == all)

    try await host.channel.writeAndFlush(ByteBuffer(bytes: all))
    var echoed = [UInt8](repeating: 0, count: 300)
    var ready = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
    #expect(poll(&ready, 1, 5000) == 1)
    #expect(read(master, &echoed, echoed.count) == 256)
    #expect(Array(echoed.prefix(256)) == all)
    try await host.channel.close()
  }

  @Test func `end of input is the loss of the device, reported once, after the last bytes`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let (master, spare) = terminal.release()
    close(spare)
    var host = try await openHost(path)
    #expect(write(master, "tail", 4) == 4)
    let tail = await host.bytes(4)
    #expect(tail == Array("tail".utf8))

    close(master)

    let rest = await host.rest()
    #expect(rest == [.failed(.deviceGone), .ended])
  }

  @Test func `EIO is the loss of the device, reported once`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let (master, spare) = terminal.release()
    // The master's end is driven here as a port: with no slave left it answers EIO.
    let claim = PortClaim(try UUCPLock.acquire(devicePath: path, directory: directory.path, port: path))
    var device = try await Recording { initializer in
      try await SerialChannel.adopt(
        SerialChannel.Released(name: "board", descriptor: master, claim: claim), on: testLoop,
        initializer: initializer)
    }

    close(spare)

    let rest = await device.rest()
    #expect(rest == [.failed(.deviceGone), .ended])
  }

  @Test func `a write to a lost device ends the channel as a loss`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let (master, spare) = terminal.release()
    close(spare)
    var host = try await openHost(path)
    try await host.channel.setOption(.autoRead, value: false).get()
    close(master)

    let channel = host.channel
    await #expect(throws: (any Error).self) {
      // A process that another test has just forked has the master open until it runs its program.
      // Until then writes find room, and when there is none, they wait.
      while true { try await channel.writeAndFlush(ByteBuffer(string: "lost")) }
    }

    let rest = await host.rest()
    #expect(rest == [.failed(.deviceGone), .ended])
  }

  @Test func `closing from this side reports no error`() async throws {
    let terminal = try PseudoTerminal.open()
    var host = try await openHost(terminal.slavePath)
    try await host.channel.close()
    let rest = await host.rest()
    #expect(rest == [.ended])
  }

  @Test func `locks live exactly as long as the channel`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let lockPath = UUCPLock.lockPath(devicePath: path, directory: directory.path)
    let host = try await openHost(path)
    #expect(UUCPLock.owner(of: lockPath) == .process(getpid()))
    await #expect(throws: PortError.self) { _ = try await openHost(path) }

    try await host.channel.close()
    try await host.channel.closeFuture.get()

    #expect(UUCPLock.owner(of: lockPath) == nil)
    let again = try await openHost(path)
    try await again.channel.close()
  }

  @Test func `an initializer that throws closes the port and releases its locks`() async throws {
    struct Refusal: Error {}
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let options = directory.options
    await #expect(throws: PortError.self) {
      _ = try await SerialChannel.open(path: path, options: options, on: testLoop) { _ in throw Refusal() }
    }
    // The event loop drops the refused channel shortly after it has reported the refusal: the lock
    // file first, the descriptor and its flock last.
    try await waitUntil {
      guard let port = try? SerialPort.open(path, options: options) else { return false }
      _ = consume port
      return true
    }
    #expect(FileSystem.names(in: directory.path).isEmpty)
    let again = try await openHost(path)
    try await again.channel.close()
  }

  @Test func `the rate can be changed while open`() async throws {
    let terminal = try PseudoTerminal.open()
    let host = try await openHost(terminal.slavePath)
    try await SerialChannel.perform(.rate(74_880), on: host.channel)
    let seen = try terminal.hostBitsPerSecond()
    #expect(seen == 74_880)
    try await host.channel.close()
    let channel = host.channel
    await #expect(throws: PortError.self) {
      try await SerialChannel.perform(.rate(9600), on: channel)
    }
  }

  @Test func `a queued burst is read in chunks larger than a default buffer`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let (master, spare) = terminal.release()
    defer {
      close(master)
      close(spare)
    }
    var host = try await openHost(path)
    let burst = [UInt8](repeating: 7, count: 8192)
    try await host.channel.setOption(.autoRead, value: false).get()
    #expect(write(master, burst, burst.count) == burst.count)
    try await waitForInput(of: spare, bytes: 4000)
    try await host.channel.setOption(.autoRead, value: true).get()
    var chunkSizes: [Int] = []
    while chunkSizes.reduce(0, +) < burst.count, case .bytes(let chunk) = await host.next() {
      chunkSizes.append(chunk.count)
    }
    #expect(chunkSizes.reduce(0, +) == burst.count)
    #expect(chunkSizes.max() ?? 0 > 2048)
    try await host.channel.close()
  }

  @Test func `a missing port throws the reason through the channel opener`() async throws {
    let error = await #expect(throws: PortError.self) { _ = try await openHost("/dev/ttyNONE7") }
    #expect(error?.code == .notFound(present: PortList.paths()))
  }

  @Test(.timeLimit(.minutes(5)))
  func `a TCP port is released at once, even if a program that was started meanwhile keeps running`()
    async throws
  {
    let accepted = testLoop.makePromise(of: (any Channel).self)
    let server = try await ServerBootstrap(group: testLoop).childChannelInitializer { child in
      accepted.succeed(child)
      return child.eventLoop.makeSucceededVoidFuture()
    }.bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    let channel = try await SerialChannel.connect(host: "127.0.0.1", port: port, on: testLoop) { _ in }
    let heir = try Heir()
    try await channel.close()
    // Ends when the client's end is seen, regardless of the inheriting program.
    try await accepted.futureResult.get().closeFuture.get()
    #expect(heir.isRunning)
    heir.end()
    try await server.close()
  }

  @Test func `a TCP port is a link like any other, and its end is the loss of the device`() async throws {
    let server = try await ServerBootstrap(group: testLoop).childChannelInitializer { child in
      child.eventLoop.makeCompletedFuture { try child.pipeline.syncOperations.addHandler(Greeter()) }
    }.bind(host: "127.0.0.1", port: 0).get()
    let port = try #require(server.localAddress?.port)
    var client = try await Recording {
      try await SerialChannel.connect(host: "127.0.0.1", port: port, on: testLoop, initializer: $0)
    }
    let greeting = await client.bytes(5)
    #expect(greeting == Array("hello".utf8))
    let rest = await client.rest()
    #expect(rest == [.failed(.deviceGone), .ended])
    let channel = client.channel
    await #expect(throws: PortError.self) {
      try await SerialChannel.perform(.rate(9600), on: channel)
    }
    try await server.close()

    // Port 1: the one just released can already belong to another process.
    let error = await #expect(throws: PortError.self) {
      _ = try await SerialChannel.connect(host: "127.0.0.1", port: 1, on: testLoop) { _ in }
    }
    guard case .unreachable = error?.code else {
      Issue.record("expected an unreachable port, got \(String(describing: error))")
      return
    }
  }
}

/// Sends hello to each client, then hangs up.
private final class Greeter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  func channelActive(context: ChannelHandlerContext) {
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "hello")), promise: nil)
    context.close(promise: nil)
  }
}
