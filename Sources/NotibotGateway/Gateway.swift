#if Gateway
import GatewayRules
import NIOCore
import NIOPosix
import NotibotHost
import SerialLink

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
  ///   - warn: called with one line for the user, on any thread.
  ///   - ready: called once, when everything listens.
  package static func run(
    folder: GatewayFolder, port: String?, step: (@Sendable () -> Void)? = nil,
    warn: @escaping @Sendable (String) -> Void, ready: @Sendable (Addresses) -> Void
  ) async throws {
    let reader = NIOThreadPool(numberOfThreads: 1)
    let thread = NIOThreadPool(numberOfThreads: 1)
    reader.start()
    thread.start()
    // A file system that does not answer must not delay the end.
    defer { reader.shutdownGracefully { _ in } }
    do {
      let (configuration, profiles) = try await reader.runIfActive { try read(folder) }
      let store = try await thread.runIfActive { try GatewayStore(path: folder.store, step: step) }
      try await run(folder, configuration, profiles, port, store, (reader, thread), step, warn, ready)
    } catch let error as JournalError {
      try? await thread.shutdownGracefully()
      throw Failure(error)
    } catch {
      try? await thread.shutdownGracefully()
      throw error
    }
    try? await thread.shutdownGracefully()
  }

  /// Blocks. A table that cannot be read stops the start; later it keeps its content.
  private static func read(_ folder: GatewayFolder) throws -> (GatewayConfiguration, [TopicProfile]) {
    try folder.check()
    let configuration = try folder.readConfiguration()
    for (name, callback) in configuration.callbacks.sorted(by: { $0.key < $1.key }) {
      do {
        if let path = callback.secretPath { _ = try PrivateFile.secret(folder.path(of: path)) }
        if let path = callback.authorityPath {
          _ = try PrivateFile.read(folder.path(of: path), limitBytes: 1 << 20)
        }
      } catch {
        throw Failure(.usage, "the callback '\(name)': \(error.message)", remedy: error.remedy)
      }
    }
    _ = try GatewayTables.readRegistrations(
      folder.registrations, tokens: try GatewayTables.readTokens(folder.tokens))
    _ = try GatewayTables.readTrust(folder.trust)
    _ = try GatewayTables.readMutes(folder.mutes)
    return (configuration, try folder.readProfiles())
  }

  /// Reads what the numbers of this outbox mean. Blocks.
  private static func open(
    _ store: GatewayStore, _ configuration: GatewayConfiguration,
    _ threads: (reader: NIOThreadPool, writer: NIOThreadPool), _ outbox: OutboxIdentity
  ) throws(JournalError) -> GatewayFiles {
    let clock = GatewayClock()
    let now = clock.now()
    let forgotten = try store.bind(to: outbox)
    let contents = try store.contents(now: now, options: configuration.intake)
    let stored = try store.decisions()
    let machine = DecisionMachine(
      options: configuration.decisions, callbacks: configuration.callbacks, decisions: stored.decisions,
      items: contents.items, formerSequence: outbox.lastNumber > 0 ? clock.wall().seconds : 0, now: now)
    let answered = stored.decisions.filter { decision in
      decision.state != .confirming
        && contents.items.contains { item in
          item.number == decision.number && item.question?.pushID == decision.question?.pushID
        }
    }
    return GatewayFiles(
      reader: threads.reader, store: store, thread: threads.writer, contents: Handover(contents),
      desk: DecisionDesk(store: store, machine: machine),
      summaries: SummaryMachine(
        summaries: try store.summaries(), items: contents.items, answered: Set(answered.map(\.number)),
        now: now),
      unregistered: stored.unregistered, notice: notice(forgotten, isNew: store.isNew, outbox))
  }

  /// What the two files do not have of each other; nil: nothing.
  private static func notice(_ forgotten: Int, isNew: Bool, _ outbox: OutboxIdentity) -> String? {
    if forgotten > 0 {
      return "the outbox is another one than in the last run, or an older copy: \(forgotten) items of the "
        + "former one are forgotten, and pushes that name them add new ones"
    }
    guard isNew, outbox.lastNumber > 0 else { return nil }
    return "gateway.sqlite is new, the outbox is not: repeated pushes of earlier runs are shown again, and "
      + "those that name its notifications add new ones"
  }

  private static func run(
    _ folder: GatewayFolder, _ configuration: GatewayConfiguration, _ profiles: [TopicProfile],
    _ port: String?, _ store: GatewayStore, _ threads: (reader: NIOThreadPool, writer: NIOThreadPool),
    _ step: (@Sendable () -> Void)?, _ warn: @escaping @Sendable (String) -> Void,
    _ ready: @Sendable (Addresses) -> Void
  ) async throws {
    let opened = OpenFiles()
    let options = {
      var options = ForwardingOptions()
      options.entriesLimit = configuration.entriesLimit
      options.willBegin = { outbox throws(JournalError) in
        if opened.files == nil { return opened.set(try open(store, configuration, threads, outbox)) }
        guard try store.bind(to: outbox) == 0 else {
          let text = "it was replaced while there was no room for it"
          throw JournalError(.displaced(text, isSaved: false), path: folder.outbox, operation: "open")
        }
      }
      options.willTakePresses = { presses in try opened.files?.desk.accept(presses) }
      options.willTakeDismissals = { numbers in try opened.files?.desk.receive(dismissals: numbers) }
      options.willRenew = { source in try store.recordRenewal(source) }
      if let step { options.journalStep = { step() } }
      return options
    }()
    var running: Running?
    repeat {
      do {
        try await withForwarder(
          port: port ?? configuration.port, outbox: folder.outbox, options: options
        ) { forwarder in
          if let running {
            await running.service.use(forwarder)
          } else if let files = opened.files {
            let service = GatewayService(
              eventLoop: MultiThreadedEventLoopGroup.singleton.next(), folder: folder,
              configuration: configuration, profiles: profiles, forwarder: forwarder, files: files, warn: warn
            )
            await service.begin()
            HeapMemory.releaseUnused()
            running = try await start(service, configuration, folder, ready)
          }
          guard let current = running else { return }
          try await serve(current.service, forwarder) {
            await current.stop()
            running = nil
          }
        }
      } catch let error as NotibotError where error.isDiskFull && running != nil && !Task.isCancelled {
        // Senders stay connected; the board is found again when the outbox is open.
      } catch {
        await running?.stop()
        throw error
      }
      guard let current = running else { return try store.write([]) }
      await current.service.handleOutboxFull()
      do {
        try await DiskRoom.wait(in: folder.path)
      } catch {
        return await current.stop()
      }
    } while true
  }

  /// Returns when the task is cancelled, throws when the forwarder ends: unless the disk is full,
  /// `stop` is called first, while the forwarder can still take what is left.
  private static func serve(
    _ service: GatewayService, _ forwarder: Forwarder, stop: () async -> Void
  ) async throws {
    let reports = Task { for await report in forwarder.reports { await service.receive(report) } }
    let changes = Task { for await change in forwarder.changes { await service.receive(change) } }
    // Ends with the forwarder or by a cancellation.
    let outcome: Result<Void, any Error>
    do {
      try await forwarder.ended()
      outcome = .success(())
    } catch {
      outcome = .failure(error)
    }
    if case .failure(let error as NotibotError) = outcome, error.isDiskFull, !Task.isCancelled {
      await service.handleOutboxFull()
    } else {
      await stop()
    }
    await forwarder.stop()
    await reports.value
    await changes.value
    if !Task.isCancelled { try outcome.get() }
  }

  /// A service and its servers.
  private struct Running {
    var service: GatewayService
    var keeper: CertificateKeeper
    var apns: PushServer
    var http: HTTPServer?
    var commands: HTTPServer

    func stop() async {
      await service.stop()
      await keeper.stop()
      async let apns: Void = apns.stop()
      async let http: Void? = http?.stop()
      async let commands: Void = commands.stop()
      _ = await (apns, http, commands)
    }
  }

  private static func start(
    _ service: GatewayService, _ configuration: GatewayConfiguration, _ folder: GatewayFolder,
    _ ready: @Sendable (Addresses) -> Void
  ) async throws -> Running {
    let commands = try await HTTPServer.start(atSocket: folder.socket, service: service)
    let keeper = try await CertificateKeeper.open(folder, eventLoop: service.eventLoop, warn: service.warn)
    await service.use(keeper)
    let apns = try await PushServer.start(at: configuration.apns, keeper: keeper, service: service)
    var http: HTTPServer?
    if let place = configuration.http { http = try await HTTPServer.start(at: place, service: service) }
    ready(
      Addresses(
        apns: text(apns.address), http: http.map { text($0.address) }, socket: folder.socket))
    return Running(service: service, keeper: keeper, apns: apns, http: http, commands: commands)
  }

  private static func text(_ address: SocketAddress?) -> String {
    guard let address, let host = address.ipAddress, let port = address.port else { return "" }
    return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}
#endif
