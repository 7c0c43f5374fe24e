#if Gateway
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix

/// Sends one request of a command to the running gateway, over its unix socket.
package enum CommandClient {
  /// Bytes of an answer, at most.
  private static let answerLimitBytes = 4_000_000

  package static func request(
    _ method: String, _ uri: String, body: [UInt8] = [], to folder: GatewayFolder
  ) async throws(GatewayFailure) -> (status: Int, body: String) {
    let group = MultiThreadedEventLoopGroup.singleton
    let answer = group.next().makePromise(of: (Int, String).self)
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
      return try await answer.futureResult.get()
    } catch {
      answer.fail(error)
      throw GatewayFailure(
        .noAnswer, "no gateway answers at \(folder.socket)", remedy: "start it with notibot-gateway run")
    }
  }
}

/// Collects one answer.
private final class AnswerHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let answer: EventLoopPromise<(Int, String)>
  private let limit: Int
  private var status = 0
  private var body: [UInt8] = []

  init(_ answer: EventLoopPromise<(Int, String)>, limit: Int) {
    self.answer = answer
    self.limit = limit
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): status = Int(head.status.code)
    case .body(let bytes):
      guard body.count + bytes.readableBytes <= limit else { return context.close(promise: nil) }
      body += bytes.readableBytesView
    case .end:
      answer.succeed((status, String(decoding: body, as: UTF8.self)))
      context.close(promise: nil)
    }
  }

  func channelInactive(context: ChannelHandlerContext) { answer.fail(ChannelError.eof) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
#endif
