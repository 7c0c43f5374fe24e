#if Gateway
import NIOCore
import NIOHTTP1

/// The answer to a request of this program.
struct HTTPAnswer: Sendable {
  var status: Int
  /// At most the handler's limit.
  var body: [UInt8]
}

/// Collects one answer, at most `limit` bytes of its body. Fails if the connection ends before.
final class AnswerHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart

  private let answer: EventLoopPromise<HTTPAnswer>
  private let limit: Int
  private var status = 0
  private var body: [UInt8] = []

  init(_ answer: EventLoopPromise<HTTPAnswer>, limit: Int) {
    self.answer = answer
    self.limit = limit
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): status = Int(head.status.code)
    case .body(let bytes):
      body += bytes.readableBytesView.prefix(limit - body.count)
      if body.count >= limit { finish(context) }
    case .end: finish(context)
    }
  }

  func channelInactive(context: ChannelHandlerContext) { answer.fail(ChannelError.eof) }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    answer.fail(error)
    context.close(promise: nil)
  }

  private func finish(_ context: ChannelHandlerContext) {
    answer.succeed(HTTPAnswer(status: status, body: body))
    context.close(promise: nil)
  }
}
#endif
