import NIOCore
import NIOPosix
import NotibotProtocol
package import SerialLink

/// Delivers notifications to the Notibot at `port`, each exactly once, while `body` runs;
/// undelivered ones stay in the outbox and are sent in the next run.
///
/// The board does not need to be connected yet: the forwarder waits for it, and finds it again
/// after it was lost.
///
/// - Parameters:
///   - port: such as `/dev/ttyACM0`, `auto`, `usb:303a:1001`, `id:24:6F:28:AA:BB:CC` or
///     `socket://host:port`.
///   - path: the outbox file; created if it is missing. Only one forwarder at a time can use it.
///   - options: rate and limits.
///   - isolation: the actor that `body` runs on; the caller's by default.
///   - body: submits notifications and takes reports; the forwarder must not be used after `body`
///     is over.
/// - Returns: what `body` returned. The session is closed and the journal is written by then.
/// - Throws: `NotibotError` when the outbox cannot be used or, at the first attempt, the port; what
///   `body` threw.
public func withForwarder<Result>(
  port: String, outbox path: String, options: ForwardingOptions = ForwardingOptions(),
  isolation: isolated (any Actor)? = #isolation, _ body: (Forwarder) async throws -> Result
) async throws -> Result {
  let name: PortName
  do {
    name = try PortName(parsing: port)
  } catch {
    throw NotibotError(error)
  }
  return try await withForwarder(
    port: name, outbox: path, options: options, isolation: isolation, body)
}

/// The same for a parsed name. `labgrid:`, `emu:` and `qemu:` cannot be opened here.
package func withForwarder<Result>(
  port name: PortName, outbox path: String, options: ForwardingOptions = ForwardingOptions(),
  isolation: isolated (any Actor)? = #isolation, _ body: (Forwarder) async throws -> Result
) async throws -> Result {
  let forwarder = try await Forwarder.open(port: name, outbox: path, options: options)
  do {
    let result = try await body(forwarder)
    await forwarder.stop()
    try await forwarder.checkClosing()
    return result
  } catch {
    await forwarder.stop()
    if error is CancellationError { try await forwarder.checkClosing() }
    throw error
  }
}

extension Forwarder {
  /// Opens the outbox and begins. Throws `NotibotError`. The caller calls `stop`.
  static func open(
    port name: PortName, outbox path: String, options: ForwardingOptions, ports: PortList = PortList()
  ) async throws -> Forwarder {
    try options.check(port: name.description)
    let opened = try await NIOSingletons.posixBlockingThreadPool.runIfActive {
      () -> Swift.Result<(Journal, JournalContents), JournalError> in
      Swift.Result { () throws(JournalError) in
        let journal = try Journal(path: path, access: .forwarding) {
          header, next throws(JournalError) in
          try options.willBegin?(OutboxIdentity(header, nextToken: next))
        }
        return (journal, try journal.contents())
      }
    }
    let journal: Journal
    let contents: JournalContents
    do throws(JournalError) {
      (journal, contents) = try opened.get()
    } catch {
      throw NotibotError(error)
    }
    let forwarder = Forwarder(
      name: name, ports: ports, options: options, journal: journal, contents: contents,
      eventLoop: MultiThreadedEventLoopGroup.singleton.next(), seed: .random(in: .min ... .max))
    HeapMemory.releaseUnused()
    await forwarder.watchArrivals()
    await forwarder.start()
    return forwarder
  }
}

extension ForwardingConfiguration {
  /// The configuration that follows from the options and the kind of port.
  init(_ options: ForwardingOptions, _ name: PortName) {
    self.init()
    outbox.entriesLimit = options.entriesLimit
    outbox.resendsPlain = options.resendsPlain
    outbox.replaysPlain = options.replaysPlain
    supervisor.expectedDeviceID = name.deviceID ?? options.expectedDeviceID
    if case .rfc2217(_, _, let remote) = name.address { supervisor.openPatience += remote.timeout * 2 }
    // A board that has to be found is at a serial device.
    if name.address?.hasRate ?? true { host.lineBitsPerSecond = Int(options.bitsPerSecond) }
  }
}

extension NotibotError {
  /// Whether it is the want of room on the disk: nothing was changed, and the outbox can be opened
  /// again when there is room.
  package var isDiskFull: Bool { (underlying as? JournalError)?.code == .diskFull }

  package init(_ error: JournalError) {
    self.init(
      code: Code(error.kind), port: error.path, operation: "\(error.operation) \(error.subject)",
      reason: error.reason,
      hint: error.hint, underlying: error)
  }

  /// Whether the outbox is no longer what was promised to be in it.
  package var isOutboxDisplaced: Bool {
    if case .displaced? = (underlying as? JournalError)?.code { true } else { false }
  }
}
