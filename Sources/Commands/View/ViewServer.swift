import DeviceEmulator
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import SerialLink

/// Serves the live page of an emulator on loopback: page, script, style, snapshots as server-sent
/// events, and commands. Everything happens on one event loop.
actor ViewServer {
  static let connectionsLimit = 16
  /// Of a whole request, header and body; each connection takes one request.
  static let requestLimitBytes = 8192
  static let requestLimit = TimeAmount.seconds(10)
  /// A client of `events` that takes nothing for this long is disconnected.
  static let stallLimit = TimeAmount.seconds(60)

  /// Performs a request of the page.
  typealias Performer = @Sendable (ControlRequest) async -> ControlReply

  nonisolated let unownedExecutor: UnownedSerialExecutor
  let loop: any EventLoop
  let gate: ViewGate
  private let perform: Performer
  private let listener: any NIOCore.Channel
  private var connections: [ObjectIdentifier: any NIOCore.Channel] = [:]
  /// The connections that have not sent a permitted request, oldest first.
  private var strangers: [ObjectIdentifier] = []
  /// The clients of `events`; whether each has the latest snapshot.
  private var readers: [ObjectIdentifier: Bool] = [:]
  private var latest: [UInt8]?
  private var hasStopped = false

  private init(
    _ listener: any NIOCore.Channel, _ gate: ViewGate, _ perform: @escaping Performer, on loop: any EventLoop
  ) {
    (self.listener, self.gate, self.perform, self.loop) = (listener, gate, perform, loop)
    unownedExecutor = loop.executor.asUnownedSerialExecutor()
  }

  /// Listens on 127.0.0.1.
  /// - Parameter port: 0 for any free port.
  /// - Throws: `PortError` if the port is not available.
  static func open(port: Int, perform: @escaping Performer) async throws(PortError) -> ViewServer {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    do {
      let server = loop.makePromise(of: ViewServer.self)
      let listener = try await ServerBootstrap.pausing(on: loop)
        .serverChannelOption(.backlog, value: CInt(connectionsLimit))
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .childChannelOption(.maxMessagesPerRead, value: 1)
        .childChannelInitializer { channel in
          server.futureResult.flatMapThrowing { server in
            try channel.pipeline.syncOperations.addHandler(RequestLimit())
            try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
            try channel.pipeline.syncOperations.addHandler(ViewHandler(server: server))
          }
        }
        .bind(host: "127.0.0.1", port: port).get()
      let gate = ViewGate(port: listener.localAddress?.port ?? port, token: ViewGate.randomToken())
      let made = ViewServer(listener, gate, perform, on: loop)
      server.succeed(made)
      return made
    } catch {
      let name = "127.0.0.1:\(port)"
      if let error = error as? IOError {
        throw PortError(.system(errno: error.errnoCode), port: name, operation: "listen at")
      }
      throw PortError(.badPlace(errorText(error)), port: name, operation: "listen at")
    }
  }

  /// Serves the page of an emulator in this process.
  static func open(port: Int, of emulator: EmulatorServer) async throws(PortError) -> ViewServer {
    try await open(port: port) { request in
      do throws(Failure) {
        return await emulator.perform(try request.parsed())
      } catch {
        return .refused(error.message)
      }
    }
  }

  /// Shows snapshots until they end or the task is cancelled, then stops.
  func run(_ snapshots: AsyncStream<[UInt8]>) async {
    for await snapshot in snapshots { publish(snapshot) }
    hasStopped = true
    try? await listener.close()
    for channel in connections.values { channel.close(promise: nil) }
  }

  private func publish(_ snapshot: [UInt8]) {
    latest = snapshot
    for (key, _) in readers { send(to: key) }
  }

  /// Sends the latest snapshot, unless the client has still to take the previous one.
  private func send(to key: ObjectIdentifier) {
    guard let latest, let channel = connections[key] else { return }
    guard channel.isWritable else {
      readers[key] = false
      return
    }
    readers[key] = true
    var buffer = channel.allocator.buffer(capacity: latest.count + 8)
    buffer.writeString("data: ")
    buffer.writeBytes(latest)
    buffer.writeString("\n\n")
    channel.writeAndFlush(HTTPServerResponsePart.body(.byteBuffer(buffer)), promise: nil)
  }

  // MARK: Connections, on the event loop

  /// Returns false if the connection must be closed at once.
  func connected(_ channel: any NIOCore.Channel) -> Bool {
    guard !hasStopped else { return false }
    if connections.count >= Self.connectionsLimit {
      // A client that does not know the token cannot keep others out.
      guard let oldest = strangers.first, let stranger = connections[oldest] else { return false }
      disconnected(stranger)
      stranger.close(promise: nil)
    }
    connections[ObjectIdentifier(channel)] = channel
    strangers.append(ObjectIdentifier(channel))
    return true
  }

  /// The connection has sent a permitted request.
  func admitted(_ channel: any NIOCore.Channel) {
    strangers.removeAll { $0 == ObjectIdentifier(channel) }
  }

  func disconnected(_ channel: any NIOCore.Channel) {
    let key = ObjectIdentifier(channel)
    connections[key] = nil
    readers[key] = nil
    strangers.removeAll { $0 == key }
  }

  /// A client reads snapshots from now on.
  func addReader(_ channel: any NIOCore.Channel) {
    readers[ObjectIdentifier(channel)] = false
    send(to: ObjectIdentifier(channel))
  }

  /// The channel accepts bytes again.
  func continueSending(to channel: any NIOCore.Channel) {
    if readers[ObjectIdentifier(channel)] == false { send(to: ObjectIdentifier(channel)) }
  }

  /// The answer to a command of the page.
  func answer(to body: [UInt8]) async -> [UInt8] {
    let reply: ControlReply
    if let request = try? JSONDecoder().decode(ControlRequest.self, from: Data(body)),
      ViewGate.commands.contains(request.command)
    {
      reply = await perform(request)
    } else {
      reply = .refused("not a command of this page")
    }
    return (try? JSONEncoder().encode(reply)).map { Array($0) } ?? []
  }
}
