import Glibc
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import SerialLink

@Suite struct PortLifetimeHandlerTests {
  let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  /// A channel whose kernel queue holds `unsent` bytes, unlike a PTY's.
  private func makeChannel(unsent: Unsent) throws -> EmbeddedChannel {
    let lock = try UUCPLock.acquire(devicePath: "/dev/board", directory: directory.path, port: "board")
    let tty = PortLifetimeHandler.TTY(
      descriptor: -1, claim: PortClaim(lock), unsentBytes: { _ in unsent.bytes.withLock { $0 } })
    let channel = EmbeddedChannel(handler: PortLifetimeHandler(port: "board", tty: tty))
    try channel.connect(to: SocketAddress(unixDomainSocketPath: "/board")).wait()
    return channel
  }

  @Test func `closing waits until the kernel has sent all bytes`() throws {
    let unsent = Unsent(100)
    let channel = try makeChannel(unsent: unsent)
    channel.close(promise: nil)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(50))
    #expect(channel.isActive)

    unsent.bytes.withLock { $0 = 0 }
    channel.embeddedEventLoop.advanceTime(by: PortLifetimeHandler.closeDrainInterval)

    #expect(!channel.isActive)
    #expect(FileSystem.names(in: directory.path) == [], "the lock file went with the channel")
  }

  @Test func `closing gives up on a device that has stopped reading`() throws {
    let channel = try makeChannel(unsent: Unsent(100))
    channel.close(promise: nil)
    channel.embeddedEventLoop.advanceTime(by: PortLifetimeHandler.closeDrainLimit - .milliseconds(5))
    #expect(channel.isActive)
    channel.embeddedEventLoop.advanceTime(by: .milliseconds(5))
    #expect(!channel.isActive)
  }

  @Test func `a system call that waits in the kernel is interrupted`() {
    var result: Int32 = 0
    var number: Int32 = 0
    PortDescriptor.interrupting {
      // The limit only ends a hang.
      result = poll(nil, 0, 60_000)
      number = errno
    }
    #expect(result == -1)
    #expect(number == EINTR)
  }

  @Test func `a waiting close succeeds if the device is lost meanwhile`() throws {
    let channel = try makeChannel(unsent: Unsent(100))
    let closed = channel.eventLoop.makePromise(of: Void.self)
    channel.close(promise: closed)
    // Below the handler, like a hang-up.
    try channel.pipeline.syncOperations.context(handlerType: PortLifetimeHandler.self).close(promise: nil)
    channel.embeddedEventLoop.advanceTime(by: PortLifetimeHandler.closeDrainInterval)
    try closed.futureResult.wait()
    #expect(!channel.isActive)
  }

  @Test(arguments: [[EIO], [EIO, EIO], [ENXIO], [ENODEV], []] as [[Int32]])
  func `any number of errors and hang-ups is one loss`(errors: [Int32]) throws {
    let channel = try makeChannel(unsent: Unsent(0))
    let failures = FailureCounter()
    try channel.pipeline.syncOperations.addHandler(failures)
    for number in errors {
      channel.pipeline.fireErrorCaught(IOError(errnoCode: number, reason: "read"))
    }
    channel.pipeline.fireChannelInactive()
    #expect(failures.seen == [PortError(.deviceGone, port: "board", operation: "read")])
  }

  @Test func `an error other than a loss keeps its number`() throws {
    let channel = try makeChannel(unsent: Unsent(0))
    let failures = FailureCounter()
    try channel.pipeline.syncOperations.addHandler(failures)
    channel.pipeline.fireErrorCaught(IOError(errnoCode: ENOMEM, reason: "read"))
    #expect(failures.seen == [PortError(.system(errno: ENOMEM), port: "board", operation: "read")])
    #expect(!channel.isActive)
  }
}

/// A count of bytes that the code under test reads and the test changes.
final class Unsent: Sendable {
  let bytes: Mutex<Int32>

  init(_ bytes: Int32) {
    self.bytes = Mutex(bytes)
  }
}

/// Keeps the port errors that reach the end of a pipeline.
private final class FailureCounter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  private(set) var seen: [PortError] = []

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? PortError { seen.append(error) }
  }
}
