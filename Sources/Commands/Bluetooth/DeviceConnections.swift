import Foundation
import NIOCore
import NIOPosix
import NotibotHost
import SerialLink

/// The connections to one device: over the air (`ble:`), or to its attribute socket (`att:`). There
/// is no session: what was in flight when a connection was lost is unknown, and is not sent again.
struct DeviceConnections: Sendable {
  private let name: PortName
  private let path: String
  private let host: BluetoothHost?

  /// A connection that was lost, or could not be made.
  private struct Loss {
    var failure: Failure
    /// Without the operation and the port.
    var reason: String
    /// Whether another attempt would fail as well.
    var isFinal: Bool
  }

  private enum Attempt<Result> {
    case done(Result)
    case lost(Loss)
  }

  /// Runs `body` with the connections to the device of that name; the adapter is used meanwhile.
  static func with<Result: Sendable>(
    _ name: PortName, _ body: (DeviceConnections) async throws -> Result
  ) async throws -> Result {
    switch name {
    case .bluetooth(let peer, let adapter):
      let host = try await BluetoothHost.start(peer, on: try BluetoothHost.adapter(adapter, for: name))
      do {
        let result = try await body(DeviceConnections(name: name, path: host.path, host: host))
        await host.close()
        return result
      } catch {
        await host.close()
        throw error
      }
    case .attributes(let path):
      return try await body(DeviceConnections(name: name, path: path, host: nil))
    case .address, .automatic, .usb, .deviceID, .labgrid, .standIn:
      throw PortError(.unavailableForm, port: name.description, operation: "connect to")
    }
  }

  /// Connects, runs `body` with the device, and disconnects.
  ///
  /// - Throws: `Failure` if the connection is lost or cannot be made; any other error of `body`.
  func withDevice<Result: Sendable>(
    _ options: DeviceOptions, _ body: (Device) async throws -> Result
  ) async throws -> Result {
    switch try await attempt(options, body) {
    case .done(let result): return result
    case .lost(let loss): throw loss.failure
    }
  }

  /// As `withDevice`, and again whenever the connection is lost, until `body` returns or nothing
  /// can be reached any more.
  ///
  /// - Parameters:
  ///   - onLoss: gets the reason, once per lost connection.
  ///   - body: gets the device, and whether the connection is not the first one.
  func keep(
    _ options: DeviceOptions, onLoss: (String) throws -> Void, _ body: (Device, Bool) async throws -> Void
  ) async throws {
    var reconnection: Reconnection?
    while true {
      let attempt = try await attempt(options) { device in
        let isAgain = reconnection != nil
        if isAgain { reconnection?.connected(now: .now) } else { reconnection = Reconnection(now: .now) }
        try await body(device, isAgain)
      }
      guard case .lost(let loss) = attempt else { return }
      guard !loss.isFinal, var machine = reconnection else { throw loss.failure }
      let wasUp = machine.isUp
      guard let pause = machine.lost(now: .now) else {
        throw Failure(
          .linkLost, "gave up connecting to \(name.description.printable) again: \(loss.reason)",
          remedy: loss.failure.remedy)
      }
      reconnection = machine
      if wasUp { try onLoss(loss.reason) }
      try await Task.sleep(for: pause)  // poll
    }
  }

  private func attempt<Result: Sendable>(
    _ options: DeviceOptions, _ body: (Device) async throws -> Result
  ) async throws -> Attempt<Result> {
    let channel: any Channel
    do throws(PortError) {
      // Nothing is read before the device is there to receive it.
      channel = try await UnixSocket.connect(
        to: path, on: MultiThreadedEventLoopGroup.singleton.next()
      ) { try $0.syncOptions?.setOption(.autoRead, value: false) }
    } catch {
      return .lost(await absence(error))
    }
    do {
      _ = try await host?.awaitLink()
    } catch let failure as Failure {
      channel.close(promise: nil)
      let isFinal = ![.noBoard, .noAnswer, .linkLost].contains(failure.kind)
      return .lost(Loss(failure: failure, reason: failure.message, isFinal: isFinal))
    } catch {
      channel.close(promise: nil)
      throw error
    }
    var options = options
    options.reconnection = .never
    let device = try await Device.make(
      on: channel, carrier: .connection, port: name.description, options: options, seed: 0)
    var isOpen = false
    do {
      // Fails on a connection that has ended: then the device knows.
      try? await channel.setOption(.autoRead, value: true).get()
      try await device.waitUntilOpen()
      isOpen = true
      let result = try await body(device)
      await device.close()
      return .done(result)
    } catch var error as NotibotError {
      await device.close()
      if !isOpen, host == nil, error.code == .linkLost {
        error.hint = "check that the device runs and has a connection left: an emulator has 4"
      }
      return .lost(await loss(error))
    } catch {
      await device.close()
      throw error
    }
  }

  /// Nothing listens at the socket: there is no device, or the process with the adapter has ended.
  private func absence(_ error: PortError) async -> Loss {
    if let end = await host?.endOfLink() {
      return Loss(failure: end.failure, reason: end.failure.message, isFinal: true)
    }
    let isRefused = error.kind == .noPermission
    let reason = isRefused ? error.reason : "nothing listens there"
    let failure = Failure(
      isRefused ? .noPermission : .noBoard, "cannot connect to \(name.description.printable): \(reason)",
      remedy: "start a device there, for example with: notibot emulate --att unix:\(path.printable)")
    return Loss(failure: failure, reason: reason, isFinal: host != nil)
  }

  /// The error with the reason that the air gives.
  private func loss(_ error: NotibotError) async -> Loss {
    var error = error
    var isFinal = error.code != .linkLost && error.code != .noAnswer
    let end = error.underlying as? SessionEnd
    if error.code == .linkLost, end == nil || end == .connectionLost, let air = await host?.endOfLink() {
      (error.reason, error.hint, isFinal) = (air.failure.message, air.failure.remedy, air.isFinal)
    }
    if error.hasUnknownEffect {
      error.hint = "it is not sent again; look at the display, or compare: notibot count"
    }
    // Its description and hint are those above, not those of the end below it.
    error.underlying = nil
    return Loss(failure: Failure(error), reason: error.reason, isFinal: isFinal)
  }
}
