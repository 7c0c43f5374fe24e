import NIOCore
import SerialLink

/// A Unix socket that carries the attribute protocol as BLE does, but without a radio: each
/// connection is a bearer, each record a PDU.
struct ATTSocket: Sendable {
  /// The most bytes of one read.
  static let readLimitBytes = 4096
  /// Bytes queued in this process for a client that does not read; the kernel buffers about 200 KiB
  /// more.
  static let writeBufferLimitBytes = 4096

  private let socket: EmulatorSocket

  /// Listens at `path`. Replaces the socket of a dead process, but no other file.
  static func open(
    at path: String, for server: EmulatorServer, on loop: any EventLoop
  ) async throws(PortError) -> ATTSocket {
    let socket = try await EmulatorSocket.open(at: path, on: loop) { channel in
      try channel.syncOptions?.setOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: readLimitBytes))
      try channel.syncOptions?.setOption(
        .writeBufferWaterMark, value: .init(low: writeBufferLimitBytes / 2, high: writeBufferLimitBytes))
      try channel.pipeline.syncOperations.addHandler(ATTSocketHandler(server: server))
    }
    return ATTSocket(socket: socket)
  }

  /// Stops listening and removes the socket, if it is still this one.
  func close() async { await socket.close() }
}

/// Passes the events of one connection to the emulator, which runs on the same event loop and reads
/// when it can take more.
final class ATTSocketHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let server: EmulatorServer
  /// nil before the connection has begun, and if the device accepts no further one.
  private var id: BearerID?

  init(server: EmulatorServer) {
    self.server = server
  }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    id = server.assumeIsolated { $0.connected(channel) }
    if id == nil { context.close(promise: nil) }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let id else { return }
    let bytes = Array(unwrapInboundIn(data).readableBytesView)
    server.assumeIsolated { $0.received(bytes, on: id) }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard context.channel.isWritable else { return }
    server.assumeIsolated { $0.drain() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    guard let id else { return }
    server.assumeIsolated { $0.disconnected(id) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A failed connection has ended; `channelInactive` informs the emulator.
    context.close(promise: nil)
  }
}
