import NIOCore
import NIOPosix
import Testing

@testable import SerialLink

/// The question to a server of a shared board whether it has its board.
@Suite struct ShareSocketTests {
  private static let greeting = #"{"protocol":"notibot-share","version":1,"port":"/dev/board"}"# + "\n"

  @Test(
    arguments: [
      ([#"{"ok":true,"open":false}"# + "\n"], "/dev/board"), ([#"{"ok":true,"open":true}"# + "\n"], nil),
      ([#"{"ok":tr"#, #"ue,"open":false}"# + "\n"], "/dev/board"), (["no JSON\n"], nil),
      // More than two lines have.
      ([String(repeating: "x", count: 60_000)], nil),
    ])
  func `only a server that says so has lost its board`(answer: [String], port: String?) async throws {
    let directory = try TemporaryDirectory()
    let server = try await serve(at: directory.file("s")) { channel in
      for part in [Self.greeting] + answer { channel.writeAndFlush(ByteBuffer(string: part), promise: nil) }
    }
    #expect(await ShareSocket.lostPort(at: directory.file("s")) == port)
    try await server.close()
    #expect(await ShareSocket.lostPort(at: directory.file("s")) == nil)
  }

  @Test func `a server that sends a byte now and then does not hold the question`() async throws {
    let directory = try TemporaryDirectory()
    let server = try await serve(at: directory.file("s")) { channel in
      channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(20)) { _ in
        channel.writeAndFlush(ByteBuffer(string: " "), promise: nil)
      }
    }
    #expect(await ShareSocket.lostPort(at: directory.file("s"), within: .milliseconds(200)) == nil)
    try await server.close()
  }

  private final class Greeter: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let greet: @Sendable (any Channel) -> Void

    init(_ greet: @escaping @Sendable (any Channel) -> Void) { self.greet = greet }

    func channelActive(context: ChannelHandlerContext) { greet(context.channel) }
  }

  /// A server that greets each client with `greet`.
  private func serve(at path: String, greet: @escaping @Sendable (any Channel) -> Void) async throws
    -> any Channel
  {
    try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Greeter(greet))
        }
      }
      .bind(unixDomainSocketPath: path).get()
  }
}
