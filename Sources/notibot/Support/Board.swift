import DeviceEmulator
import Glibc
import NIOCore
import NIOPosix
import NotibotHost
import SerialLink

/// Connects a command to the board that its options mean.
enum Board {
  /// Opens the port, runs `body` with the device, and closes. `emu:` starts an emulator for as long as that takes.
  ///
  /// - Throws: `CommandFailure` for whatever is wrong with port, device or session; what else `body` threw.
  static func with<Result: Sendable>(
    _ port: PortOptions, options: DeviceOptions = DeviceOptions(),
    _ body: (Device) async throws -> Result
  ) async throws -> Result {
    var options = options
    options.bitsPerSecond = try port.resolvedBitsPerSecond().value
    options.connectTimeout = .seconds(port.answer.timeout)
    do {
      return try await withPort(port.line) { try await withDevice(at: $0, options: options, body) }
    } catch let error as NotibotError {
      throw CommandFailure(error)
    }
  }

  /// Runs `body` with the name of the port that the options mean. `labgrid:` acquires a place, `emu:` starts an emulator,
  /// `qemu:` firmware on an emulated CPU, for as long as that takes.
  static func withPort<Result: Sendable>(
    _ line: LineOptions, _ body: (String) async throws -> Result
  ) async throws -> Result {
    let name: String
    switch try line.resolvedPort().value {
    case .emulator(let profile): name = profile ?? "default"
    case .qemu(let image): return try await withFirmware(image, body)
    case .labgrid(let place): return try await LabgridPlace.with(place) { try await body($0.description) }
    case let specifier: return try await body(specifier.description)
    }
    guard let profile = DeviceProfile.named(name) else {
      let names = DeviceProfile.all.map(\.name).joined(separator: ", ")
      throw CommandFailure(
        .usage, "there is no profile '\(name.printable)'", remedy: "choose one of: \(names)")
    }
    let server = try await EmulatorServer.start(profile: profile, seed: .randomSeed())
    do {
      let result = try await body(await server.portPath ?? "")
      await server.stop()
      return result
    } catch {
      await server.stop()
      throw error
    }
  }

  /// Makes sure that a port is there before a command waits for it. Opens no serial port; a server is connected to, and left
  /// at once.
  ///
  /// - Throws: `PortError`: no such port, no board, several boards, or a server that cannot be reached.
  static func checkPresence(of specifier: PortName) async throws {
    switch specifier {
    case .path(let path):
      guard access(path, F_OK) != 0 else { return }
      throw PortError(.notFound(present: PortList.paths()), port: path, operation: "open")
    case .automatic, .usb: _ = try PortList().port(for: specifier)
    case .rfc2217(let host, let port, _), .socket(let host, let port):
      let loop = MultiThreadedEventLoopGroup.singleton.next()
      try await SerialChannel.connect(host: host, port: port, on: loop) { _ in }.close()
    // A place is acquired, and a board asked for its identity, by those who open them.
    case .deviceID, .labgrid, .emulator, .qemu: break
    }
  }

  /// A port that any part of the program can open: instead of an identity the path of the one board that has it. Nothing is
  /// written to the boards but what opens and ends a session.
  ///
  /// - Parameter timeout: how long a board has to answer.
  /// - Throws: `CommandFailure` when no board has the identity, or several.
  static func located(
    _ specifier: PortName, bitsPerSecond: UInt32, timeout: Duration = .seconds(1.8)
  ) async throws -> PortName {
    switch specifier {
    case .path, .automatic, .usb, .rfc2217, .socket, .labgrid, .emulator, .qemu: return specifier
    case .deviceID(let id):
      var options = DeviceOptions()
      options.bitsPerSecond = bitsPerSecond
      options.connectTimeout = timeout
      options.reconnection = .never
      do {
        return .path(try await Device.path(of: id, options: options))
      } catch let error as NotibotError {
        throw CommandFailure(error)
      }
    }
  }

  private static func withFirmware<Result: Sendable>(
    _ image: String?, _ body: (String) async throws -> Result
  ) async throws -> Result {
    do {
      let board = try await QEMUBoard.start(try QEMUSetup(image: image), start: .whenOpened)
      do {
        let result = try await body(board.portPath)
        await board.stop()
        return result
      } catch {
        await board.stop()
        throw error
      }
    } catch let error as QEMUFailure {
      throw CommandFailure(error)
    }
  }
}

extension CommandFailure {
  /// The failure that an error of the host library stands for.
  init(_ error: NotibotError) {
    self.init(
      ExitStatus(rawValue: error.exitCode) ?? .unfitEnvironment, error.description, remedy: error.hint)
  }

  /// The failure that firmware which cannot be run stands for.
  init(_ error: QEMUFailure) {
    self.init(.unfitEnvironment, error.message.printable, remedy: error.remedy.printable)
  }
}
