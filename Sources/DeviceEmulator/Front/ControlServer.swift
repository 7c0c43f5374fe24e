import Foundation
import NIOCore
import SerialLink

/// A Unix socket that takes one JSON request per line and answers each with one line of JSON; for
/// one device, or for several that the requests number.
struct ControlServer: Sendable {
  /// The longest request, in bytes without its newline; a longer one ends the connection.
  static let lineLimitBytes = 16_384

  private let socket: EmulatorSocket

  /// Listens at `path`; `loop` is the one that all `servers` run on. Replaces the socket of a dead
  /// process, but no other file.
  static func open(
    at path: String, for servers: [EmulatorServer], on loop: any EventLoop
  ) async throws(PortError) -> ControlServer {
    let socket = try await EmulatorSocket.open(at: path, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(ControlHandler(servers: servers))
    }
    return ControlServer(socket: socket)
  }

  /// Stops listening and removes the socket, if it is still this one.
  func close() async { await socket.close() }
}

/// Splits the input into lines and answers them in order. It reads on only after all received
/// requests are answered, so that a client that does not read its answers does not grow a queue.
///
/// States: *answering* → `view` → *viewing*; → a request that is too long → *refused*. In both,
/// input is read and ignored.
final class ControlHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum State {
    case answering
    /// The task sends snapshots until the connection ends.
    case viewing(Task<Void, Never>)
    case refused
  }

  private let servers: [EmulatorServer]
  private var unread = ByteBuffer()
  private var state = State.answering

  init(servers: [EmulatorServer]) {
    self.servers = servers
  }

  func channelActive(context: ChannelHandlerContext) {
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .answering = state else { return }
    var bytes = unwrapInboundIn(data)
    unread.writeBuffer(&bytes)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if case .answering = state { answerNext(context) } else { context.read() }
  }

  func channelInactive(context: ChannelHandlerContext) {
    if case .viewing(let viewer) = state { viewer.cancel() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  private func answerNext(_ context: ChannelHandlerContext) {
    let end = unread.readableBytesView.firstIndex(of: UInt8(ascii: "\n"))
    guard (end ?? unread.writerIndex) - unread.readerIndex <= ControlServer.lineLimitBytes else {
      return refuse(context)
    }
    guard let end else {
      unread.discardReadBytes()
      return context.read()
    }
    let line = unread.readBytes(length: end - unread.readerIndex) ?? []
    unread.moveReaderIndex(forwardBy: 1)
    let servers = self.servers
    let channel = context.channel
    let request = try? JSONDecoder().decode(ControlRequest.self, from: Data(line))
    if request?.command == "view", let server = try? Self.device(of: request, among: servers),
      let snapshots = server.assumeIsolated({ $0.view() })
    {
      return stream(snapshots, context)
    }
    channel.eventLoop.makeFutureWithTask { await ControlHandler.reply(to: request, from: servers) }
      .flatMap { channel.writeAndFlush(ByteBuffer(bytes: $0)) }
      .assumeIsolated().whenComplete { result in
        switch result {
        case .success: self.answerNext(context)
        case .failure: context.close(promise: nil)
        }
      }
  }

  /// The rest of the input is read, because unread bytes would replace the answer with a reset.
  private func refuse(_ context: ChannelHandlerContext) {
    state = .refused
    unread = ByteBuffer()
    let reply = ControlReply.refused("the request is longer than \(ControlServer.lineLimitBytes) bytes")
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: Self.line(reply))), promise: nil)
    context.close(mode: .output, promise: nil)
    context.read()
  }

  /// Sends snapshots, each after the previous one was taken, until either side ends. Requests are
  /// no longer read.
  private func stream(_ snapshots: AsyncStream<[UInt8]>, _ context: ChannelHandlerContext) {
    let channel = context.channel
    let viewer = Task {
      for await snapshot in snapshots {
        do {
          try await channel.writeAndFlush(ByteBuffer(bytes: snapshot + [UInt8(ascii: "\n")]))
        } catch {
          break
        }
      }
      channel.close(promise: nil)
    }
    state = .viewing(viewer)
    context.read()
  }

  /// The device that a request means.
  private static func device(
    of request: ControlRequest?, among servers: [EmulatorServer]
  ) throws(Failure) -> EmulatorServer {
    let number = request?.device ?? (servers.count == 1 ? 1 : 0)
    guard 1...servers.count ~= number else {
      throw Failure(
        .usage,
        "this socket has the devices 1 to \(servers.count): name one, as in SOCKET#1 or {\"device\":1}")
    }
    return servers[number - 1]
  }

  /// The answer to a request; nil is a line that is none.
  private static func reply(to request: ControlRequest?, from servers: [EmulatorServer]) async -> [UInt8] {
    let reply: ControlReply
    do throws(Failure) {
      guard let request else {
        throw Failure(.usage, "this is not a request, such as {\"command\":\"stats\"}")
      }
      let server = try device(of: request, among: servers)
      switch request.command {
      case "view":
        throw Failure(.usage, "\(EmulatorServer.viewersLimit) others view this emulator already")
      case "wait": reply = await server.wait(for: try request.condition())
      default: reply = await server.perform(try request.parsed())
      }
    } catch {
      reply = .refused(error.description)
    }
    return line(reply)
  }

  private static func line(_ reply: ControlReply) -> [UInt8] {
    let encoded = (try? reply.printableJSON()) ?? #"{"error":"internal","ok":false}"#
    return Array((encoded + "\n").utf8)
  }
}
