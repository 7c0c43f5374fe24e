import Conformance
import DeviceEmulator
import Glibc
import NIOCore
import NIOPosix
import NotibotHost
import Rigs
import SerialLink

/// Connects a command to the board that its options select.
enum BoardAccess {
  /// Opens the port, runs `body` with the device, and closes. `emu:` starts an emulator for that
  /// time; `ble:` and `att:` make a connection.
  ///
  /// - Parameter refused: options that a connection has no use for, and why, if they are given.
  /// - Throws: `Failure` for errors of port, device or session; any other error of `body`.
  static func with<Result: Sendable>(
    _ port: PortOptions, options: DeviceOptions = DeviceOptions(), refused: [ConnectionRefusal] = [],
    _ body: (Device) async throws -> Result
  ) async throws -> Result {
    var options = options
    options.bitsPerSecond = try port.resolvedBitsPerSecond().value
    options.connectTimeout = .seconds(port.answer.timeout)
    do {
      if let name = try connection(port, refused) {
        return try await DeviceConnections.with(name) { try await $0.withDevice(options, body) }
      }
      return try await withPort(port.line) { try await withDevice(at: $0, options: options, body) }
    } catch let error as any ClassifiedError {
      throw Failure(error)
    }
  }

  /// As `with`, and connects again when a connection is lost; over a port the device does so on its
  /// own. Parameters as those of `DeviceConnections.keep`.
  static func keeping(
    _ port: PortOptions, options: DeviceOptions, refused: [ConnectionRefusal],
    onLoss: (String) throws -> Void, _ body: (Device, Bool) async throws -> Void
  ) async throws {
    var options = options
    guard let name = try connection(port, refused) else {
      return try await with(port, options: options) { try await body($0, false) }
    }
    options.connectTimeout = .seconds(port.answer.timeout)
    try await DeviceConnections.with(name) { [options] in
      try await $0.keep(options, onLoss: onLoss, body)
    }
  }

  /// An option that a connection cannot have, and why.
  typealias ConnectionRefusal = (option: String, isGiven: Bool, reason: String)

  /// The name of the port if it is a connection; `nil` for any other.
  ///
  /// - Throws: `Failure` for an option that a connection has no use for.
  static func connection(_ port: PortOptions, _ refused: [ConnectionRefusal]) throws -> PortName? {
    let name = try port.resolvedPort().value
    guard name.isConnection else { return nil }
    let rate: ConnectionRefusal = ("--baud", port.line.rate.baud != nil, "a connection has no rate")
    if let (option, _, reason) = ([rate] + refused).first(where: \.isGiven) {
      throw Failure(
        .usage, "\(option) cannot be used with \(name.description.printable): \(reason)",
        remedy: "omit \(option), or use the serial port of the device")
    }
    return name
  }

  /// Runs `body` with the port that the options name. For that time `labgrid:` acquires a place,
  /// `emu:` starts an emulator, `qemu:` firmware on an emulated CPU, `chip:` a model of a chip;
  /// `body` gets the resulting address.
  static func withPort<Result: Sendable>(
    _ line: LineOptions, _ body: (PortName) async throws -> Result
  ) async throws -> Result {
    let name = try line.resolvedPort().value
    guard case .standIn(let standIn) = name else { return try await withPlace(of: name, body) }
    switch standIn {
    case .emulator(let profile): return try await withEmulator(try Self.profile(profile), body)
    case .qemu(let image): return try await withFirmware(image, body)
    case .chip: return try await withPlace(of: name, body)
    }
  }

