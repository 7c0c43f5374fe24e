import Foundation
import NIOCore

/// Splits the output of a process into lines, each of which is a JSON document; other lines are
/// dropped. The stream ends with the channel.
final class DocumentReader<Document: Decodable & Sendable>: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  /// Longer than any line.
  private static var lineLimitBytes: Int { 1 << 20 }

  private let sink: AsyncStream<Document>.Continuation
  private let decoder = JSONDecoder()
  private var line: [UInt8] = []

  init(sink: AsyncStream<Document>.Continuation) {
    self.sink = sink
    decoder.keyDecodingStrategy = .convertFromSnakeCase
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    for byte in unwrapInboundIn(data).readableBytesView {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        continue
      }
      if let document = try? decoder.decode(Document.self, from: Data(line)) { sink.yield(document) }
      line.removeAll(keepingCapacity: true)
    }
    if line.count > Self.lineLimitBytes { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    sink.finish()
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
