package import NIOCore
import NIOPosix

/// Ports by their address, and those behind a server.
extension SerialChannel {
  /// Opens a local or a network port. Throws `PortError`.
  package static func open(
    _ address: PortAddress, options: SerialOptions = SerialOptions(), on loop: any EventLoop,
    initializer: @escaping Initializer
  ) async throws(PortError) -> any Channel {
    switch address {
    case .tty(let path):
      return try await open(path: path, options: options, on: loop, initializer: initializer)
    case .socket(let host, let port):
      return try await connect(host: host, port: port, on: loop, initializer: initializer)
    case .share(let path, let isExclusive):
      return try await ShareSocket.open(path, isExclusive: isExclusive, on: loop, initializer: initializer)
    case .rfc2217(let host, let port, let remote):
      return try await connect(
        host: host, port: port, options: remote, bitsPerSecond: options.bitsPerSecond, on: loop,
        initializer: initializer)
    }
  }

  /// The timeout of a connection attempt.
  package static let connectTimeout = Duration.seconds(5)

  /// Connects to a server of plain bytes, for `socket://host:port`. Waits at most `timeout`.
  package static func connect(
    host: String, port: Int, timeout: Duration = connectTimeout, on loop: any EventLoop,
    initializer: @escaping Initializer
  ) async throws(PortError) -> any Channel {
    let name = PortAddress.socket(host: host, port: port).description
    return try await connect(host, port, name: name, timeout: timeout, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(SocketRefusalHandler(port: name))
      try initializer(channel)
    }
  }

  /// Opens a port behind a server of RFC 2217, and sets its rate in bits per second; its format is
  /// 8N1. Its modem lines stay as they are. Waits at most `timeout` for the connection, and twice
  /// the options' timeout for the server.
  package static func connect(
    host: String, port: Int, options: RFC2217Options, bitsPerSecond: UInt32,
    timeout: Duration = connectTimeout, on loop: any EventLoop, initializer: @escaping Initializer
  ) async throws(PortError) -> any Channel {
    let name = PortAddress.rfc2217(host: host, port: port, options).description
    guard bitsPerSecond > 0 else {
      throw PortError(
        .unsupportedBaud(requested: bitsPerSecond, offered: nil), port: name, operation: "open")
    }
    let opened = loop.makePromise(of: Void.self)
    let channel: any Channel
    do {
      channel = try await connect(host, port, name: name, timeout: timeout, on: loop) { channel in
        let machine = RFC2217Client(bitsPerSecond: bitsPerSecond, options: options)
        let handler = RFC2217Handler(port: name, machine: machine, opened: opened)
        try channel.pipeline.syncOperations.addHandler(handler)
        try initializer(channel)
      }
    } catch {
      opened.fail(error)
      throw error
    }
    do {
      try await opened.futureResult.get()
      return channel
    } catch {
      try? await channel.close()
      throw (error as? PortError) ?? PortError(.deviceGone, port: name, operation: "open")
    }
  }

  private static func connect(
    _ host: String, _ port: Int, name: String, timeout: Duration, on loop: any EventLoop,
    initializer: @escaping Initializer
  ) async throws(PortError) -> any Channel {
    let bootstrap = ClientBootstrap(group: loop)
      .connectTimeout(TimeAmount(timeout))
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: readSizeBytes))
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(PortLifetimeHandler(port: name, tty: nil))
          try initializer(channel)
        }
      }
    do {
      return try await bootstrap.connect(host: host, port: port).get()
    } catch {
      throw (error as? PortError)
        ?? PortError(.unreachable(reason(of: error)), port: name, operation: "connect to")
    }
  }

  /// Why a connection failed, in a few words. If a host has several addresses, the error of the
  /// first.
  private static func reason(of error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
      error.connectionErrors.first.map { reason(of: $0.error) } ?? "no such host"
    case ChannelError.connectTimeout(let limit): "no answer in \(limit.nanoseconds / 1_000_000_000) s"
    case let error: errorText(error)
    }
  }
}
