#if Gateway
import GatewayRules
import NIOCore
import NIOPosix
import NotibotHost

/// A gateway as a whole: outbox, intake and servers.
package enum Gateway {
  /// Where a gateway listens.
  package struct Addresses: Hashable, Sendable {
    package var apns: String
    package var http: String?
    package var socket: String
  }

  /// Runs until the task is cancelled or the outbox fails, then ends properly: senders get GOAWAY
  /// and the answers that are due.
  ///
  /// - Parameters:
  ///   - port: the board's port instead of the configured one.
  ///   - step: called around every commit; for tests of recovery.
  ///   - ready: called once, when everything listens.
  package static func run(
    folder: GatewayFolder, port: String?, step: (@Sendable () -> Void)? = nil,
    ready: @Sendable (Addresses) -> Void
  ) async throws {
    try folder.check()
    let configuration = try folder.readConfiguration()
    let profiles = try folder.readProfiles()
    let options = {
      var options = ForwardingOptions()
      options.entriesLimit = configuration.entriesLimit
      if let step { options.journalStep = { step() } }
      return options
    }()
    try await withForwarder(
      port: port ?? configuration.port, outbox: folder.outbox, options: options
    ) { forwarder in
      let eventLoop = MultiThreadedEventLoopGroup.singleton.next()
      let thread = NIOThreadPool(numberOfThreads: 1)
      thread.start()
      do {
        let service = try await makeService(
          folder, configuration, profiles, forwarder, eventLoop, thread, step)
        try await serve(service, forwarder, configuration, folder, ready)
      } catch {
        try? await thread.shutdownGracefully()
        throw error
      }
      try? await thread.shutdownGracefully()
    }
  }

  private static func makeService(
    _ folder: GatewayFolder, _ configuration: GatewayConfiguration, _ profiles: [TopicProfile],
    _ forwarder: Forwarder, _ eventLoop: any EventLoop, _ thread: NIOThreadPool,
    _ step: (@Sendable () -> Void)?
  ) async throws -> GatewayService {
    let (store, contents) = try await thread.runIfActive {
      let store = try GatewayStore(path: folder.store, step: step)
      return (store, try store.contents(now: GatewayClock().now(), keepMs: configuration.intake.keepMs))
    }
    let service = GatewayService(
      eventLoop: eventLoop, folder: folder, configuration: configuration, profiles: profiles,
      forwarder: forwarder, store: store, storeThread: thread, contents: contents)
    // A table that cannot be read stops the start; later it keeps its content.
    _ = try GatewayTables.readTokens(folder.tokens)
    _ = try GatewayTables.readTrust(folder.trust)
    _ = try GatewayTables.readMutes(folder.mutes)
    await service.reloadTables()
    return service
  }

  private static func serve(
    _ service: GatewayService, _ forwarder: Forwarder, _ configuration: GatewayConfiguration,
    _ folder: GatewayFolder, _ ready: @Sendable (Addresses) -> Void
  ) async throws {
    let reports = Task { for await report in forwarder.reports { await service.note(report) } }
    let changes = Task { for await change in forwarder.changes { await service.note(change) } }
    let commands = try await HTTPServer.start(atSocket: folder.socket, service: service)
    let apns = try await PushServer.start(at: configuration.apns, folder: folder, service: service)
    var http: HTTPServer?
    if let place = configuration.http { http = try await HTTPServer.start(at: place, service: service) }
    ready(
      Addresses(
        apns: text(apns.address), http: http.map { text($0.address) }, socket: folder.socket))
    // Ends with the forwarder or by a cancellation.
    let outcome: Result<Void, any Error>
    do {
      try await forwarder.ended()
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    await service.stop()
    await apns.stop()
    await http?.stop()
    await commands.stop()
    await forwarder.stop()
    await reports.value
    await changes.value
    if !Task.isCancelled { try outcome.get() }
  }

  private static func text(_ address: SocketAddress?) -> String {
    guard let address, let host = address.ipAddress, let port = address.port else { return "" }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
#endif