  /// Runs `body` with a port that has modem lines: for that time `labgrid:` acquires a place,
  /// `chip:` starts a model of a chip; any other name stays.
  static func withPlace<Result: Sendable>(
    of name: PortName, _ body: (PortName) async throws -> Result
  ) async throws -> Result {
    guard !name.isConnection else {
      throw Failure(
        .usage, "this command cannot use \(name.description.printable): a connection has no session",
        remedy: "use the serial port; connections are for test, send, count, watch and bench")
    }
    guard case .standIn(.chip(let path, let line)) = name else {
      return try await LabgridPlace.withPlace(of: name, body)
    }
    let server: ChipServer
    do {
      server = try await ChipServer.start(image: .read(path, line: line), line: line, seed: .randomSeed())
    } catch let error as RigTrouble {
      throw Failure(.unfitEnvironment, error.message.printable, remedy: error.remedy)
    }
    do {
      guard let address = await server.address else {
        throw PortError(.deviceGone, port: name.description, operation: "open")
      }
      let result = try await body(.address(address))
      if let fault = await server.stop() { throw failure(of: fault, name) }
      return result
    } catch {
      // What the program did wrong explains the error of the port.
      guard let fault = await server.stop(), !(error is CancellationError) else { throw error }
      throw failure(of: fault, name)
    }
  }

  private static func failure(of fault: Failure, _ name: PortName) -> Failure {
    Failure(
      .deviceRestarted, "\(name.description.printable): \(fault.message.printable)",
      remedy: "correct the firmware; docs/FIRMWARE.md lists what the model has")
  }

  /// The profile of that name, the default profile for `nil`. Throws `Failure` for an
  /// unknown name.
  static func profile(_ name: String?) throws -> DeviceProfile {
    guard let name else { return .standard }
    guard let profile = DeviceProfile.named(name) else {
      let names = DeviceProfile.all.map(\.name).joined(separator: ", ")
      throw Failure(
        .usage, "unknown profile '\(name.printable)'", remedy: "choose one of: \(names)")
    }
    return profile
  }

  private static func withEmulator<Result: Sendable>(
    _ profile: DeviceProfile, _ body: (PortName) async throws -> Result
  ) async throws -> Result {
    let server = try await EmulatorServer.start(profile: profile, seed: .randomSeed())
    do {
      let result = try await body(.address(.tty(path: await server.portPath ?? "")))
      await server.stop()
      return result
    } catch {
      await server.stop()
      throw error
    }
  }

  /// Makes sure that a port exists before a command waits for it. Opens no serial port; a
  /// connection to a server is closed immediately.
  ///
  /// - Throws: `PortError`: no such port, no board, several boards, or a server that cannot be
  ///   reached.
  static func checkPresence(of name: PortName) async throws {
    // An identity is queried, and an emulator started, when the port is opened.
    guard name.deviceID == nil, !name.isStandIn else { return }
    let address = try PortList().address(of: name)
    guard let path = address.path else {
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      let channel = try await SerialChannel.open(address.withoutNegotiation, on: loop) { _ in }
      // The server can have closed it before.
      try? await channel.close()
      return
    }
    guard name.address != nil, access(path, F_OK) != 0 else { return }
    throw PortError(PortList().absence(of: path), port: path, operation: "open")
  }

  /// The name with an identity replaced by the address of the one board that has it. To the boards
  /// only the frames that open and end a session are sent.
  ///
  /// - Parameter timeout: time limit for a board to answer.
  /// - Throws: `Failure` when no board has the identity, or several.
  static func located(
    _ name: PortName, bitsPerSecond: UInt32, timeout: Duration = .seconds(1.8)
  ) async throws -> PortName {
    guard let id = name.deviceID else { return name }
    var options = DeviceOptions()
    options.bitsPerSecond = bitsPerSecond
    options.connectTimeout = timeout
    options.reconnection = .never
    do {
      return .address(try await Device.address(ofBoard: id, options: options))
    } catch let error as NotibotError {
      throw Failure(error)
    }
  }

  private static func withFirmware<Result: Sendable>(
    _ image: String?, _ body: (PortName) async throws -> Result
  ) async throws -> Result {
    let board = try await QEMUBoard.start(try QEMUSetup(image: image), start: .whenOpened)
    do {
      let result = try await body(.address(.tty(path: board.portPath)))
      await board.stop()
      return result
    } catch {
      await board.stop()
      throw error
    }
  }
}
