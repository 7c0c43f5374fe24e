import ArgumentParser
import DeviceEmulator
import Foundation
import NIOCore
import NIOPosix
import NotibotHost
import SerialLink

/// `notibot share`: lets several programs use one board.
struct ShareCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "share", abstract: "Let several programs use one board at the same time.",
    discussion: """
      Holds the port, prints the path of a unix socket, and serves it until SIGINT or SIGTERM. The other commands use \
      the board as port share:PATH, or share: if one server of the user runs without --socket. The server reconnects \
      when the board restarts, or is unplugged and plugged in again.

      EXIT CODES HERE
        11: the port is in use, or another process listens at the path.
      """)

  @OptionGroup var port: PortOptions

  @Option(
    help: ArgumentHelp(
      "Path of the socket.", discussion: "Default: in the user's runtime directory, where share: finds it.",
      valueName: "path"),
    completion: .file())
  var socket: String?

  @Flag(help: "Print one line of JSON: socket, port, pid.")
  var json = false

  private struct Announcement: Encodable {
    var schema = "notibot.share"
    var version = 1
    var socket: String
    var port: String
    var pid: Int32
  }

  func run() async throws {
    let target = try port.resolvedPort().value
    if case .address(.share) = target {
      throw Failure(.usage, "this board is shared already", remedy: "use its share: port")
    }
    let options = SerialOptions(bitsPerSecond: try port.resolvedBitsPerSecond().value)
    let path = try socket ?? ShareSocket.defaultPath()
    Output.beginServing()
    Output.endWithReader()
    try await Interruption.cancelling {
      try await BoardAccess.withPort(port.line) { name in
        let name = try await BoardAccess.located(
          name, bitsPerSecond: options.bitsPerSecond, timeout: .seconds(port.answer.timeout))
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let server = ShareServer(port: name, options: options, on: loop)
        let listening = try await listen(at: path, server, on: loop)
        do {
          try await server.run {
            if json {
              try Output.json(Announcement(socket: path, port: target.description, pid: getpid()))
            } else {
              Output.data(path)
              Output.note("sharing \(target.description.printable); press Ctrl-C to exit")
            }
          }
          await listening.close()
        } catch {
          await listening.close()
          throw error
        }
      }
    }
  }

  private func listen(at path: String, _ server: ShareServer, on loop: any EventLoop) async throws
    -> EmulatorSocket
  {
    do {
      return try await EmulatorSocket.open(at: path, on: loop) { channel in
        try channel.pipeline.syncOperations.addHandler(ShareClientHandler(server: server))
      }
    } catch {
      var failure = Failure(error)
      if case .linkOccupied(let text) = error.code, text.hasPrefix("another process") {
        failure.kind = .portBusy
        failure.remedy = "use it as port share:\(path.printable), or choose another path"
      }
      throw failure
    }
  }
}

/// The only handler of a client's connection.
private final class ShareClientHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let server: ShareServer
  private var id = 0

  init(server: ShareServer) { self.server = server }

  func channelActive(context: ChannelHandlerContext) {
    let channel = context.channel
    let option = ChannelOptions.Types.SocketOption(level: .socket, name: .init(rawValue: SO_PEERCRED))
    let pid = Int32(truncatingIfNeeded: (try? channel.syncOptions?.getOption(option)) ?? 0)
    id = server.assumeIsolated { $0.nextNumber() }
    server.assumeIsolated { [id] in $0.admit(id, channel, pid: pid) }
    try? channel.syncOptions?.setOption(.autoRead, value: true)
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let (buffer, id) = (unwrapInboundIn(data), id)
    server.assumeIsolated { $0.receive(buffer, from: id) }
  }

  func channelReadComplete(context: ChannelHandlerContext) { server.assumeIsolated { $0.drainActions() } }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    server.assumeIsolated { $0.drainActions() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func channelInactive(context: ChannelHandlerContext) {
    let id = id
    server.assumeIsolated { $0.leave(id) }
  }
}
