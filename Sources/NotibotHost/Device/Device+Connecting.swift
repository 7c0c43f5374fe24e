package import NIOCore
import NIOPosix
import NotibotProtocol
package import SerialLink

extension Device {
  /// Opens the port and waits until a session is open. Throws `NotibotError`, or `CancellationError`.
  static func connect(
    to port: String, options: DeviceOptions, ports: PortList = PortList()
  ) async throws -> Device {
    do {
      switch try PortName(parsing: port) {
      case .deviceID(let id): return try await find(id, options: options, ports: ports)
      case let specifier: return try await connect(to: specifier, options: options, ports: ports)
      }
    } catch let error as PortError {
      throw NotibotError(error)
    }
  }

  private static func connect(
    to specifier: PortName, options: DeviceOptions, ports: PortList
  ) async throws -> Device {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let device = Device(
      port: specifier.description, options: options,
      lineBitsPerSecond: specifier.isLine ? Int(options.bitsPerSecond) : nil, eventLoop: loop,
      seed: .random(in: .min ... .max))
    let serialOptions = SerialOptions(bitsPerSecond: options.bitsPerSecond)
    _ = try await SerialChannel.open(specifier, ports: ports, options: serialOptions, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(DeviceHandler(device: device))
    }
    do {
      try await device.waitUntilOpen()
    } catch {
      // So that the next attempt finds the port free.
      await device.close()
      throw named(error, specifier, ports)
    }
    return device
  }

  /// The error, or that the port is busy when nothing answered and another program has it open: without a lock it could be
  /// opened, and what the device answered was read by the other.
  private static func named(_ error: any Error, _ specifier: PortName, _ ports: PortList) -> any Error {
    guard let failure = error as? NotibotError, failure.code == .noAnswer else { return error }
    let path: String? =
      switch specifier {
      case .path(let path): path
      case .automatic, .usb: try? ports.port(for: specifier).path
      case .deviceID, .rfc2217, .socket, .labgrid, .emulator, .qemu: nil
      }
    guard let path, let user = PortHolder.user(of: path) else { return error }
    return NotibotError(PortError(.busy(user), port: failure.port, operation: "connect to"))
  }

  /// The path of the one known board that says it is `id`.
  ///
  /// - Throws: `NotibotError`: no board when none says so or several do, with all that answered; `CancellationError`.
  package static func path(of id: String, options: DeviceOptions, ports: PortList = PortList()) async throws
    -> String
  {
    do {
      let device = try await find(id, options: options, ports: ports)
      await device.close()
      return device.port
    } catch let error as PortError {
      throw NotibotError(error)
    }
  }

  /// What became of asking one board.
  private enum Asked: Sendable {
    case match(Device)
    case other(path: String, reason: String)
  }

  /// Asks the known boards, all at once, who they are. A board that is no known one is never written to, and to one with
  /// another identity nothing is written but what opens and ends a session.
  private static func find(_ id: String, options: DeviceOptions, ports: PortList) async throws -> Device {
    let name = PortName.deviceID(id).description
    let paths = try ports.candidates(for: .deviceID(id), isPinned: true)
    let asked = await withTaskGroup(of: (Int, Asked).self) { group in
      for (index, path) in paths.enumerated() {
        group.addTask { (index, await ask(path, for: id, options: options, ports: ports)) }
      }
      // In the order of the list, whoever answers first.
      var asked: [Int: Asked] = [:]
      for await (index, answer) in group { asked[index] = answer }
      return paths.indices.compactMap { asked[$0] }
    }
    var matches: [Device] = []
    var others: [String] = []
    for answer in asked {
      switch answer {
      case .match(let device): matches.append(device)
      case .other(let path, let reason): others.append("\(path) \(reason)")
      }
    }
    if matches.count == 1, !Task.isCancelled { return matches[0] }
    for device in matches { await device.close() }
    try Task.checkCancellation()
    guard matches.isEmpty else {
      throw PortError(.ambiguous(matches.map(\.port)), port: name, operation: "choose")
    }
    throw NotibotError(
      code: .noBoard, port: name, operation: "find", reason: "none of \(others.count) boards has this id",
      hint: others.joined(separator: ", "))
  }

