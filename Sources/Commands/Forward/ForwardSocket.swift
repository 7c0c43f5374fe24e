import Foundation
import NIOCore
import NIOPosix
import NotibotHost
import SerialLink
import Synchronization

/// The unix socket of `forward --listen`: several clients, one JSON document per line in each
/// direction.
///
/// A client can close its sending half and wait for results; the connection ends when all its
/// notifications are delivered.
enum ForwardSocket {
  typealias Connection = NIOAsyncChannel<ByteBuffer, ByteBuffer>

  static let clientsLimit = 64
  /// Unread results of a client; a client with more is disconnected.
  static let resultsLimit = 65_536
  /// Lines that are submitted together, at most.
  static let batchLimit = 256

  /// Serves clients until this task is cancelled. Throws `Failure` when the socket cannot be
  /// made.
  static func serve(
    at path: String, group: String?, _ forwarder: Forwarder, _ results: ForwardResults
  ) async throws {
    try checkFolder(of: path)
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let (place, server) = try await acquire(path, try group.map(gid), on: loop)
    defer { place.leave() }
    Output.note("listening at \(path.printable)")
    try await accept(server, forwarder, results)
  }

  private static func accept(
    _ server: NIOAsyncChannel<Connection, Never>, _ forwarder: Forwarder, _ results: ForwardResults
  ) async throws {
    let present = ClientCount()
    try await server.executeThenClose { connections in
      try await withThrowingDiscardingTaskGroup { group in
        var last = 0
        for try await connection in connections {
          last += 1
          let number = last
          let count = present.count.add(1, ordering: .relaxed).newValue
          // One that is only connected makes room.
          let isAdmitted = count <= clientsLimit || results.detachIdle()
          group.addTask {
            defer { present.count.subtract(1, ordering: .relaxed) }
            // An error of one client does not affect the others.
            if isAdmitted {
              try? await ForwardClient(number: number, forwarder: forwarder, results: results).serve(
                connection)
            } else {
              try? await turnAway(connection)
            }
          }
        }
      }
    }
  }

  private static func turnAway(_ connection: Connection) async throws {
    try await connection.executeThenClose { _, outbound in
      let reason = "already \(clientsLimit) clients are connected"
      try await outbound.write(
        ByteBuffer(bytes: ForwardDocument(result: "rejected", reason: reason).lineBytes))
    }
  }

  // MARK: Its place

  private static func gid(of group: String) throws -> UInt32 {
    guard let entry = getgrnam(group) else {
      throw Failure(
        .usage, "there is no group '\(group.printable)'", remedy: "create it with groupadd")
    }
    return entry.pointee.gr_gid
  }

  private static func acquire(
    _ path: String, _ group: UInt32?, on loop: any EventLoop
  ) async throws -> (SocketPlace, NIOAsyncChannel<Connection, Never>) {
    try await SocketPlace.acquire(path, on: loop, group: group) { draft in
      try await ServerBootstrap.pausing(on: loop)
        .serverChannelOption(.backlog, value: 128)
        .childChannelOption(.allowRemoteHalfClosure, value: true)
        .bind(unixDomainSocketPath: draft) { channel in
          channel.eventLoop.makeCompletedFuture {
            try Connection(
              wrappingChannelSynchronously: channel,
              configuration: .init(isOutboundHalfClosureEnabled: true))
          }
        }
    } close: { server in
      // The refusal says why it is closed.
      try? await server.channel.close()
    } refusal: {
      refusal(path, $0)
    }
  }

  /// In a folder that other users can write to, another user could replace the socket.
  private static func checkFolder(of path: String) throws {
    let folder = (path as NSString).deletingLastPathComponent
    var status = stat()
    guard stat(folder.isEmpty ? "." : folder, &status) == 0 else {
      throw refusal(path, .system(errno: errno))
    }
    guard status.st_uid == geteuid(), status.st_mode & 0o022 == 0 else {
      throw Failure(
        .usage, "cannot listen at \(path.printable): other users can write to its folder",
        remedy: "choose a folder that only you can write to, such as $XDG_RUNTIME_DIR")
    }
  }

  private static func refusal(_ path: String, _ obstacle: SocketPlace.Obstacle) -> Failure {
    let refused = "cannot listen at \(path.printable): "
    switch obstacle {
    case .pathTooLong:
      return Failure(
        .usage, refused + "a socket's path has at most \(SocketPlace.pathLimitBytes) bytes")
    case .notASocket:
      return Failure(
        .usage, refused + "a file that is not a socket is there", remedy: "remove it, or choose another path")
    case .occupied:
      return Failure(
        .portBusy, refused + "another process listens there",
        remedy: "stop it, or choose another path (see: fuser -v \(path.printable))")
    case .system(let number):
      let status: FailureKind =
        switch number {
        case EACCES, EPERM, EROFS: .noPermission
        case ENOENT, ENOTDIR: .usage
        case _: .unfitEnvironment
        }
      return Failure(
        status, refused + String(cString: strerror(number)), remedy: "choose another path")
    }
  }
}

/// Counts the connected clients.
private final class ClientCount: Sendable {
  let count = Atomic(0)
}

/// One client of the socket.
private struct ForwardClient {
  let number: Int
  let forwarder: Forwarder
  let results: ForwardResults

  func serve(_ connection: ForwardSocket.Connection) async throws {
    let (lines, sink) = AsyncStream<[UInt8]>.makeStream(
      bufferingPolicy: .bufferingOldest(ForwardSocket.resultsLimit))
    let pace = ForwardPace()
    results.attach(number, sink, pace)
    defer { results.detach(number) }
    try await connection.executeThenClose { inbound, outbound in
      try await withThrowingTaskGroup { group in
        group.addTask {
          defer { pace.end() }
          for await line in lines {
            try await outbound.write(ByteBuffer(bytes: line))
            pace.remove()
          }
          if let line = results.lastLine(of: number) { try await outbound.write(ByteBuffer(bytes: line)) }
          // The client was disconnected from this side.
          guard results.isAttached(number) else { throw CancellationError() }
          outbound.finish()
        }
        group.addTask {
          try await receive(inbound, pace)
          results.handleEnd(of: number)
        }
        do {
          for try await _ in group {}
        } catch {
          sink.finish()
          group.cancelAll()
          throw error
        }
      }
    }
  }

  private func receive(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>, _ pace: ForwardPace) async throws
  {
    var cutter = LineCutter()
    for try await bytes in inbound {
      cutter.receive(bytes.readableBytesView)
      while try await submit(from: &cutter, pace) {}
    }
    while try await submit(from: &cutter, pace, isEnd: true) {}
  }

  /// Submits the next lines. Returns whether there can be more.
  private func submit(
    from cutter: inout LineCutter, _ pace: ForwardPace, isEnd: Bool = false
  ) async throws -> Bool {
    await pace.untilOpen()
    var batch: [SubmissionRequest] = []
    var count = 0
    while count < ForwardSocket.batchLimit, let line = cutter.next(isEnd: isEnd) {
      if let submission = results.submission(for: line, client: number) { batch.append(submission) }
      count += 1
    }
    _ = await forwarder.submit(batch)
    try Task.checkCancellation()
    return count == ForwardSocket.batchLimit
  }
}
