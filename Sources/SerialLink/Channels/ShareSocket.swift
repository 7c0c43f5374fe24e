import CSerialShim
import Foundation
import Glibc
import NIOCore
import NIOPosix

/// The client's side of the socket of `notibot share`. Source: docs/INTERFACE.md.
package enum ShareSocket {
  /// The name of the protocol in the first line from the server.
  package static let protocolName = "notibot-share"
  package static let protocolVersion = 1
  /// The longest line of either side, in bytes, with its newline.
  package static let lineLimitBytes = 16_384
  /// How long a client waits for the answer of a server.
  static let answerLimit = TimeAmount.seconds(5)

  /// The folder of the sockets without a path of their own: only this user can enter it.
  package static func folder() throws(PortError) -> String {
    try StableLink.defaultDirectory(named: "notibot", environment: ProcessInfo.processInfo.environment)
  }

  /// The path of the socket of a server with this pid.
  package static func defaultPath(pid: Int32 = getpid()) throws(PortError) -> String {
    "\(try folder())/share-\(pid).sock"
  }

  /// The only socket of this user at which a server listens.
  static func only() throws(PortError) -> String {
    let folder = try folder()
    let paths = FileSystem.names(in: folder).filter { $0.hasPrefix("share-") && $0.hasSuffix(".sock") }
      .map { "\(folder)/\($0)" }.sorted().filter(isServed)
    switch paths.count {
    case 1: return paths[0]
    case 0: throw PortError(.share(.none(folder: folder)), port: "share:", operation: "open")
    default: throw PortError(.share(.several(paths)), port: "share:", operation: "open")
    }
  }

  private static func isServed(_ path: String) -> Bool {
    let connected = serial_shim_connect_unix(path)
    if connected >= 0 { close(connected) }
    return connected >= 0
  }

  /// The port of a shared board, if its server says that it does not have it open; else nil, also
  /// for a server that does not answer.
  /// - Parameter path: of the socket; empty: the only one of this user.
  package static func lostPort(at path: String) async -> String? {
    await lostPort(at: path, within: answerLimit)
  }

  static func lostPort(at path: String, within limit: TimeAmount) async -> String? {
    let lost = try? await NIOThreadPool.singleton.runIfActive { lostPortNow(at: path, within: limit) }
    return lost ?? nil
  }

  /// Blocks.
  private static func lostPortNow(at path: String, within limit: TimeAmount) -> String? {
    struct Greeting: Decodable { var port: String }
    struct Status: Decodable { var open: Bool? }
    guard let path = try? path.isEmpty ? only() : path else { return nil }
    let connected = serial_shim_connect_unix(path)
    guard connected >= 0 else { return nil }
    let socket = OwnedDescriptor(owning: connected)
    let request = #"{"op":"status"}"# + "\n"
    var bytes: [UInt8] = []
    guard write(socket.raw, request, request.utf8.count) == request.utf8.count else { return nil }
    var lines: [ArraySlice<UInt8>] = []
    let end = NIODeadline.now() + limit
    while lines.count < 3 {
      var input = pollfd(fd: socket.raw, events: Int16(POLLIN), revents: 0)
      var chunk = [UInt8](repeating: 0, count: lineLimitBytes)
      let left = max(0, (end - .now()).nanoseconds / 1_000_000)
      guard poll(&input, 1, Int32(left)) == 1 else { return nil }
      let count = read(socket.raw, &chunk, chunk.count)
      guard count > 0, bytes.count <= 2 * lineLimitBytes else { return nil }
      bytes += chunk.prefix(count)
      lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    }
    let status = try? JSONDecoder().decode(Status.self, from: Data(lines[1]))
    guard status?.open == false else { return nil }
    return (try? JSONDecoder().decode(Greeting.self, from: Data(lines[0])))?.port
  }

  /// Attaches to a shared board.
  /// - Parameters:
  ///   - path: of the socket; empty: the only one of this user.
  ///   - isExclusive: whether the line itself is leased.
  static func open(
    _ path: String, isExclusive: Bool, on loop: any EventLoop,
    initializer: @escaping SerialChannel.Initializer
  ) async throws(PortError) -> any Channel {
    let path = path.isEmpty ? try only() : path
    let name = PortAddress.share(path: path, isExclusive: isExclusive).description
    let opened = loop.makePromise(of: Void.self)
    let channel: any Channel
    do {
      channel = try await UnixSocket.connect(to: path, on: loop) { channel in
        let sync = channel.pipeline.syncOperations
        try sync.addHandler(PortLifetimeHandler(port: name, tty: nil))
        try sync.addHandler(ShareHandler(port: name, isExclusive: isExclusive, opened: opened))
        try initializer(channel)
      }
    } catch {
      let failure =
        switch error.code {
        case .notFound: PortError(.share(.noServer("there is no such socket")), port: name, operation: "open")
        case .system(ECONNREFUSED):
          PortError(
            .share(.noServer("its server is no longer running")), port: name, operation: "open")
        // It accepts no connections: the queue of those that wait is full.
        case .system(EAGAIN): PortError(.share(.silent), port: name, operation: "open")
        default: error
        }
      opened.fail(failure)
      throw failure
    }
    do {
      try await withTaskCancellationHandler {
        try await opened.futureResult.get()
      } onCancel: {
        channel.close(promise: nil)
      }
      return channel
    } catch {
      try? await channel.close()
      throw (error as? PortError) ?? PortError(.share(.ended), port: name, operation: "open")
    }
  }
}

