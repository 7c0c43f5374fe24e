import Foundation
import NIOCore
import NIOPosix
import SerialLink

/// Lines of text to and from a peer, in a conversation where each request has one answer.
///
/// States: *collecting*, which keeps the first lines of the peer → *open* at the first wait →
/// *ended* when the channel closes, which fails all waits. Lines that nobody waits for are dropped.
final class LineExchange: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  /// The longest line, in bytes; a longer one ends the conversation.
  static let lineLimitBytes = 65_536

  private struct Wait {
    var number: Int
    var matches: @Sendable (String) -> Bool
    var promise: EventLoopPromise<String>
    var limit: Scheduled<Void>
  }

  /// Lines that are kept before the first wait; later ones are dropped.
  static let earlyLinesLimit = 8

  private enum State {
    case collecting(early: [String])
    case open
    case ended
  }

  private let channel: any NIOCore.Channel
  /// The failure of a wait that has expired.
  private let silence: Failure
  private var state = State.collecting(early: [])
  private var waits: [Wait] = []
  private var lastNumber = 0
  private var unread: [UInt8] = []

  init(channel: any NIOCore.Channel, silence: Failure) {
    (self.channel, self.silence) = (channel, silence)
  }

  /// The next line that `matches`. Fails with `Failure` when the conversation ends, or after
  /// `limit`.
  func line(within limit: TimeAmount, matching matches: @escaping @Sendable (String) -> Bool)
    -> EventLoopFuture<String>
  {
    let promise = channel.eventLoop.makePromise(of: String.self)
    switch state {
    case .ended: promise.fail(Failure.qemuEnded)
    case .open: wait(promise, limit, matches)
    case .collecting(let early):
      state = .open
      wait(promise, limit, matches)
      early.forEach(receive)
    }
    return promise.futureResult
  }

  private func wait(
    _ promise: EventLoopPromise<String>, _ limit: TimeAmount, _ matches: @escaping @Sendable (String) -> Bool
  ) {
    lastNumber += 1
    let number = lastNumber
    let timer = channel.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.expire(number) }
    waits.append(Wait(number: number, matches: matches, promise: promise, limit: timer))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    unread += unwrapInboundIn(data).readableBytesView
    while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
      let line = String(decoding: unread[..<end], as: UTF8.self)
      unread.removeFirst(end + 1)
      receive(line.hasSuffix("\r") ? String(line.dropLast()) : line)
    }
    if unread.count > Self.lineLimitBytes { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    state = .ended
    waits.forEach {
      $0.limit.cancel()
      $0.promise.fail(Failure.qemuEnded)
    }
    waits = []
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func receive(_ line: String) {
    switch state {
    case .collecting(let early):
      if early.count < Self.earlyLinesLimit { state = .collecting(early: early + [line]) }
      return
    case .open, .ended: break
    }
    guard let index = waits.firstIndex(where: { $0.matches(line) }) else { return }
    let wait = waits.remove(at: index)
    wait.limit.cancel()
    wait.promise.succeed(line)
  }

  private func expire(_ number: Int) {
    guard let index = waits.firstIndex(where: { $0.number == number }) else { return }
    waits.remove(at: index).promise.fail(silence)
  }
}

/// A conversation from any thread.
struct LineConversation: Sendable {
  let channel: any NIOCore.Channel
  private let exchange: NIOLoopBound<LineExchange>

  /// On the channel's event loop only, before its first byte is read.
  init(addingTo channel: any NIOCore.Channel, silence: Failure = .qemuSilent) throws {
    let handler = LineExchange(channel: channel, silence: silence)
    try channel.pipeline.syncOperations.addHandler(handler)
    self.channel = channel
    exchange = NIOLoopBound(handler, eventLoop: channel.eventLoop)
  }

  /// A conversation with what `body` gives the raw descriptor of the other end, which is closed
  /// afterwards. Throws `PortError`, as `body` does.
  static func pair<Result: Sendable>(
    silence: Failure = .qemuSilent, _ body: (Int32) async throws(PortError) -> Result
  ) async throws(PortError) -> (LineConversation, Result) {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let made = loop.makePromise(of: LineConversation.self)
    do {
      let (_, result) = try await UnixSocket.pair(on: loop) { channel in
        made.succeed(try LineConversation(addingTo: channel, silence: silence))
      } _: { end throws(PortError) in
        try await body(end)
      }
      return (try await made.futureResult.get(), result)
    } catch {
      made.fail(error)
      throw (error as? PortError)
        ?? PortError(.system(errno: ECANCELED), port: "socket pair", operation: "open")
    }
  }

  /// Sends a line without waiting for an answer.
  func send(_ line: String) {
    channel.writeAndFlush(ByteBuffer(string: line + "\n"), promise: nil)
  }

  /// Sends a line, if there is one, and waits for the next lines that match, in any order.
  ///
  /// - Returns: the line that matched the first element of `wanted`.
  func ask(
    _ line: String?, within limit: Duration = .seconds(60), wanted: [@Sendable (String) -> Bool]
  ) async throws(Failure) -> String {
    let exchange = exchange
    do {
      return try await channel.eventLoop.flatSubmit {
        let answers = wanted.map { exchange.value.line(within: TimeAmount(limit), matching: $0) }
        if let line { send(line) }
        return EventLoopFuture.whenAllSucceed(answers, on: channel.eventLoop).map { $0[0] }
      }.get()
    } catch {
      throw (error as? Failure) ?? .qemuEnded
    }
  }
}
