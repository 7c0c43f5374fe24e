import NIOCore
import NIOPosix

@testable import SerialLink

/// The events of a channel's last handler, in order.
enum LinkEvent: Equatable, Sendable {
  case bytes([UInt8])
  case presence(HostPresence)
  case failed(PortError.Code)
  case otherError(String)
  case ended
}

/// Passes every event on to a stream that a test reads.
final class EventRecorder: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let continuation: AsyncStream<LinkEvent>.Continuation

  init(_ continuation: AsyncStream<LinkEvent>.Continuation) {
    self.continuation = continuation
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    continuation.yield(.bytes(Array(unwrapInboundIn(data).readableBytesView)))
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let presence = event as? HostPresence { continuation.yield(.presence(presence)) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let error = error as? PortError {
      continuation.yield(.failed(error.code))
    } else {
      continuation.yield(.otherError("\(error)"))
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    continuation.yield(.ended)
    continuation.finish()
  }
}

/// The events of one channel, read one by one.
struct Recording {
  let channel: any Channel
  private var events: AsyncStream<LinkEvent>.AsyncIterator

  /// Opens a channel with `open` and records it.
  init(_ open: (@escaping SerialChannel.Initializer) async throws -> any Channel) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: LinkEvent.self)
    events = stream.makeAsyncIterator()
    channel = try await open { channel in
      try channel.pipeline.syncOperations.addHandler(EventRecorder(continuation))
    }
  }

  /// Records a channel whose last handler writes to `stream`.
  init(channel: any Channel, stream: AsyncStream<LinkEvent>) {
    self.channel = channel
    events = stream.makeAsyncIterator()
  }

  /// The next event, or `nil` after the end.
  mutating func next() async -> LinkEvent? {
    await events.next()
  }

  /// Bytes until `count` of them are received, or fewer if another event came first.
  mutating func bytes(_ count: Int) async -> [UInt8] {
    var result: [UInt8] = []
    while result.count < count, case .bytes(let more) = await events.next() { result += more }
    return result
  }

  /// Every event until the end.
  mutating func rest() async -> [LinkEvent] {
    var result: [LinkEvent] = []
    while let event = await events.next() { result.append(event) }
    return result
  }

  func write(_ text: String) async throws {
    try await channel.writeAndFlush(ByteBuffer(string: text))
  }
}

let testLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
