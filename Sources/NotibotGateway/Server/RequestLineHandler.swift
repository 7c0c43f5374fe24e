#if Gateway
import NIOCore

/// Percent-encodes bytes above ASCII in the request line: `curl "HOST/t?message=Grüße"` sends them
/// as they are, which ntfy's server accepts and SwiftNIO's parser does not.
///
/// States: *at a request line* → its line end → *after it* → `endRequest` → at a request line. A
/// request that was sent before the answer to the previous one is passed on unchanged.
final class RequestLineHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private var isAtLine = true

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard isAtLine else { return context.fireChannelRead(data) }
    let bytes = unwrapInboundIn(data).readableBytesView
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
    isAtLine = end == bytes.endIndex
    guard bytes[..<end].contains(where: { $0 >= 0x80 }) else { return context.fireChannelRead(data) }
    var encoded = context.channel.allocator.buffer(capacity: bytes.count)
    for byte in bytes[..<end] {
      if byte < 0x80 {
        encoded.writeInteger(byte)
      } else {
        encoded.writeString("%" + String(byte, radix: 16))
      }
    }
    encoded.writeBytes(bytes[end...])
    context.fireChannelRead(wrapInboundOut(encoded))
  }

  /// The next bytes begin a request.
  func endRequest() { isAtLine = true }
}
#endif