/// Reads the server's first line, asks for the board, and then passes bytes on.
///
/// States: *greeting* → *asking* → *open* → *closed*; handlers behind it see the channel active
/// when it is open, and see nothing of a port that could not be opened.
final class ShareHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum State {
    case greeting
    case asking
    case open
    case closed
  }

  private struct Greeting: Decodable {
    var `protocol`: String
    var version: Int
  }

  private struct Answer: Decodable {
    struct Failure: Decodable {
      var reason: String
      var hint: String?
      var exit: Int32?
    }
    var ok: Bool
    var error: Failure?
  }

  private let port: String
  private let isExclusive: Bool
  private let opened: EventLoopPromise<Void>
  private var state = State.greeting
  private var unread = ByteBuffer()
  private var timer: Scheduled<Void>?

  init(port: String, isExclusive: Bool, opened: EventLoopPromise<Void>) {
    (self.port, self.isExclusive, self.opened) = (port, isExclusive, opened)
  }

  func handlerAdded(context: ChannelHandlerContext) {
    let (loop, bound) = (context.eventLoop, NIOLoopBound(context, eventLoop: context.eventLoop))
    timer = loop.assumeIsolated().scheduleTask(in: ShareSocket.answerLimit) {
      self.refuse(.silent, bound.value)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    opened.fail(error(.ended))
  }

  func channelActive(context: ChannelHandlerContext) {
    // Reported when the server has answered.
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard state != .open else { return context.fireChannelRead(data) }
    var bytes = unwrapInboundIn(data)
    unread.writeBuffer(&bytes)
    while state == .greeting || state == .asking {
      guard let end = unread.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) else {
        if unread.readableBytes > ShareSocket.lineLimitBytes {
          refuse(.noServer("it is not a server of a shared board"), context)
        }
        return
      }
      guard end - unread.readerIndex < ShareSocket.lineLimitBytes else {
        return refuse(.noServer("it is not a server of a shared board"), context)
      }
      let line = unread.readBytes(length: end - unread.readerIndex) ?? []
      unread.moveReaderIndex(forwardBy: 1)
      receive(Data(line), context)
    }
  }

  private func receive(_ line: Data, _ context: ChannelHandlerContext) {
    switch state {
    case .greeting:
      guard let greeting = try? JSONDecoder().decode(Greeting.self, from: line),
        greeting.protocol == ShareSocket.protocolName
      else { return refuse(.noServer("it is not a server of a shared board"), context) }
      guard greeting.version == ShareSocket.protocolVersion else {
        return refuse(
          .noServer(
            "it uses version \(greeting.version) of its protocol, not \(ShareSocket.protocolVersion)"),
          context)
      }
      state = .asking
      let request = #"{"id":1,"op":"\#(isExclusive ? "lease" : "attach")"}"# + "\n"
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
    case .asking:
      guard let answer = try? JSONDecoder().decode(Answer.self, from: line) else {
        return refuse(.noServer("it is not a server of a shared board"), context)
      }
      guard answer.ok else {
        let failure = answer.error
        return refuse(
          .refused(
            reason: failure?.reason ?? "the server refused", hint: failure?.hint ?? "",
            FailureKind(refusedWith: failure?.exit ?? 18)), context)
      }
      state = .open
      timer?.cancel()
      opened.succeed()
      context.fireChannelActive()
      if unread.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(unread)) }
      unread = ByteBuffer()
    case .open, .closed: break
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard state == .open else { return refuse(.ended, context) }
    context.fireErrorCaught(self.error(.ended))
  }

  func channelInactive(context: ChannelHandlerContext) {
    let wasOpen = state == .open
    refuse(.ended, context)
    if wasOpen { context.fireChannelInactive() }
  }

  private func error(_ problem: ShareProblem) -> PortError {
    let isOpening = state == .greeting || state == .asking
    return PortError(.share(problem), port: port, operation: isOpening ? "open" : "read")
  }

  private func refuse(_ problem: ShareProblem, _ context: ChannelHandlerContext) {
    opened.fail(error(problem))
    timer?.cancel()
    state = .closed
    context.close(promise: nil)
  }
}
