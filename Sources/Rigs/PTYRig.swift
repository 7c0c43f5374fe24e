package import Conformance
import SerialLink

/// An emulator in a separate process, on a pseudo-terminal that is opened like any serial port, or
/// behind RFC 2217.
package final class PTYRig: OwnedDeviceRig {
  /// Timeout of the first answer. If the emulator is late, this computer is too busy.
  private static let answerTimeout = Duration.seconds(20)

  package let name: String
  private let emulator: EmulatorProcess
  package let port: PortRig
  package var peerProcesses: [Int32] { [emulator.processID] }

  /// Starts `program emulate` and opens its port.
  ///
  /// - Parameters:
  ///   - program: the `notibot` executable.
  ///   - profile: the profile of the device.
  ///   - front: the kind of its port.
  ///   - isPlain: whether only the port is used, as with a board.
  /// - Throws: `RigTrouble` if the program does not start or prints nothing, otherwise as
  ///   `PortRig.open`.
  package static func start(
    program: String, profile: String = "default", front: EmulatorProcess.Front = .pty, seed: UInt64 = 1,
    isPlain: Bool = false, wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) async throws -> PTYRig {
    let emulator = try await EmulatorProcess.start(
      program: program, profile: profile, front: front, seed: seed)
    do {
      let port = try await PortRig.open(
        try PortName(parsing: emulator.port), name: front.rawValue,
        control: isPlain ? nil : emulator.control,
        answerTimeout: answerTimeout, wrapLine: wrapLine)
      return PTYRig(name: front.rawValue, emulator: emulator, port: port)
    } catch {
      await emulator.stop()
      throw error
    }
  }

  private init(name: String, emulator: EmulatorProcess, port: PortRig) {
    self.name = name
    self.emulator = emulator
    self.port = port
  }

  package func endDevice() async { await emulator.stop() }
}
