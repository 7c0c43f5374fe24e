#if Gateway
import NIOCore
import NIOHTTP2
import NIOSSL

/// Why a connection ends before its first request.
enum ConnectionRefusal: Sendable {
  case notHTTP2
  /// TLS did not begin; the errors of its library.
  case handshake(String)
}

/// Recognises HTTP/2 by its first 24 bytes, because aioapns negotiates no protocol in TLS.
/// Source: RFC 9113 section 3.4.
final class PrefaceHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// Time for the handshake and the preface.
  static let timeLimit = TimeAmount.seconds(10)
  static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  private static let refusal = """
    HTTP/1.1 505 HTTP Version Not Supported\r\ncontent-type: text/plain\r\nconnection: close\r\n\
    content-length: 30\r\n\r\nThis port speaks HTTP/2 only.\n
    """

  private let upgrade: @Sendable (any Channel) throws -> Void
  private let refused: @Sendable (ConnectionRefusal) -> Void
  private var received = ByteBuffer()
  private var timer: Scheduled<Void>?
  private var isRefused = false

  init(
    upgrade: @escaping @Sendable (any Channel) throws -> Void,
    refused: @escaping @Sendable (ConnectionRefusal) -> Void
  ) {
    self.upgrade = upgrade
    self.refused = refused
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: Self.timeLimit) { bound.value.close(promise: nil) }
  }

  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isRefused else { return }
    var bytes = unwrapInboundIn(data)
    received.writeBuffer(&bytes)
    let start = received.readableBytesView.prefix(Self.preface.count)
    guard Self.preface.starts(with: start) else { return refuse(context) }
    guard start.count == Self.preface.count else { return }
    do {
      try upgrade(context.channel)
    } catch {
      return context.close(promise: nil)
    }
    context.fireChannelRead(wrapInboundOut(received))
    received.clear()
    context.fireChannelReadComplete()
    context.pipeline.syncOperations.removeHandler(self, promise: nil)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if case NIOSSLError.handshakeFailed(let reason)? = error as? NIOSSLError {
      // Of the library's text, the names of the errors, such as HTTP_REQUEST.
      let names = "\(reason)".split(separator: "OPENSSL_internal:").dropFirst().map {
        $0.prefix { $0 != " " }
      }
      refused(.handshake(names.isEmpty ? "\(reason)" : names.joined(separator: ", ")))
    }
    context.close(promise: nil)
  }

  private func refuse(_ context: ChannelHandlerContext) {
    isRefused = true
    refused(.notHTTP2)
    received.clear()
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(context.channel.allocator.buffer(string: Self.refusal)))
      .whenComplete { _ in bound.value.close(promise: nil) }
  }

  typealias InboundOut = ByteBuffer
}
#endif
