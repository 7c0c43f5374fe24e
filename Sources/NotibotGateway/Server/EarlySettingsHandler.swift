#if Gateway
import NIOCore

/// Lets the settings of this server hold from a client's first request on, not only when the client
/// has acknowledged them.
///
/// A client can send any number of requests before it has read the settings (RFC 9113 section
/// 6.5.2), but NIOHTTP2 ends a connection with more than 100 of them. An acknowledgement is
/// therefore inserted behind the client's own settings, and the client's is left out.
final class EarlySettingsHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private static let headerBytes = 9
  private static let settingsType: UInt8 = 4
  private static let ackFlag: UInt8 = 1
  private static let acknowledgement: [UInt8] = [0, 0, 0, settingsType, ackFlag, 0, 0, 0, 0]

  private enum State {
    /// In the client's preface and its first frame.
    case opening
    case inserted
    /// The client has acknowledged the settings, or began with another frame than its settings.
    case ended
  }

  private var state = State.opening
  /// Bytes of the present frame, or of the preface, that follow.
  private var remainingBytes = PrefaceHandler.preface.count
  private var header: [UInt8] = []

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    var passed = context.channel.allocator.buffer(
      capacity: bytes.readableBytes + 2 * Self.headerBytes)
    while bytes.readableBytes > 0 { passNext(&bytes, into: &passed) }
    if passed.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(passed)) }
    if case .ended = state { context.pipeline.syncOperations.removeHandler(self, promise: nil) }
  }

  /// Passes on what belongs together: the rest of a frame, or its header.
  private func passNext(_ bytes: inout ByteBuffer, into passed: inout ByteBuffer) {
    if case .ended = state {
      passed.writeBuffer(&bytes)
    } else if remainingBytes > 0 {
      let count = min(remainingBytes, bytes.readableBytes)
      guard var part = bytes.readSlice(length: count) else { return }
      passed.writeBuffer(&part)
      remainingBytes -= count
      if remainingBytes == 0, !header.isEmpty { endFrame(into: &passed) }
    } else {
      let count = min(Self.headerBytes - header.count, bytes.readableBytes)
      header += bytes.readBytes(length: count) ?? []
      if header.count == Self.headerBytes { pass(header, into: &passed) }
    }
  }

  private func pass(_ header: [UInt8], into passed: inout ByteBuffer) {
    let isAck = header[3] == Self.settingsType && header[4] & Self.ackFlag != 0
    remainingBytes = header.prefix(3).reduce(0) { $0 << 8 | Int($1) }
    switch state {
    case .inserted where isAck && remainingBytes == 0: state = .ended
    case .opening where header[3] != Self.settingsType || isAck:
      state = .ended
      passed.writeBytes(header)
    case _:
      passed.writeBytes(header)
      if remainingBytes == 0 { endFrame(into: &passed) }
    }
  }

  private func endFrame(into passed: inout ByteBuffer) {
    header = []
    guard case .opening = state else { return }
    passed.writeBytes(Self.acknowledgement)
    state = .inserted
  }
}
#endif
