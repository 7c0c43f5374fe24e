import Glibc
import NIOCore
import Testing

@testable import SerialLink

@Suite(.timeLimit(.minutes(5))) struct PseudoTerminalTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func openDevice(_ terminal: consuming PseudoTerminal) async throws -> Recording {
    let (stream, continuation) = AsyncStream.makeStream(of: LinkEvent.self)
    let channel = try await PseudoTerminalChannel.open(terminal, on: testLoop) { channel in
      try channel.pipeline.syncOperations.addHandler(EventRecorder(continuation))
    }
    return Recording(channel: channel, stream: stream)
  }

  @Test func `only its owner can open the port`() throws {
    let terminal = try PseudoTerminal.open()
    let status = try #require(FileSystem.status(of: terminal.slavePath))
    #expect(status.st_mode & 0o777 == 0o600)
  }

  @Test func `the line does not echo before a host has opened it`() throws {
    let terminal = try PseudoTerminal.open()
    let (master, spare) = terminal.release()
    defer {
      close(master)
      close(spare)
    }
    #expect(write(master, "boot\n", 5) == 5)
    var arrived = pollfd(fd: spare, events: Int16(POLLIN), revents: 0)
    #expect(poll(&arrived, 1, 5000) == 1)
    var bytes = [UInt8](repeating: 0, count: 16)
    #expect(read(master, &bytes, bytes.count) == -1)
    #expect(errno == EAGAIN)
  }

  @Test func `a host can close and reopen the port, and each change is reported`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let options = directory.options
    var device = try await openDevice(terminal)
    for round in ["first", "second"] {
      let host = try await Recording {
        try await SerialChannel.open(path: path, options: options, on: testLoop, initializer: $0)
      }
      try await host.write(round)
      let arrival = [await device.next(), await device.next()]
      #expect(arrival.contains(.presence(.attached)))
      #expect(arrival.contains(.bytes(Array(round.utf8))))
      try await host.channel.close()
      let departure = await device.next()
      #expect(departure == .presence(.detached))
    }
    #expect(device.channel.isActive)
    try await device.channel.close()
    let rest = await device.rest()
    #expect(rest == [.ended])
  }

  @Test func `closing the device's channel is unplugging: the host loses it`()
    async throws
  {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let options = directory.options
    let device = try await openDevice(terminal)
    var host = try await Recording {
      try await SerialChannel.open(path: path, options: options, on: testLoop, initializer: $0)
    }

    try await device.channel.close()

    let rest = await host.rest()
    #expect(rest == [.failed(.deviceGone), .ended])
  }

  @Test func `an initializer that throws closes the pair`() async throws {
    struct Refusal: Error {}
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let descriptor = Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK)
    defer { close(descriptor) }
    do {
      _ = try await PseudoTerminalChannel.open(terminal, on: testLoop) { _ in throw Refusal() }
      Issue.record("the refusal was not rethrown")
    } catch {
      #expect(error.port == path)
    }
    var hangUp = pollfd(fd: descriptor, events: 0, revents: 0)
    #expect(poll(&hangUp, 1, 5000) == 1)
    #expect(hangUp.revents & Int16(POLLHUP) != 0)
  }

  @Test func `the device reads the rate that the host set`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    var options = directory.options
    options.bitsPerSecond = 74_880
    let device = try await openDevice(terminal)
    let port = try SerialPort.open(path, options: options)
    let channel = device.channel
    let rate = try await channel.eventLoop.submit {
      try PseudoTerminalChannel.hostBitsPerSecond(of: channel)
    }.get()
    #expect(rate == 74_880)
    _ = consume port
    try await device.channel.close()
  }

  @Test func `unread output can be discarded before the next host attaches`() async throws {
    let terminal = try PseudoTerminal.open()
    let path = terminal.slavePath
    let device = try await openDevice(terminal)
    try await device.write("stale")
    let descriptor = Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK)
    defer { close(descriptor) }
    var arrived = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    #expect(poll(&arrived, 1, 5000) == 1)

    let channel = device.channel
    try await channel.eventLoop.submit {
      try PseudoTerminalChannel.discardUnreadOutput(of: channel)
    }.get()

    #expect(poll(&arrived, 1, 0) == 0)
    try await device.channel.close()
  }
}
