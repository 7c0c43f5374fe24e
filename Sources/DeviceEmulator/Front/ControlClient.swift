import Foundation
import NIOCore
import NIOPosix
package import SerialLink

/// Sends requests to the control socket of an emulator in another process. One connection per
/// request.
package struct ControlClient: Sendable {
  /// The longest answer, in bytes; that of `list` is the longest.
  static let replyLimitBytes = 1_048_576

  /// The socket.
  package let path: String
  /// The number of the device, from 1, at a socket of several; nil: it has one.
  package let device: Int?

  /// - Parameter name: the path of the socket, and for one of several devices `#` and its number.
  package init(path name: String) {
    let parts = name.split(separator: "#", omittingEmptySubsequences: false)
    device = parts.count > 1 ? parts.last.flatMap { Int($0) } : nil
    path = device == nil ? name : parts.dropLast().joined(separator: "#")
  }

  /// Sends one request and waits for its answer, at most `timeout`.
  package func perform(
    _ command: DeviceCommand, timeout: Duration = .seconds(5)
  ) async throws(Failure) -> ControlReply {
    try await send(ControlRequest(command), timeout: timeout)
  }

  /// Sends one request and waits for its answer, at most `timeout`.
  /// - Throws: `Failure`: `noBoard`, `noPermission`, or `noAnswer` if the connection ended, or the
  ///   timeout expired, before the answer.
  package func send(
    _ request: ControlRequest, timeout: Duration = .seconds(5)
  ) async throws(Failure) -> ControlReply {
    guard path.utf8.count <= UnixSocket.pathLimitBytes else { throw unreachable("the path is too long") }
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let answer = loop.makePromise(of: [UInt8].self)
    let channel: any NIOCore.Channel
    do {
      channel = try await ClientBootstrap(group: loop).channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(ReplyHandler(answer: answer))
        }
      }.connect(unixDomainSocketPath: path).get()
    } catch {
      answer.fail(error)
      if let number = (error as? IOError)?.errnoCode, number == EACCES || number == EPERM {
        throw Failure(
          .noPermission, "cannot connect to \(path.printable): permission denied",
          remedy: "run this as the user who started the emulator")
      }
      let reason = (error as? IOError).map { String(cString: strerror($0.errnoCode)) } ?? "no connection"
      throw unreachable(reason)
    }
    let limit = loop.scheduleTask(in: TimeAmount(timeout)) { channel.close(promise: nil) }
    defer { limit.cancel() }
    do {
      var request = request
      request.device = request.device ?? device
      let line = try JSONEncoder().encode(request) + Data([UInt8(ascii: "\n")])
      try await channel.writeAndFlush(ByteBuffer(bytes: line))
      let reply = try JSONDecoder().decode(ControlReply.self, from: Data(try await answer.futureResult.get()))
      channel.close(promise: nil)
      return reply
    } catch {
      channel.close(promise: nil)
      throw Failure(
        .noAnswer, "the emulator at \(path.printable) did not answer",
        remedy: "check that its process is still running")
    }
  }

  private func unreachable(_ reason: String) -> Failure {
    Failure(
      .noBoard, "cannot connect to \(path.printable): \(reason)",
      remedy: "start an emulator with: notibot emulate --control \(path.printable)")
  }
}

/// Collects one line; fails if the connection ends before it.
private final class ReplyHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let answer: EventLoopPromise<[UInt8]>
  private var unread: [UInt8] = []

  init(answer: EventLoopPromise<[UInt8]>) {
    self.answer = answer
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    unread += unwrapInboundIn(data).readableBytesView
    if let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
      answer.succeed(Array(unread[..<end]))
    } else if unread.count > ControlClient.replyLimitBytes {
      context.close(promise: nil)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    answer.fail(ChannelError.eof)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
