package import NIOCore
import NIOPosix
import NotibotProtocol
package import SerialLink

extension Device {
  /// Opens the port and waits until a session is open. Throws `NotibotError`, or
  /// `CancellationError`.
  static func connect(
    to name: PortName, options: DeviceOptions, ports: PortList = PortList()
  ) async throws -> Device {
    try options.check(port: name.description)
    do {
      if let id = name.deviceID { return try await find(id, options: options, ports: ports).device }
      return try await connect(to: try ports.address(of: name), as: name, options: options)
    } catch let error as PortError {
      throw NotibotError(error)
    }
  }

  private static func connect(
    to address: PortAddress, as name: PortName, options: DeviceOptions
  ) async throws -> Device {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let device = Device(
      port: name.description, address: address, options: options, eventLoop: loop,
      seed: .random(in: .min ... .max))
    let serialOptions = SerialOptions(bitsPerSecond: options.bitsPerSecond)
    _ = try await SerialChannel.open(address, options: serialOptions, on: loop) { channel in
      try channel.pipeline.syncOperations.addHandler(DeviceHandler(device: device))
    }
    do {
      try await device.waitUntilOpen()
    } catch {
      // So that the next attempt finds the port free.
      await device.close()
      throw await named(error, address)
    }
    return device
  }

  /// The error; `busy` if nothing answered and another program has the port open without a lock,
  /// since that program may have read the answers of the device; `linkLost` if the server of a
  /// shared board has lost it.
  private static func named(_ error: any Error, _ address: PortAddress) async -> any Error {
    guard let failure = error as? NotibotError, failure.code == .noAnswer else { return error }
    var code: PortError.Code?
    if let path = address.path {
      code = PortHolder.user(of: path).map { .busy($0) }
    } else if case .share(let path, _) = address {
      code = await ShareSocket.lostPort(at: path).map { .share(.boardGone(port: $0)) }
    }
    return code.map { NotibotError(PortError($0, port: failure.port, operation: "connect to")) } ?? error
  }

  /// The address of the only known board that reports the identity `id`.
  ///
  /// - Throws: `NotibotError` if no board or several boards report it, with all boards that
  ///   answered; `CancellationError`.
  package static func address(
    ofBoard id: String, options: DeviceOptions, ports: PortList = PortList()
  ) async throws -> PortAddress {
    do {
      let (device, address) = try await find(id, options: options, ports: ports)
      await device.close()
      return address
    } catch let error as PortError {
      throw NotibotError(error)
    }
  }

  /// The result of one probe.
  private enum ProbeResult: Sendable {
    case match(Device, PortAddress)
    case other(port: String, reason: String)
  }

  /// Probes all known boards in parallel for their identity. Nothing is written to unknown boards;
  /// a board with another identity receives only the frames that open and end a session.
  private static func find(_ id: String, options: DeviceOptions, ports: PortList) async throws -> (
    device: Device, address: PortAddress
  ) {
    let name = PortName.deviceID(id).description
    let addresses = try ports.candidates(for: .deviceID(id), isPinned: true)
    let results = await withTaskGroup(of: (Int, ProbeResult).self) { group in
      for (index, address) in addresses.enumerated() {
        group.addTask { (index, await ask(address, for: id, options: options)) }
      }
      // In the order of the list, not of the answers.
      var results: [Int: ProbeResult] = [:]
      for await (index, answer) in group { results[index] = answer }
      return addresses.indices.compactMap { results[$0] }
    }
    var matches: [(device: Device, address: PortAddress)] = []
    var others: [String] = []
    for answer in results {
      switch answer {
      case .match(let device, let address): matches.append((device, address))
      case .other(let port, let reason): others.append("\(port) \(reason)")
      }
    }
    if matches.count == 1, !Task.isCancelled { return matches[0] }
    for match in matches { await match.device.close() }
    try Task.checkCancellation()
    guard matches.isEmpty else {
      throw PortError(.ambiguous(matches.map(\.address.description)), port: name, operation: "choose")
    }
    throw NotibotError(
      code: .noBoard, port: name, operation: "find", reason: "none of \(others.count) boards has this id",
      hint: others.joined(separator: ", "))
  }

  private static func ask(
    _ address: PortAddress, for id: String, options: DeviceOptions
  ) async -> ProbeResult {
    let port = address.description
    do {
      let device = try await connect(to: address, as: .address(address), options: options)
      let found = await device.info.deviceID
      if let found, found.uppercased() == id.uppercased() { return .match(device, address) }
      await device.close()
      return .other(port: port, reason: "is \(found ?? "one without an id")")
    } catch let error as PortError {
      return .other(port: port, reason: "cannot be asked: \(error.reason)")
    } catch let error as NotibotError {
      return .other(port: port, reason: "cannot be asked: \(error.reason)")
    } catch {
      return .other(port: port, reason: "was not asked")
    }
  }

  /// Serves a channel that is open already; its other end is the device.
  package static func make(
    on channel: any NIOCore.Channel, carrier: Carrier = .sessions, port: String,
    options: DeviceOptions = DeviceOptions(), seed: UInt64
  ) async throws -> Device {
    let device = Device(
      port: port, address: nil, carrier: carrier, options: options, eventLoop: channel.eventLoop, seed: seed)
    try await channel.eventLoop.submit {
      // It can have ended before, and then takes no handler.
      if carrier == .connection, !channel.isActive {
        return device.assumeIsolated { $0.receiveEndOfStream() }
      }
      try channel.pipeline.syncOperations.addHandler(DeviceHandler(device: device))
    }.get()
    return device
  }

  /// Returns when a session is open. Cancelling the wait closes the device.
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

  /// Ends the session properly, within 200 ms, and closes the port. Returns when it is closed. Can
  /// be called more than once.
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

/// Connects to the Notibot at `port`, runs `body` with it, and closes the session and the port on
/// every way out: return, error and cancellation.
///
/// - Parameters:
///   - port: such as `/dev/ttyACM0`, `auto`, `usb:303a:1001` or `socket://host:port`.
///   - options: rate, timeouts and limits.
///   - isolation: the actor that `body` runs on; the caller's by default.
///   - body: works with the device; it must not be used after `body` is over.
/// - Returns: what `body` returned.
/// - Throws: `NotibotError` when there is no such device or no session; what `body` threw.
public func withDevice<Result>(
  at port: String, options: DeviceOptions = DeviceOptions(), isolation: isolated (any Actor)? = #isolation,
  _ body: (Device) async throws -> Result
) async throws -> Result {
  let name: PortName
  do {
    name = try PortName(parsing: port)
  } catch {
    throw NotibotError(error)
  }
  return try await withDevice(at: name, options: options, isolation: isolation, body)
}

/// The same for a parsed name. `labgrid:`, `emu:` and `qemu:` cannot be opened here.
package func withDevice<Result>(
  at name: PortName, options: DeviceOptions = DeviceOptions(), isolation: isolated (any Actor)? = #isolation,
  _ body: (Device) async throws -> Result
) async throws -> Result {
  let device = try await Device.connect(to: name, options: options)
  do {
    let result = try await body(device)
    await device.close()
    return result
  } catch {
    await device.close()
    throw error
  }
}
