import ArgumentParser
import DeviceEmulator
import Foundation
import NIOCore
import NIOPosix
import SerialLink

/// `notibot view`: serves the display of an emulator in another process as a page.
struct ViewCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "view", abstract: "Show the display of an emulator in a browser.",
    discussion: """
      Prints the address of a page on 127.0.0.1, and serves it until SIGINT or SIGTERM, or until the emulator ends. The \
      page shows notifications, console, frames and counters as they change; its buttons dismiss notifications, choose \
      actions, restart and unplug the device. The address contains a random token: anyone who has it can do the same. \
      `notibot emulate --view` serves the page of its own device.

      EXIT CODES HERE
        10: no emulator listens at the socket. 14: the emulator ended.
      """)

  @Option(
    help: ArgumentHelp("Control socket of `notibot emulate --control`.", valueName: "path"),
    completion: .file())
  var socket: String

  @Option(help: ArgumentHelp("TCP port of the page (default: any free port).", valueName: "port"))
  var port: UInt16 = 0

  @Flag(help: "Print one line of JSON: url, socket, pid.")
  var json = false

  private struct Announcement: Encodable {
    var schema = "notibot.view"
    var version = 1
    var url: String
    var socket: String
    var pid: Int32
  }

  func run() async throws {
    Output.beginServing()
    try await Interruption.cancelling {
      let client = ControlClient(path: socket)
      // Also finds a socket that is not there, or is that of several devices.
      try await client.send(ControlRequest(words: ["stats"])).check()
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let (snapshots, sink) = AsyncStream.makeStream(of: [UInt8].self, bufferingPolicy: .bufferingNewest(1))
      let channel = try await UnixSocket.connect(to: client.path, on: loop) { channel in
        try channel.pipeline.syncOperations.addHandler(SnapshotHandler(sink: sink))
      }
      do {
        var view = ControlRequest.view
        view.device = client.device
        let request = try JSONEncoder().encode(view) + Data([UInt8(ascii: "\n")])
        try await channel.writeAndFlush(ByteBuffer(bytes: request))
        let server = try await ViewServer.open(port: Int(port)) { request in
          do throws(Failure) {
            return try await client.send(request)
          } catch {
            return .refused(error.message.printable)
          }
        }
        if json {
          try Output.json(Announcement(url: server.gate.address, socket: socket, pid: getpid()))
        } else {
          Output.data(server.gate.address)
          Output.note("showing the emulator at \(socket.printable); press Ctrl-C to exit")
        }
        await server.run(snapshots)
        try? await channel.close()
      } catch {
        try? await channel.close()
        throw error
      }
      guard Task.isCancelled else {
        throw Failure(
          .linkLost, "the emulator at \(socket.printable) has ended", remedy: "start it again")
      }
    }
  }
}

/// Passes on each line that is a snapshot, and drops the others; ends with the connection, or at a
/// line that is too long.
private final class SnapshotHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  static let lineLimitBytes = 1_048_576

  /// The field that all snapshots have. To find it, the decoder parses the whole line as JSON.
  private struct Opening: Decodable {
    var ok: Bool
  }

  private let sink: AsyncStream<[UInt8]>.Continuation
  private var unread = ByteBuffer()

  init(sink: AsyncStream<[UInt8]>.Continuation) {
    self.sink = sink
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    unread.writeBuffer(&bytes)
    while let end = unread.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
      let taken = unread.readBytes(length: end - unread.readerIndex) ?? []
      unread.moveReaderIndex(forwardBy: 1)
      // A server-sent event ends at CR too, which JSON allows between values only.
      let line = taken.map { $0 == UInt8(ascii: "\r") ? UInt8(ascii: " ") : $0 }
      guard (try? JSONDecoder().decode(Opening.self, from: Data(line))) != nil else { continue }
      sink.yield(line)
    }
    unread.discardReadBytes()
    if unread.readableBytes > Self.lineLimitBytes { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    sink.finish()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }
}