  private static func ask(
    _ path: String, for id: String, options: DeviceOptions, ports: PortList
  ) async -> Asked {
    do {
      let device = try await connect(to: .path(path), options: options, ports: ports)
      let found = await device.info.deviceID
      if let found, found.uppercased() == id.uppercased() { return .match(device) }
      await device.close()
      return .other(path: path, reason: "is \(found ?? "one without an id")")
    } catch let error as PortError {
      return .other(path: path, reason: "cannot be asked: \(error.cause)")
    } catch let error as NotibotError {
      return .other(path: path, reason: "cannot be asked: \(error.reason)")
    } catch {
      return .other(path: path, reason: "was not asked")
    }
  }

  /// Serves a channel that is open already; its other end is the device.
  package static func make(
    on channel: any NIOCore.Channel, port: String, options: DeviceOptions = DeviceOptions(), seed: UInt64
  ) async throws -> Device {
    let device = Device(
      port: port, options: options, lineBitsPerSecond: nil, eventLoop: channel.eventLoop, seed: seed)
    try await channel.eventLoop.submit {
      try channel.pipeline.syncOperations.addHandler(DeviceHandler(device: device))
    }.get()
    return device
  }

  /// Returns when a session is open. A cancelled wait closes the device.
  package func waitUntilOpen() async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        switch state {
        case .connecting(let callers): state = .connecting(callers + [continuation])
        case .open, .reconnecting: continuation.resume()
        case .closing: continuation.resume(throwing: CancellationError())
        case .ended(let error): continuation.resume(throwing: error ?? CancellationError())
        }
      }
    } onCancel: {
      eventLoop.execute { self.assumeIsolated { $0.cancelConnecting() } }
    }
  }

  /// Ends the session properly, within 200 ms, and closes the port. Returns when it is closed. May be called again.
  package func close() async {
    guard let channel else { return }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      switch state {
      case .connecting, .open, .reconnecting:
        beginClosing(continuation)
      case .closing(let callers): state = .closing(callers + [continuation])
      case .ended: continuation.resume()
      }
    }
    // The descriptor and its locks go with the channel.
    try? await channel.closeFuture.get()
  }

  private func beginClosing(_ continuation: CheckedContinuation<Void, Never>) {
    let connecting: [CheckedContinuation<Void, any Error>] =
      switch state {
      case .connecting(let callers): callers
      case .open, .reconnecting, .closing, .ended: []
      }
    state = .closing([continuation])
    connecting.forEach { $0.resume(throwing: CancellationError()) }
    closeSession()
  }

  private func cancelConnecting() {
    guard case .connecting(let callers) = state else { return }
    state = .closing([])
    callers.forEach { $0.resume(throwing: CancellationError()) }
    closeSession()
  }
}

/// Connects to the Notibot at `port`, runs `body` with it, and closes the session and the port on every way out:
/// return, error and cancellation.
///
/// - Parameters:
///   - port: such as `/dev/ttyACM0`, `auto`, `usb:303a:1001` or `socket://host:port`.
///   - body: works with the device; it must not be used after `body` is over.
/// - Returns: what `body` returned.
/// - Throws: `NotibotError` when there is no such device or no session; what `body` threw.
public func withDevice<Result>(
  at port: String, options: DeviceOptions = DeviceOptions(), isolation: isolated (any Actor)? = #isolation,
  _ body: (Device) async throws -> Result
) async throws -> Result {
  let device = try await Device.connect(to: port, options: options)
  do {
    let result = try await body(device)
    await device.close()
    return result
  } catch {
    await device.close()
    throw error
  }
}

extension PortName {
  /// Whether the bytes pass a serial line whose rate this host sets.
  fileprivate var isLine: Bool {
    switch self {
    case .path, .automatic, .usb, .deviceID, .rfc2217: true
    case .socket, .labgrid, .emulator, .qemu: false
    }
  }
}
