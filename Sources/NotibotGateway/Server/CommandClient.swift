#if Gateway
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
package import SerialLink

/// Sends one request of a command to the running gateway, over its unix socket.
package enum CommandClient {
  /// Bytes of an answer, at most.
  private static let answerLimitBytes = 4_000_000
  /// Time for an answer, without what the request itself waits for.
  private static let answerLimit = TimeAmount.seconds(30)

  /// - Parameter waitSeconds: how long the gateway waits before it answers.
  package static func request(
    _ method: String, _ uri: String, body: [UInt8] = [], waitSeconds: Int64 = 0, to folder: GatewayFolder
  ) async throws(Failure) -> (status: Int, body: String) {
    try folder.checkLength()
    let group = MultiThreadedEventLoopGroup.singleton
    let answer = group.next().makePromise(of: HTTPAnswer.self)
    let limit = answerLimit + .seconds(waitSeconds)
    let late = Failure(
      .noAnswer,
      "the gateway at \(folder.socket) did not answer within \(limit.nanoseconds / 1_000_000_000) s",
      remedy: "it is stopped or stuck; end it, and start it with notibot-gateway run")
    let timer = answer.futureResult.eventLoop.scheduleTask(in: limit) { answer.fail(late) }
    defer { timer.cancel() }
    do {
      let channel = try await ClientBootstrap(group: group)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHTTPClientHandlers()
            try channel.pipeline.syncOperations.addHandler(AnswerHandler(answer, limit: answerLimitBytes))
          }
        }
        .connect(unixDomainSocketPath: folder.socket).get()
      let headers = HTTPHeaders([
        ("host", "localhost"), ("content-length", "\(body.count)"), ("connection", "close"),
      ])
      let head = HTTPRequestHead(
        version: .http1_1, method: .init(rawValue: method), uri: uri, headers: headers)
      channel.write(HTTPClientRequestPart.head(head), promise: nil)
      channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
      try await channel.writeAndFlush(HTTPClientRequestPart.end(nil)).get()
      let received = try await answer.futureResult.always { _ in channel.close(promise: nil) }.get()
      guard received.body.count < answerLimitBytes else { throw ChannelError.eof }
      return (received.status, String(decoding: received.body, as: UTF8.self))
    } catch let failure as Failure {
      throw failure
    } catch {
      answer.fail(error)
      throw Failure(
        .noAnswer, "no gateway answers at \(folder.socket)", remedy: "start it with notibot-gateway run")
    }
  }
}
#endif
