package import Conformance
import DeviceEmulator
import SerialLink

/// The reference firmware on an emulated CPU, in real time, on a pseudo-terminal that is opened
/// like any serial port.
package final class QEMURig: OwnedDeviceRig {
  package let name = "qemu"
  let board: QEMUBoard
  package let port: PortRig
  package var peerProcesses: [Int32] { [board.pid] }

  /// Starts the firmware and opens its port.
  ///
  /// - Parameter image: an ELF file; nil for the one that was built.
  /// - Throws: `RigTrouble` if QEMU or the firmware is missing or does not start, otherwise as
  ///   `PortRig.open`.
  package static func start(
    image: String? = nil, seed: UInt64 = 1, wrapLine: @escaping (any Line) -> any Line = { $0 }
  ) async throws -> QEMURig {
    let board: QEMUBoard
    do {
      board = try await QEMUBoard.start(try QEMUSetup(image: image), start: .immediate, seed: seed)
    } catch let error as Failure {
      throw RigTrouble(error.message, remedy: error.remedy)
    }
    do {
      let port = try await PortRig.open(
        .address(.tty(path: board.portPath)), name: "qemu", wrapLine: wrapLine
      ) { _ in BoardControl(board: board) }
      return QEMURig(board: board, port: port)
    } catch {
      await board.stop()
      throw error
    }
  }

  private init(board: QEMUBoard, port: PortRig) {
    self.board = board
    self.port = port
  }

  package func endDevice() async { await board.stop() }
}

/// The control channel: reset pin and plug by the board, everything else as a record of
/// `nb_control.h` in hexadecimal on its control line.
final class BoardControl: DeviceControl {
  private let board: QEMUBoard

  init(board: QEMUBoard) {
    self.board = board
  }

  func attempt(_ command: DeviceCommand) async throws -> String? {
    do {
      if case .reboot = command {
        try await board.reset()
      } else if command == .unplug {
        await board.unplug()
      } else if command == .plug {
        try await board.plug()
      } else {
        let answer = try await board.perform(Self.line(command.firmwareRecord ?? []))
        return try Self.refusal(in: answer, to: command)
      }
      return nil
    } catch let error as Failure {
      if error == .silentFirmware { throw CaseEnd.fault(error.message, file: #fileID, line: #line) }
      throw RigTrouble(error.message, remedy: error.remedy)
    }
  }

  /// The refusal in an answer of a control line; nil for "ok". Source: ports/bare-metal/main.c.
  static func refusal(in answer: String, to command: DeviceCommand) throws(RigTrouble) -> String? {
    if answer == "ok" { return nil }
    guard answer != "refused: no such command" else { throw .unknown(command) }
    return answer.hasPrefix("refused: ") ? String(answer.dropFirst("refused: ".count)) : answer
  }

  /// A record as a line: two hexadecimal digits per byte.
  static func line(_ record: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(record.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
